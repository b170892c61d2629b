#include "codegen/source.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "codegen/block_reduce_source.h"
#include "codegen/grid_reduce_source.h"
#include "codegen/outlined_calls.h"
#include "codegen/scalar_source.h"
#include "codegen/vector_emission.h"
#include "ir/expr_summary.h"
#include "kernel/index_assumptions.h"
#include "kernel/kernel_walk.h"
#include "kernel/one_plus.h"
#include "kernel/rewrite.h"
#include "kernel/shared_memory.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

using kir::Value;
using kir::ValueKind;

std::string typeSource(DataType dtype) { return deviceTypeName(dtype); }

class SourceWriter {
 public:
  SourceWriter(const kir::Kernel& kernel, Dialect dialect, DataType index_type, int lanes)
      : kernel_(kernel),
        dialect_(dialect),
        index_type_(index_type),
        lanes_(lanes),
        scalars_([this](const Scalar& symbol) { return names_.at(&symbol); }, analysis_, helpers_),
        vectors_(dialect == Dialect::C ? lanes : 1,
                 {.kernel = &kernel,
                  .analysis = &analysis_,
                  .scalars = &scalars_,
                  .helpers = &helpers_,
                  .value = [this](const Value& each) { return value(each); },
                  .element = [this](const TensorView& tensor, Scalar& index) { return element(tensor, index); },
                  .name = [this](const Scalar& index) { return names_.at(&index); },
                  .one_iteration =
                      [this](const kir::Statement& each) {
                        const auto* let = std::get_if<kir::Let>(&each.node);
                        return let != nullptr ? text(*let) : text(std::get<kir::Store>(each.node));
                      },
                  .nontemporal_flag = [this](const TensorView& tensor) { return nontemporalFlag(tensor); }}) {
    kir::assumeIndices(kernel, analysis_);
    kir::visitStatements(kernel.body, [&](const kir::Statement& statement) {
      if (const auto* let = std::get_if<kir::Let>(&statement.node)) taken_.insert(let->variable->name);
      if (!isCopyOfRegister(statement)) not_only_copied_.insert(kir::writtenBy(statement));
      block_reductions_ += std::holds_alternative<kir::BlockReduce>(statement.node) ? 1 : 0;
    });
    for (const kir::LaunchDimension& dimension : kernel.dimensions) {
      std::string name = dimension.index->name();
      std::ranges::replace(name, '.', '_');
      names_[dimension.index] = name;
    }
    for (const Scalar* symbol : kernel.symbols) nameSymbol(*symbol, symbol->name().empty() ? "n" : symbol->name());
    kir::visitStatements(kernel.body, [&](const kir::Statement& statement) {
      if (const auto* let = std::get_if<kir::Let>(&statement.node); let != nullptr && let->index != nullptr)
        names_[let->index] = let->variable->name;
      if (const auto* loop = std::get_if<kir::Loop>(&statement.node)) nameSymbol(*loop->index, "k");
    });
  }

  KernelSource write() {
    TK_REQUIRE(dialect_ == Dialect::Cuda || kernel_.dimension(ParallelType::CIDx) == nullptr, Unsupported,
               "on the processor blocks have no clusters; {} is spread over CIDx", kernel_.name);
    statements(kernel_.body, dialect_ == Dialect::C ? 4 : 2);
    KernelSource source;
    source.text = dialect_ == Dialect::C ? cHeader() : cudaHeader();
    if (!streamed_.empty()) {
      body_ += "  }\n  tk_settle_f32();\n";
      helpers_.insert("settle_f32");
    } else if (dialect_ == Dialect::C) {
      body_ += "  }\n";
    }
    source.text += body_ + "}\n";
    if (dialect_ == Dialect::C) source.text += cEntry();
    source.entry = kernel_.name;
    source.helpers = {helpers_.begin(), helpers_.end()};
    return source;
  }

