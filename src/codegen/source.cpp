#include "codegen/source.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "codegen/scalar_source.h"
#include "ir/expr_summary.h"

namespace tokamak {

namespace {

using kir::Value;
using kir::ValueKind;

std::string typeSource(DataType dtype) { return deviceTypeName(dtype); }

class SourceWriter {
 public:
  SourceWriter(const kir::Kernel& kernel, Dialect dialect)
      : kernel_(kernel),
        dialect_(dialect),
        scalars_([this](const Scalar& symbol) { return names_.at(&symbol); }, analysis_, helpers_) {
    analysis_.assumeExtents(*kernel.fusion);
    for (const kir::LaunchDimension& dimension : kernel.dimensions) {
      analysis_.assumeIndex(*dimension.index, *dimension.extent);
      std::string name = dimension.index->name();
      if (dialect == Dialect::C) std::ranges::replace(name, '.', '_');
      names_[dimension.index] = name;
    }
    for (const Scalar* symbol : kernel.symbols) nameSymbol(*symbol, symbol->name().empty() ? "n" : symbol->name());
    kir::visitStatements(kernel.body, [&](const kir::Statement& statement) {
      const auto* loop = std::get_if<kir::Loop>(&statement.node);
      if (loop == nullptr) return;
      analysis_.assumeIndex(*loop->index, *loop->stop);
      nameSymbol(*loop->index, "k");
    });
  }