 private:
  void nameSymbol(const Scalar& symbol, std::string base) {
    for (char& c : base) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    }
    if (base.empty() || std::isdigit(static_cast<unsigned char>(base.front())) != 0) base.insert(0, "n");
    std::string name = base;
    for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
    names_[&symbol] = name;
  }

  // An updated input has the output's name, because restrict pointers must not alias.
  std::string bufferName(const TensorView& tensor) const {
    const TensorView* update = kernel_.updateOf(tensor);
    return fmt::format("T{}", update == nullptr ? tensor.label() : update->label());
  }
  bool isUpdated(const TensorView& input) const { return kernel_.updateOf(input) != nullptr; }
  bool isOutput(size_t tensor) const { return kernel_.fusion->isOutput(kernel_.tensors[tensor]); }

  // An output as large as half of the last-level cache would be evicted before it is read: its stores are non-temporal.
  std::string nontemporalFlag(const TensorView& tensor) {
    streamed_.insert(&tensor);
    return fmt::format("streams_{}", bufferName(tensor));
  }
  std::string streamFlags() {
    constexpr int64_t kLarge = int64_t{16} << 20;
    // With vectors shorter than a cache line, one output only: write-combining buffers are few.
    constexpr int kLanesOfLine = 16;
    bool has_streamed = false;
    std::string text;
    for (size_t i = 0; i < kernel_.tensors.size(); ++i) {
      const TensorView& tensor = *kernel_.tensors[i];
      if (!streamed_.contains(&tensor)) continue;
      // (Updated inputs have just been read.)
      if (kernel_.updates.contains(&tensor) || (has_streamed && lanes_ < kLanesOfLine)) {
        text += fmt::format("  const tk_i32 streams_{} = 0;\n", bufferName(tensor));
        continue;
      }
      has_streamed = true;
      Scalar* bytes = kernel_.fusion->constant(sizeOf(tensor.dtype()));
      for (const IterDomain* axis : shapeOf(tensor)) bytes = kernel_.fusion->mul(bytes, axis->visibleExtent());
      text +=
          fmt::format("  const tk_i32 streams_{} = {} >= {};\n", bufferName(tensor), scalars_.write(*bytes), kLarge);
    }
    return text;
  }

  // "f32[i0, i2], strides (i2, 1)": for a comment.
  std::string describe(const TensorView& tensor) {
    std::vector<std::string> extents;
    std::vector<std::string> strides;
    const Axes shape = shapeOf(tensor);
    for (size_t i = 0; i < shape.size(); ++i) {
      extents.push_back(scalars_.write(*shape[i]->visibleExtent()));
      strides.push_back(scalars_.write(*kernel_.strides.at(&tensor)[i]));
    }
    return fmt::format("{}[{}], strides ({})", dataTypeName(tensor.dtype()), joined(extents), joined(strides));
  }

  // Restrict pointers are parameters, because gcc ignores restrict on variables.
  std::string cHeader() {
    std::vector<std::string> parameters;
    for (size_t i = 0; i < kernel_.tensors.size(); ++i) {
      const TensorView& tensor = *kernel_.tensors[i];
      if (isUpdated(tensor)) continue;
      parameters.push_back(fmt::format("{}{}* restrict const {}", isOutput(i) ? "" : "const ",
                                       typeSource(tensor.dtype()), bufferName(tensor)));
    }
    for (const Scalar* symbol : kernel_.symbols)
      parameters.push_back(fmt::format("const {} {}", typeSource(symbol->dtype()), names_.at(symbol)));
    if (kir::gridReduceOf(kernel_) != nullptr) parameters.emplace_back("unsigned char* const tk_workspace");
    std::string text =
        fmt::format("static __attribute__((noinline)) void {}_blocks({}, tk_i64 first_block, tk_i64 last_block) {{\n",
                    kernel_.name, joined(parameters));
    text += streamFlags();
    text += "  for (tk_i64 block = first_block; block < last_block; ++block) {\n";
    std::string rest = "block";
    for (size_t i = 0; i < kernel_.dimensions.size(); ++i) {
      const kir::LaunchDimension& dimension = kernel_.dimensions[i];
      const bool is_last = i + 1 == kernel_.dimensions.size();
      const std::string extent = "(" + scalars_.write(*dimension.extent) + ")";
      text += fmt::format("    const tk_i64 {} = {};\n", names_.at(dimension.index),
                          is_last ? rest : fmt::format("{} % {}", rest, extent));
      rest = fmt::format("{} / {}", rest, extent);
    }
    return text;
  }

  // The entry point: addresses and symbols are in arrays.
  std::string cEntry() {
    std::vector<std::string> arguments;
    for (size_t i = 0; i < kernel_.tensors.size(); ++i) {
      if (!isUpdated(*kernel_.tensors[i])) arguments.push_back(fmt::format("buffers[{}]", i));
    }
    for (size_t i = 0; i < kernel_.symbols.size(); ++i) {
      const Scalar& symbol = *kernel_.symbols[i];
      if (!isFloatingType(symbol.dtype())) {
        arguments.push_back(fmt::format("({})symbols[{}]", typeSource(symbol.dtype()), i));
        continue;
      }
      for (std::string& helper : castHelpers(symbol.dtype(), DataType::F64)) helpers_.insert(std::move(helper));
      const std::string bits = fmt::format("((union {{ tk_i64 bits; double number; }}){{symbols[{}]}}).number", i);
      arguments.push_back(castCall(symbol.dtype(), DataType::F64, bits));
    }
    if (kir::gridReduceOf(kernel_) != nullptr)
      arguments.push_back(fmt::format("(unsigned char*)buffers[{}]", kernel_.tensors.size()));
    return fmt::format(
        "void {}(void* const* buffers, const tk_i64* symbols, tk_i64 first_block, tk_i64 last_block) {{\n"
        "  {}_blocks({}, first_block, last_block);\n}}\n",
        kernel_.name, kernel_.name, joined(arguments));
  }

  std::string cudaHeader() {
    std::vector<std::string> parameters;
    for (size_t i = 0; i < kernel_.tensors.size(); ++i) {
      const TensorView& tensor = *kernel_.tensors[i];
      // (A launch passes an address for each tensor.)
      parameters.push_back(isUpdated(tensor) ? "const void*"
                                             : fmt::format("{}{}* __restrict__ {}", isOutput(i) ? "" : "const ",
                                                           typeSource(tensor.dtype()), bufferName(tensor)));
    }
    if (kir::gridReduceOf(kernel_) != nullptr) parameters.emplace_back("unsigned char* tk_workspace");
    std::string constants;
    const std::string index(typeSource(index_type_));
    for (size_t i = 0; i < kernel_.symbols.size(); ++i) {
      const Scalar* symbol = kernel_.symbols[i];
      const std::string& name = names_.at(symbol);
      const bool is_floating = isFloatingType(symbol->dtype());
      parameters.push_back(fmt::format("const {} {}_", is_floating ? "tk_f64" : "tk_i64", name));
      if (!is_floating) {
        const std::string type = i < kernel_.parameter_count ? typeSource(symbol->dtype()) : index;
        constants += fmt::format("  const {} {} = ({}){}_;\n", type, name, type, name);
        continue;
      }
      for (std::string& helper : castHelpers(symbol->dtype(), DataType::F64)) helpers_.insert(std::move(helper));
      constants += fmt::format("  const {} {} = {};\n", typeSource(symbol->dtype()), name,
                               castCall(symbol->dtype(), DataType::F64, name + "_"));
    }
    if (shared_.bytes != nullptr) constants += "  extern __shared__ __align__(16) unsigned char tk_shared[];\n";
    if (scratch_bytes_ > 0)
      constants += fmt::format("  __shared__ __align__(16) unsigned char tk_scratch[{}];\n", scratch_bytes_);
    int64_t threads = 1;
    for (const kir::LaunchDimension& dimension : kernel_.dimensions) {
      constants +=
          fmt::format("  const {} {} = ({}){};\n", index, names_.at(dimension.index), index, indexText(dimension));
      if (!kir::isThreadType(dimension.type)) continue;
      const auto extent = dimension.extent->constantInt();
      threads *= extent.value_or(kMostThreads);
      // Lets the compiler drop guards in the copies of an unrolled loop in which they hold.
      if (extent) constants += fmt::format("  __builtin_assume({} < {});\n", names_.at(dimension.index), *extent);
    }
    // Programmatic dependent launch: blocks may begin before the kernel before has ended, and wait here for its stores.
    constants += "#if __CUDA_ARCH__ >= 900\n  asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n#endif\n";
    threads = std::clamp<int64_t>(threads, 1, kMostThreads);
    const int64_t blocks = blocksAtOnce(threads);
    const std::string bounds = blocks == 1 ? std::to_string(threads) : fmt::format("{}, {}", threads, blocks);
    return fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n{}", bounds, kernel_.name,
                       joined(parameters), constants);
  }

  // The blocks that have to run at once on a multiprocessor, which bounds the compiler's registers.
  int64_t blocksAtOnce(int64_t threads) const {
    // Split reductions have as many blocks as run at once with 1,024 threads per multiprocessor
    // (heuristics/cuda_parameters.cpp).
    constexpr int64_t kThreadsAtOnce = 1024;
    if (kir::gridReduceOf(kernel_) != nullptr) return std::max<int64_t>(1, kThreadsAtOnce / threads);
    // For large blocks: as many as registers for the persistent buffers and for arithmetic allow. Not where dynamic
    // shared memory is the limit.
    constexpr int64_t kLargeBlock = 256;
    if (threads <= kLargeBlock || shared_.bytes != nullptr) return 1;
    constexpr int64_t kRegisters = 65536;
    constexpr int64_t kOtherRegisters = 36;
    int64_t persistent_bytes = 0;
    for (const kir::StatementRef& each : kernel_.body) {
      const auto* allocate = std::get_if<kir::Allocate>(&each->node);
      if (allocate == nullptr || allocate->tensor->memoryType() != MemoryType::Local) continue;
      persistent_bytes += allocate->size->constantInt().value_or(0) * sizeOf(allocate->tensor->dtype());
    }
    if (persistent_bytes == 0) return 1;
    const int64_t registers = (persistent_bytes / 4 + kOtherRegisters + 7) / 8 * 8;
    return std::max<int64_t>(1, kRegisters / (threads * registers));
  }

  // The blocks of a cluster are consecutive along x.
  std::string indexText(const kir::LaunchDimension& dimension) const {
    const int64_t blocks = kernel_.clusterBlocks();
    if (kir::isClusterType(dimension.type)) return fmt::format("(blockIdx.x % {})", blocks);
    if (dimension.type == ParallelType::BIDx && blocks > 1) return fmt::format("(blockIdx.x / {})", blocks);
    return dimension.index->name();
  }

  // A buffer of one element is a variable.
  std::string element(const TensorView& tensor, Scalar& index) {
    if (variables_.contains(&tensor)) return bufferName(tensor);
    return fmt::format("{}[{}]", bufferName(tensor), scalars_.write(index));
  }

  std::string value(const Value& value) {
    std::vector<std::string> operands;
    for (const kir::ValueRef& operand : value.operands) operands.push_back(this->value(*operand));
    switch (value.kind) {
      case ValueKind::Load: return element(*value.tensor, *value.scalar);
      case ValueKind::Variable: return value.variable->name;
      case ValueKind::Number: {
        Scalar& scalar = *value.scalar;
        if (scalar.isConstant()) return numberSource(convertValue(scalar.value(), value.dtype), value.dtype);
        for (std::string& helper : castHelpers(value.dtype, scalar.dtype())) helpers_.insert(std::move(helper));
        // Indices may be computed in 32 bits, values are in 64.
        const bool is_widened = dialect_ == Dialect::Cuda && scalar.dtype() == DataType::I64;
        const std::string text =
            is_widened ? fmt::format("((tk_i64)({}))", scalars_.write(scalar)) : scalars_.writeOperand(scalar);
        return castCall(value.dtype, scalar.dtype(), text);
      }
      case ValueKind::Apply: {
        const DataType dtype = value.operands.back()->dtype;
        if (value.function == FunctionId::philox && dialect_ == Dialect::Cuda) {
          if (const auto word = philoxWord(value, operands)) return *word;
        }
        if (const auto sum = sumWithOne(value)) return *sum;
        const bool is_difference = value.function == FunctionId::sub_alpha;
        if (dialect_ == Dialect::Cuda && dtype == DataType::F32 &&
            (is_difference || value.function == FunctionId::add_alpha)) {
          helpers_.insert("basics_f32");
          return fmt::format("tk_fma_f32({}({}), {}, {})", is_difference ? "-" : "", operands[1], operands[2],
                             operands[0]);
        }
        for (std::string& helper : functionHelpers(value.function, dtype)) helpers_.insert(std::move(helper));
        return functionCall(value.function, dtype, operands);
      }
      case ValueKind::Cast: {
        const DataType from = value.operands[0]->dtype;
        for (std::string& helper : castHelpers(value.dtype, from)) helpers_.insert(std::move(helper));
        return castCall(value.dtype, from, operands[0]);
      }
      case ValueKind::Choose:
        return fmt::format("({} ? {} : {})", scalars_.write(*value.scalar), operands[0], operands[1]);
    }
    TK_CHECK(false, "no such value");
  }

  // Computes Philox's block and word separately: compilers do not see that neighbours have the same block.
  std::optional<std::string> philoxWord(const Value& value, const std::vector<std::string>& operands) {
    const Value& index = *value.operands[0];
    if (index.kind != ValueKind::Number || index.scalar->dtype() != DataType::I64) return std::nullopt;
    if (index.scalar->isConstant() || analysis_.of(*index.scalar).lower < 0) return std::nullopt;
    Fusion& fusion = *kernel_.fusion;
    constexpr int64_t kWords = 4;
    const auto part = [&](ScalarOp op) {
      Scalar* scalar = fusion.scalar(op, index.scalar, fusion.constant(kWords));
      return scalars_.write(*simplifyRemainders(scalar, analysis_));
    };
    const std::string_view type = dataTypeName(value.operands.back()->dtype);
    helpers_.insert(fmt::format("philox_word_{}", type));
    return fmt::format("tk_philox_word_{}((tk_u64)({}), {}, {}, {}, {})", type, part(ScalarOp::FloorDiv),
                       part(ScalarOp::Mod), operands[1], operands[2], operands[3]);
  }

  // f(x) + 1 as one call, where the dialect has a function for it.
  std::optional<std::string> sumWithOne(const Value& value) {
    const Value* function = kir::addedToOne(value);
    if (function == nullptr || function->kind != ValueKind::Apply) return std::nullopt;
    std::optional<std::string> helper = onePlusHelper(dialect_, function->function, 1);
    if (!helper) return std::nullopt;
    std::string call = fmt::format("tk_{}({})", *helper, this->value(*function->operands[0]));
    helpers_.insert(*std::move(helper));
    return call;
  }

  void statements(const kir::Statements& list, size_t indent) {
    const size_t known = hoisted_.size();
    for (size_t i = 0; i < list.size(); ++i) {
      if (const auto* loop = std::get_if<kir::Loop>(&list[i]->node)) {
        VectorEmission::Fetches fetches = vectors_.tileFetches(*loop, std::span(list).subspan(i + 1));
        for (const std::string& each : fetches.before) line(indent, each);
        iteration_lines_ = std::move(fetches.each_iteration);
      }
      if (std::holds_alternative<kir::BlockReduce>(list[i]->node))
        i += writeBlockReductions(std::span(list).subspan(i), indent) - 1;
      else
        std::visit([&](const auto& node) { write(node, indent); }, list[i]->node);
      iteration_lines_.clear();
    }
    // (Names end with their scope.)
    for (; hoisted_.size() > known; hoisted_.pop_back()) scalars_.forget(*hoisted_.back());
  }

  // Hoists invariant divisions, minima and maxima of indices: compilers would version the loop for their branches, and
  // vectorise few versions.
  void hoist(const kir::Loop& loop, size_t indent) {
    const kir::Statements whole = {kir::statement(loop)};
    std::set<const Scalar*> inside;
    kir::visitStatements(whole, [&](const kir::Statement& statement) {
      if (const auto* nested = std::get_if<kir::Loop>(&statement.node)) inside.insert(nested->index);
      if (const auto* let = std::get_if<kir::Let>(&statement.node); let != nullptr && let->index != nullptr)
        inside.insert(let->index);
    });
    const auto mentionsInside = [&](const auto& self, const Scalar& scalar) -> bool {
      return inside.contains(&scalar) ||
             std::ranges::any_of(scalar.operands(), [&](const Scalar* operand) { return self(self, *operand); });
    };
    const auto visit = [&](const auto& self, Scalar& scalar) -> void {
      if (scalar.operands().empty() || scalars_.isDefined(scalar)) return;
      const bool is_costly = scalar.op() == ScalarOp::FloorDiv || scalar.op() == ScalarOp::CeilDiv ||
                             scalar.op() == ScalarOp::Mod || scalar.op() == ScalarOp::Min ||
                             scalar.op() == ScalarOp::Max;
      if (is_costly && !mentionsInside(mentionsInside, scalar)) {
        std::string name = fmt::format("c{}", hoists_++);
        while (!taken_.insert(name).second) name = fmt::format("c{}", hoists_++);
        line(indent, fmt::format("const tk_i64 {} = {};", name, scalars_.write(scalar)));
        scalars_.define(scalar, name);
        hoisted_.push_back(&scalar);
        return;
      }
      for (Scalar* operand : scalar.operands()) self(self, *operand);
    };
    kir::visitScalars(whole, [&](Scalar& scalar) { visit(visit, scalar); });
  }

  void line(size_t indent, std::string_view text) { body_ += fmt::format("{}{}\n", std::string(indent, ' '), text); }

  void write(const kir::Loop& loop, size_t indent) {
    if (dialect_ == Dialect::C) hoist(loop, indent);
    if (const auto iteration = vectors_.transposeOf(loop)) return line(indent, *iteration);
    const auto vectors = vectors_.vectorsOf(loop, outer_indices_);
    if (!vectors) return writeIterations(loop, indent);
    line(indent, "{");
    for (const kir::Let* let : vectors->invariants) write(*let, indent + 2);
    for (const std::string& each : vectors->lines) line(indent + 2, each);
    line(indent, "}");
    if (vectors->rest) writeIterations(*vectors->rest, indent);
  }
  void writeIterations(const kir::Loop& loop, size_t indent) {
    const std::string& name = names_.at(loop.index);
    if (loop.type != ParallelType::Serial && dialect_ == Dialect::Cuda) line(indent, "#pragma unroll");
    const std::string type = dialect_ == Dialect::C ? "tk_i64" : typeSource(index_type_);
    std::string stop = scalars_.write(*loop.stop);
    // (So the compiler need not prove that the bound is invariant.)
    if (dialect_ == Dialect::C && !loop.stop->isConstant() && !loop.stop->isSymbol() &&
        !scalars_.isDefined(*loop.stop)) {
      line(indent, fmt::format("const tk_i64 end_{} = {};", name, stop));
      stop = "end_" + name;
    }
    line(indent,
         fmt::format("for ({} {} = {}; {} < {}; ++{}) {{", type, name, scalars_.write(*loop.start), name, stop, name));
    outer_indices_.push_back(loop.index);
    for (const std::string& each : std::exchange(iteration_lines_, {})) line(indent + 2, each);
    statements(loop.body, indent + 2);
    outer_indices_.pop_back();
    line(indent, "}");
  }
  void write(const kir::If& guard, size_t indent) {
    line(indent, fmt::format("if ({}) {{", scalars_.write(*guard.predicate)));
    statements(guard.body, indent + 2);
    line(indent, "}");
  }
  void write(const kir::Allocate& allocate, size_t indent) {
    const TensorView& tensor = *allocate.tensor;
    const std::string type(typeSource(tensor.dtype()));
    if (allocate.size->isConstantInt(1) && tensor.memoryType() == MemoryType::Local) {
      variables_.insert(&tensor);
      return line(indent, fmt::format("{} {}{};", type, bufferName(tensor), initialValue(tensor)));
    }
    const bool is_shared = tensor.memoryType() == MemoryType::Shared;
    if (const auto offset = shared_.offsets.find(&tensor); dialect_ == Dialect::Cuda && offset != shared_.offsets.end())
      return line(indent, fmt::format("{}* const {} = ({}*)(tk_shared + {});  // [{}]", type, bufferName(tensor), type,
                                      scalars_.writeOperand(*offset->second), scalars_.write(*allocate.size)));
    constexpr int64_t kMostOnStack = int64_t{4} << 20;
    const auto size_known = allocate.size->constantInt();
    TK_REQUIRE(
        size_known && (dialect_ == Dialect::Cuda || *size_known * sizeOf(tensor.dtype()) <= kMostOnStack), Schedule,
        "{}: a buffer of {} elements is too large, or has no size that is known when it is compiled; inline_at or "
        "inline_most keep no more of it than what is read at a time",
        bufferName(tensor), toString(*allocate.size));
    // Wide accesses need alignment.
    const std::string_view aligned =
        dialect_ == Dialect::Cuda ? (is_shared ? "__shared__ __align__(16) " : "__align__(16) ") : "";
    const std::string_view of_lanes = vectors_.isUsed() ? " __attribute__((aligned(64)))" : "";
    // (C++ has no arrays of 0 elements; loops over them do not run.)
    const std::string size = allocate.size->isConstantInt(0) ? "1" : scalars_.write(*allocate.size);
    line(indent,
         fmt::format("{}{} {}[{}]{}{};", aligned, type, bufferName(tensor), size, of_lanes, initialValue(tensor)));
  }
  // Registers of CUDA kernels always have a value. Two that only some threads load, from one address under different
  // guards, are the same value for ptxas where no other is known, and it reads the one for the other. Those that are
  // filled from registers alone need none, and choosing between it and a register would wait for what that one loads.
  std::string_view initialValue(const TensorView& tensor) const {
    const bool is_register = dialect_ == Dialect::Cuda && tensor.memoryType() == MemoryType::Local;
    return is_register && not_only_copied_.contains(&tensor) ? " = {}" : "";
  }
  static bool isCopyOfRegister(const kir::Statement& statement) {
    const auto* store = std::get_if<kir::Store>(&statement.node);
    return store != nullptr && store->value->kind == kir::ValueKind::Load &&
           store->value->tensor->memoryType() == MemoryType::Local;
  }
  void write(const kir::Let& let, size_t indent) { line(indent, text(let)); }
  void write(const kir::Store& store, size_t indent) {
    if (store.block != nullptr) return writeRemote(store, indent);
    line(indent, text(store));
  }
  std::string text(const kir::Let& let) {
    const kir::Variable& variable = *let.variable;
    // (gcc does not vectorise comparisons of wide integers that are stored as bytes.)
    const bool is_byte = dialect_ == Dialect::C && variable.dtype == DataType::Bool;
    std::string text = fmt::format("const {} {} = {};", typeSource(is_byte ? DataType::I32 : variable.dtype),
                                   variable.name, value(*let.value));
    if (variable.tensor != nullptr && variable.tensor->definition() != nullptr)
      text += fmt::format("  // {}", summaryOf(*variable.tensor->definition()));
    return text;
  }
  std::string text(const kir::Store& store) {
    return fmt::format("{} = {};", element(*store.tensor, *store.index), value(*store.value));
  }
  // The address of the same element in the other block's shared memory.
  void writeRemote(const kir::Store& store, size_t indent) {
    line(indent, "{");
    line(indent + 2,
         fmt::format("{}* remote = &{};", typeSource(store.tensor->dtype()), element(*store.tensor, *store.index)));
    line(indent + 2, fmt::format(R"(asm("mapa.u64 %0, %0, %1;" : "+l"(remote) : "r"((tk_u32)({})));)",
                                 scalars_.write(*store.block)));
    line(indent + 2, fmt::format("*remote = {};", value(*store.value)));
    line(indent, "}");
  }
  // Writes the first reduction and those that follow it with the same dimensions; returns their number.
  size_t writeBlockReductions(std::span<const kir::StatementRef> list, size_t indent) {
    const auto blockReduceAt = [&](size_t i) {
      return i < list.size() ? std::get_if<kir::BlockReduce>(&list[i]->node) : nullptr;
    };
    std::vector<BlockReduceValue> texts;
    for (const kir::BlockReduce* each = blockReduceAt(0);
         each != nullptr && each->dimensions == blockReduceAt(0)->dimensions; each = blockReduceAt(texts.size()))
      texts.push_back(blockReduceValue(*each));
    const BlockReduceLines combined = blockReduceSource(texts);
    scratch_bytes_ = std::max(scratch_bytes_, combined.scratch_bytes);
    for (const std::string& each : combined.lines) line(indent, each);
    return texts.size();
  }
  BlockReduceValue blockReduceValue(const kir::BlockReduce& reduce) {
    TK_REQUIRE(dialect_ == Dialect::Cuda, Unsupported,
               "on the processor a block has one thread; {} is combined across threads", bufferName(*reduce.tensor));
    TK_CHECK(std::ranges::count(reduce.dimensions, ParallelType::CIDx) == 0,
             "{} is combined across a cluster, which cluster-reduction is to make an exchange of",
             bufferName(*reduce.tensor));
    BlockReduceValue text;
    constexpr int kFewBlockReductions = 8;
    text.needs_barrier_before = !outer_indices_.empty() || block_reductions_ > 1;
    text.is_repeated = !outer_indices_.empty();
    text.may_have_own_scratch = block_reductions_ <= kFewBlockReductions;
    text.type = typeSource(reduce.tensor->dtype());
    text.bytes = sizeOf(reduce.tensor->dtype());
    text.count = reduce.count;
    text.dimensions = dimensionsOf(/*of_threads=*/true, reduce.dimensions);
    text.element = elementsOf(*reduce.tensor, *reduce.index);
    text.combined = combiningOf(reduce.kind, reduce.tensor->dtype());
    return text;
  }
  void write(const kir::BlockReduce&, size_t) { TK_CHECK(false, "combinations are written by writeBlockReductions"); }
  std::vector<BlockReduceValue::Dimension> dimensionsOf(bool of_threads, const std::vector<ParallelType>& combined) {
    std::vector<BlockReduceValue::Dimension> dimensions;
    for (const kir::LaunchDimension& dimension : kernel_.dimensions) {
      if (kir::isThreadType(dimension.type) != of_threads) continue;
      dimensions.push_back({.index = names_.at(dimension.index),
                            .extent = scalars_.write(*dimension.extent),
                            .constant = dimension.extent->constantInt(),
                            .is_combined = std::ranges::find(combined, dimension.type) != combined.end()});
    }
    return dimensions;
  }
  std::function<std::string(const std::string&)> elementsOf(const TensorView& tensor, Scalar& first) {
    return [this, &tensor, &first](const std::string& k) {
      if (variables_.contains(&tensor)) return bufferName(tensor);
      return fmt::format("{}[{} + {}]", bufferName(tensor), scalars_.write(first), k);
    };
  }
  std::function<std::string(const std::string&, const std::string&)> combiningOf(ReductionKind kind, DataType dtype) {
    const FunctionId function = kir::combiningFunction(kind);
    for (std::string& helper : functionHelpers(function, dtype)) helpers_.insert(std::move(helper));
    return [function, dtype](const std::string& a, const std::string& b) {
      return functionCall(function, dtype, std::vector{a, b});
    };
  }
  void write(const kir::GridReduce& grid, size_t indent) {
    GridReduceForm text;
    text.blocks = dimensionsOf(/*of_threads=*/false, grid.dimensions);
    text.threads = dimensionsOf(/*of_threads=*/true, {});
    for (const kir::GridReduce::Value& value : grid.values) {
      const DataType dtype = value.tensor->dtype();
      GridReduceForm::Value& each = text.values.emplace_back();
      each.type = typeSource(dtype);
      each.bytes = sizeOf(dtype);
      each.count = value.count;
      for (const kir::LaunchDimension& dimension : kernel_.dimensions) {
        if (kir::isThreadType(dimension.type))
          each.is_spread.push_back(std::ranges::find(value.spread, dimension.type) != value.spread.end());
      }
      each.element = elementsOf(*value.tensor, *value.index);
      each.combined = combiningOf(value.kind, dtype);
    }
    const BlockReduceLines combined = gridReduceSource(text, dialect_);
    scratch_bytes_ = std::max(scratch_bytes_, combined.scratch_bytes);
    for (const std::string& each : combined.lines) line(indent, each);
    statements(grid.body, indent);
  }
  void write(const kir::Copy& copy, size_t indent) {
    const int64_t bytes = copy.count * sizeOf(copy.to->dtype());
    const std::string to = fmt::format("&{}[{}]", bufferName(*copy.to), scalars_.write(*copy.to_index));
    const std::string from = fmt::format("&{}[{}]", bufferName(*copy.from), scalars_.write(*copy.from_index));
    if (dialect_ == Dialect::C) return line(indent, fmt::format("__builtin_memcpy({}, {}, {});", to, from, bytes));
    if (copy.is_async) {
      // Only accesses of 16 bytes may bypass L1.
      return line(indent, fmt::format(R"(asm volatile("cp.async.{}.shared.global [%0], [%1], {};" :: )"
                                      R"("r"((tk_u32)__cvta_generic_to_shared({})), "l"({}) : "memory");)",
                                      bytes == 16 ? "cg" : "ca", bytes, to, from));
    }
    const std::string_view type = wideType(bytes);
    line(indent, fmt::format("*({}*){} = *(const {}*){};", type, to, type, from));
  }
  static std::string_view wideType(int64_t bytes) {
    switch (bytes) {
      case 16: return "uint4";
      case 8: return "uint2";
      case 4: return "unsigned";
      case 2: return "unsigned short";
      default: return "unsigned char";
    }
  }
  // (Clobbers memory, so that compilers move no access across.)
  void write(const kir::CopyGroup& group, size_t indent) {
    if (dialect_ == Dialect::C) return;
    const bool is_commit = group.step == kir::CopyGroup::Step::Commit;
    line(indent, fmt::format(R"(asm volatile("cp.async.{};" ::: "memory");)",
                             is_commit ? std::string("commit_group") : fmt::format("wait_group {}", group.pending)));
  }
  void write(const kir::Barrier&, size_t indent) {
    if (dialect_ == Dialect::Cuda) line(indent, "__syncthreads();");
  }
  void write(const kir::ClusterBarrier& barrier, size_t indent) {
    const bool is_arrival = barrier.half == kir::ClusterBarrier::Half::Arrive;
    line(indent, fmt::format(R"(asm volatile("barrier.cluster.{}.aligned;" ::: "memory");)",
                             is_arrival ? "arrive.release" : "wait.acquire"));
  }

  const kir::Kernel& kernel_;
  const kir::SharedMemory shared_ = kir::sharedMemoryOf(kernel_);
  Dialect dialect_;
  DataType index_type_;
  int lanes_;
  std::vector<Scalar*> outer_indices_;        // indices of the loops that are being written
  std::vector<std::string> iteration_lines_;  // for the beginning of each iteration of the next loop
  int block_reductions_ = 0;                  // in the kernel
  int64_t scratch_bytes_ = 0;
  int hoists_ = 0;
  std::vector<const Scalar*> hoisted_;
  IntervalAnalysis analysis_;
  std::set<std::string> helpers_;
  std::map<const Scalar*, std::string> names_;
  std::set<std::string> taken_ = {"block", "buffers", "symbols", "first_block", "last_block", "whole",
                                  "strip", "turn",    "turns",   "first",       "byte"};
  std::set<const TensorView*> variables_;
  std::set<const TensorView*> not_only_copied_;  // what other statements write than copies of registers
  std::set<const TensorView*> streamed_;         // outputs that may have non-temporal stores
  ScalarSource scalars_;
  VectorEmission vectors_;
  std::string body_;
};

}  // namespace

KernelSource kernelSource(const kir::Kernel& kernel, Dialect dialect, DataType index_type, int lanes) {
  return SourceWriter(kernel, dialect, index_type, lanes).write();
}

std::string compilationUnit(std::span<const KernelSource> kernels, Dialect dialect) {
  std::set<std::string> helpers;
  for (const KernelSource& kernel : kernels) helpers.insert(kernel.helpers.begin(), kernel.helpers.end());
  const std::vector<std::string> names(helpers.begin(), helpers.end());
  std::string text = deviceCode(dialect, names);
  if (dialect == Dialect::C) {
    std::vector<std::string_view> texts;
    for (const KernelSource& kernel : kernels) texts.push_back(kernel.text);
    text = outlineHelpers(std::move(text), texts);
  }
  for (const KernelSource& kernel : kernels) text += "\n" + kernel.text;
  return text;
}

}  // namespace tokamak