  KernelSource write() {
    statements(kernel_.body, dialect_ == Dialect::C ? 4 : 2);
    KernelSource source;
    source.text = dialect_ == Dialect::C ? cHeader() : cudaHeader();
    source.text += body_;
    source.text += dialect_ == Dialect::C ? "  }\n}\n" : "}\n";
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

  static std::string bufferName(const TensorView& tensor) { return fmt::format("T{}", tensor.label()); }
  bool isOutput(size_t tensor) const { return kernel_.fusion->isOutput(kernel_.tensors[tensor]); }

  // "f32[i0, i2], strides (i2, 1)": for the reader of the source.
  std::string describe(const TensorView& tensor) {
    std::vector<std::string> extents;
    std::vector<std::string> strides;
    const Axes shape = shapeOf(tensor);
    for (size_t i = 0; i < shape.size(); ++i) {
      extents.push_back(scalars_.write(*shape[i]->visibleExtent()));
      strides.push_back(scalars_.write(*kernel_.strides.at(&tensor)[i]));
    }
    return fmt::format("{}[{}], strides ({})", dataTypeName(tensor.dtype()), fmt::join(extents, ", "),
                       fmt::join(strides, ", "));
  }

  std::string cHeader() {
    std::string text =
        fmt::format("void {}(void* const* buffers, const tk_i64* symbols, tk_i64 first_block, tk_i64 last_block) {{\n",
                    kernel_.name);
    for (size_t i = 0; i < kernel_.tensors.size(); ++i) {
      const TensorView& tensor = *kernel_.tensors[i];
      const std::string_view constness = isOutput(i) ? "" : "const ";
      text += fmt::format("  {}{}* restrict const {} = buffers[{}];\n", constness, typeSource(tensor.dtype()),
                          bufferName(tensor), i);
    }
    for (size_t i = 0; i < kernel_.symbols.size(); ++i) {
      const Scalar& symbol = *kernel_.symbols[i];
      if (!isFloatingType(symbol.dtype())) {
        text += fmt::format("  const {} {} = ({})symbols[{}];\n", typeSource(symbol.dtype()), names_.at(&symbol),
                            typeSource(symbol.dtype()), i);
        continue;
      }
      for (std::string& helper : castHelpers(symbol.dtype(), DataType::F64)) helpers_.insert(std::move(helper));
      const std::string bits = fmt::format("((union {{ tk_i64 bits; double number; }}){{symbols[{}]}}).number", i);
      text += fmt::format("  const {} {} = {};\n", typeSource(symbol.dtype()), names_.at(&symbol),
                          castCall(symbol.dtype(), DataType::F64, bits));
    }
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

  std::string cudaHeader() {
    std::vector<std::string> parameters;
    for (size_t i = 0; i < kernel_.tensors.size(); ++i) {
      const TensorView& tensor = *kernel_.tensors[i];
      parameters.push_back(fmt::format("{}{}* __restrict__ {}", isOutput(i) ? "" : "const ", typeSource(tensor.dtype()),
                                       bufferName(tensor)));
    }
    for (const Scalar* symbol : kernel_.symbols)
      parameters.push_back(fmt::format("{} {}", typeSource(symbol->dtype()), names_.at(symbol)));
    return fmt::format("extern \"C\" __global__ void {}({}) {{\n", kernel_.name, fmt::join(parameters, ", "));
  }

  // A buffer of one element is a variable.
  std::string place(const TensorView& tensor, Scalar& index) {
    if (variables_.contains(&tensor)) return bufferName(tensor);
    return fmt::format("{}[{}]", bufferName(tensor), scalars_.write(index));
  }

  std::string value(const Value& value) {
    std::vector<std::string> operands;
    for (const kir::ValueRef& operand : value.operands) operands.push_back(this->value(*operand));
    switch (value.kind) {
      case ValueKind::Load: return place(*value.tensor, *value.scalar);
      case ValueKind::Variable: return value.variable->name;
      case ValueKind::Number: {
        Scalar& scalar = *value.scalar;
        if (scalar.isConstant()) return numberSource(convertValue(scalar.value(), value.dtype), value.dtype);
        for (std::string& helper : castHelpers(value.dtype, scalar.dtype())) helpers_.insert(std::move(helper));
        return castCall(value.dtype, scalar.dtype(), scalars_.write(scalar));
      }
      case ValueKind::Apply: {
        const DataType dtype = value.operands.back()->dtype;
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

  void statements(const kir::Statements& list, size_t indent) {
    for (const kir::StatementRef& statement : list)
      std::visit([&](const auto& node) { write(node, indent); }, statement->node);
  }

  void line(size_t indent, std::string_view text) { body_ += fmt::format("{}{}\n", std::string(indent, ' '), text); }

  void write(const kir::Loop& loop, size_t indent) {
    const std::string& name = names_.at(loop.index);
    if (loop.type != ParallelType::Serial && dialect_ == Dialect::Cuda) line(indent, "#pragma unroll");
    line(indent, fmt::format("for (tk_i64 {} = {}; {} < {}; ++{}) {{", name, scalars_.write(*loop.start), name,
                             scalars_.write(*loop.stop), name));
    statements(loop.body, indent + 2);
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
      return line(indent, fmt::format("{} {};", type, bufferName(tensor)));
    }
    TK_REQUIRE(allocate.size->isConstant(), Unsupported,
               "{}: a buffer of {} elements needs a size that is known when it is compiled", bufferName(tensor),
               toString(*allocate.size));
    const bool is_shared = tensor.memoryType() == MemoryType::Shared && dialect_ == Dialect::Cuda;
    line(indent, fmt::format("{}{} {}[{}];", is_shared ? "__shared__ " : "", type, bufferName(tensor),
                             scalars_.write(*allocate.size)));
  }
  void write(const kir::Let& let, size_t indent) {
    const kir::Variable& variable = *let.variable;
    std::string text = fmt::format("const {} {} = {};", typeSource(variable.dtype), variable.name, value(*let.value));
    if (variable.tensor->definition() != nullptr)
      text += fmt::format("  // {}", summaryOf(*variable.tensor->definition()));
    line(indent, text);
  }
  void write(const kir::Store& store, size_t indent) {
    line(indent, fmt::format("{} = {};", place(*store.tensor, *store.index), value(*store.value)));
  }
  void write(const kir::Combine& combine, size_t indent) {
    TK_REQUIRE(dialect_ == Dialect::Cuda, Unsupported,
               "on the processor a block has one thread; {} is combined across threads", bufferName(*combine.tensor));
    (void)indent;
    TK_RAISE(Unsupported, "combining across threads has no source text yet");
  }
  void write(const kir::Barrier&, size_t indent) {
    if (dialect_ == Dialect::Cuda) line(indent, "__syncthreads();");
  }

  const kir::Kernel& kernel_;
  Dialect dialect_;
  IntervalAnalysis analysis_;
  std::set<std::string> helpers_;
  std::map<const Scalar*, std::string> names_;
  std::set<std::string> taken_ = {"block", "buffers", "symbols", "first_block", "last_block"};
  std::set<const TensorView*> variables_;
  ScalarSource scalars_;
  std::string body_;
};

}  // namespace

KernelSource kernelSource(const kir::Kernel& kernel, Dialect dialect) { return SourceWriter(kernel, dialect).write(); }

std::string compilationUnit(std::span<const KernelSource> kernels, Dialect dialect) {
  std::set<std::string> helpers;
  for (const KernelSource& kernel : kernels) helpers.insert(kernel.helpers.begin(), kernel.helpers.end());
  const std::vector<std::string> names(helpers.begin(), helpers.end());
  std::string text = deviceCode(dialect, names);
  for (const KernelSource& kernel : kernels) text += "\n" + kernel.text;
  return text;
}

}  // namespace tokamak
