#include "runtime/interpreter/kernel_interpreter.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "ir/fields.h"
#include "runtime/cpu/typed_loops.h"
#include "runtime/interpreter/lane_scalars.h"
#include "runtime/interpreter/memory_shadow.h"

namespace tokamak {

namespace {

using kir::Barrier;
using kir::Combine;
using kir::If;
using kir::isThreadType;
using kir::Kernel;
using kir::LaunchDimension;
using kir::Let;
using kir::Loop;
using kir::StatementRef;
using kir::Statements;
using kir::Store;
using kir::Value;
using kir::ValueKind;
using kir::ValueRef;
using kir::Variable;

// A value per thread, side by side.
using Lanes = std::vector<uint64_t>;
using Mask = std::vector<uint8_t>;

struct Storage {
  std::byte* data = nullptr;
  std::vector<std::byte> own;
  std::unique_ptr<MemoryShadow> shadow;
  int64_t per_thread = 0;  // elements of one thread's part of a Local buffer; 0: one buffer for all
};

class Interpreter {
 public:
  Interpreter(const Kernel& kernel, std::span<const KernelBuffer> buffers, const ScalarBindings& bindings,
              const InterpreterOptions& options, const LaunchSize& size)
      : kernel_(kernel),
        bindings_(bindings),
        options_(options),
        size_(size),
        lanes_(size.threads),
        scalars_(size.threads, bindings) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      Storage storage;
      storage.data = static_cast<std::byte*>(buffers[i].address);
      storage.shadow = std::make_unique<MemoryShadow>(buffers[i].elements, buffers[i].is_written);
      storage_[kernel.tensors[i]] = std::move(storage);
    }
  }

  std::vector<std::string> run() {
    std::vector<int64_t> order(static_cast<size_t>(size_.blocks));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(options_.seed);
    if (options_.seed != 0) std::ranges::shuffle(order, random);
    for (const int64_t block : order) {
      runBlock(block);
      if (findings_.size() >= options_.most_findings) break;
    }
    return {findings_.begin(), findings_.end()};
  }

 private:
  void runBlock(int64_t block) {
    block_ = block;
    epoch_ = 0;
    int64_t block_rest = block;
    int64_t stride = 1;
    for (const LaunchDimension& dimension : kernel_.dimensions) {
      const int64_t extent = evaluateInt(*dimension.extent, bindings_);
      const bool is_thread = isThreadType(dimension.type);
      const std::span<int64_t> values = scalars_.set(*dimension.index);
      for (int64_t lane = 0; lane < lanes_; ++lane)
        values[static_cast<size_t>(lane)] = is_thread ? lane / stride % extent : block_rest % extent;
      if (is_thread)
        stride *= extent;
      else
        block_rest /= extent;
    }
    run(kernel_.body, Mask(static_cast<size_t>(lanes_), 1));
  }

  void run(const Statements& statements, const Mask& mask) {
    for (const StatementRef& statement : statements) {
      if (findings_.size() >= options_.most_findings) return;
      std::visit([&](const auto& node) { run(node, mask); }, statement->node);
    }
    // Buffers live as long as the body that they stand in.
    for (const StatementRef& statement : statements) {
      if (const auto* allocate = std::get_if<kir::Allocate>(&statement->node)) storage_.erase(allocate->tensor);
    }
  }

  void run(const Loop& loop, const Mask& mask) {
    const std::span<const int64_t> first = scalars_.of(*loop.start);
    std::vector<int64_t> index(first.begin(), first.end());
    const std::span<const int64_t> last = scalars_.of(*loop.stop);
    const std::vector<int64_t> stop(last.begin(), last.end());
    Mask inside = mask;
    while (true) {
      bool is_any = false;
      for (size_t lane = 0; lane < index.size(); ++lane) {
        inside[lane] = mask[lane] != 0 && index[lane] < stop[lane] ? 1 : 0;
        is_any |= inside[lane] != 0;
      }
      if (!is_any || findings_.size() >= options_.most_findings) return;
      std::ranges::copy(index, scalars_.set(*loop.index).begin());
      run(loop.body, inside);
      for (int64_t& i : index) ++i;
    }
  }

  void run(const If& guard, const Mask& mask) {
    const std::span<const int64_t> holds = scalars_.of(*guard.predicate);
    Mask inside = mask;
    bool is_any = false;
    for (size_t lane = 0; lane < mask.size(); ++lane) {
      inside[lane] = mask[lane] != 0 && holds[lane] != 0 ? 1 : 0;
      is_any |= inside[lane] != 0;
    }
    if (is_any) run(guard.body, inside);
  }

  void run(const kir::Allocate& allocate, const Mask&) {
    const TensorView& tensor = *allocate.tensor;
    const int64_t elements = evaluateInt(*allocate.size, bindings_);
    const bool is_local = tensor.memoryType() == MemoryType::Local;
    const int64_t total = is_local ? elements * lanes_ : elements;
    Storage storage;
    storage.per_thread = is_local ? elements : 0;
    storage.own.assign(static_cast<size_t>(std::max<int64_t>(1, total) * sizeOf(tensor.dtype())), std::byte{0xff});
    storage.data = storage.own.data();
    storage.shadow = std::make_unique<MemoryShadow>(total, false);
    storage_[&tensor] = std::move(storage);
  }

  void run(const Let& let, const Mask& mask) { variables_[let.variable.get()] = value(*let.value, mask); }

  void run(const Store& store, const Mask& mask) {
    const Lanes values = value(*store.value, mask);
    const int64_t size = sizeOf(store.tensor->dtype());
    const std::span<const int64_t> index = scalars_.of(*store.index);
    const auto* from = reinterpret_cast<const std::byte*>(values.data());
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      if (mask[static_cast<size_t>(lane)] == 0) continue;
      std::byte* to = access(*store.tensor, index[static_cast<size_t>(lane)], lane, /*is_write=*/true);
      if (to != nullptr) std::memcpy(to, from + lane * size, static_cast<size_t>(size));
    }
  }

  void run(const Combine& combine, const Mask& mask) {
    if (!isReachedByAll(mask, "combine")) return;
    const DataType dtype = combine.tensor->dtype();
    const int64_t size = sizeOf(dtype);
    const std::span<const int64_t> index = scalars_.of(*combine.index);
    // Threads that differ along the combined dimensions only are one group.
    std::vector<int64_t> groups(static_cast<size_t>(lanes_), 0);
    int64_t stride = 1;
    for (const LaunchDimension& dimension : kernel_.dimensions) {
      if (!isThreadType(dimension.type)) continue;
      const int64_t extent = evaluateInt(*dimension.extent, bindings_);
      const bool is_combined = std::ranges::find(combine.dimensions, dimension.type) != combine.dimensions.end();
      for (int64_t lane = 0; lane < lanes_ && !is_combined; ++lane)
        groups[static_cast<size_t>(lane)] += lane / stride % extent * stride;
      stride *= extent;
    }
    const ReductionLoops& loops = reductionLoops(combine.kind, dtype);
    std::map<int64_t, std::vector<int64_t>> members;
    for (int64_t lane = 0; lane < lanes_; ++lane) members[groups[static_cast<size_t>(lane)]].push_back(lane);
    for (const auto& [group, lanes] : members) {
      std::vector<std::byte> values(lanes.size() * static_cast<size_t>(size));
      std::vector<std::byte*> places;
      for (size_t i = 0; i < lanes.size(); ++i) {
        std::byte* place = access(*combine.tensor, index[static_cast<size_t>(lanes[i])], lanes[i], /*is_write=*/false);
        if (place == nullptr) return;
        places.push_back(place);
        std::memcpy(values.data() + i * static_cast<size_t>(size), place, static_cast<size_t>(size));
      }
      uint64_t accumulator = 0;
      uint64_t result = 0;
      loops.start(&accumulator, 1);
      loops.add_all(&accumulator, values.data(), static_cast<int64_t>(lanes.size()));
      loops.finish(&result, &accumulator, 1);
      for (std::byte* place : places) std::memcpy(place, &result, static_cast<size_t>(size));
    }
  }

  void run(const Barrier&, const Mask& mask) {
    if (isReachedByAll(mask, "barrier")) ++epoch_;
  }

  bool isReachedByAll(const Mask& mask, std::string_view what) {
    const auto missing = std::ranges::find(mask, uint8_t{0});
    if (missing == mask.end()) return true;
    report(fmt::format("a {} is not reached by thread {} of block {}", what, missing - mask.begin(), block_));
    return false;
  }

  Lanes value(const Value& value, const Mask& mask) {
    const auto lanes = static_cast<size_t>(lanes_);
    Lanes result(lanes, 0);
    std::vector<Lanes> operands;
    std::vector<const void*> in;
    const auto addOperand = [&](const Value& operand, const Mask& where) {
      operands.push_back(this->value(operand, where));
    };
    switch (value.kind) {
      case ValueKind::Variable: return variables_.at(value.variable.get());
      case ValueKind::Load: {
        const std::span<const int64_t> index = scalars_.of(*value.scalar);
        const int64_t size = sizeOf(value.dtype);
        auto* to = reinterpret_cast<std::byte*>(result.data());
        for (int64_t lane = 0; lane < lanes_; ++lane) {
          if (mask[static_cast<size_t>(lane)] == 0) continue;
          const std::byte* from = access(*value.tensor, index[static_cast<size_t>(lane)], lane, /*is_write=*/false);
          if (from != nullptr) std::memcpy(to + lane * size, from, static_cast<size_t>(size));
        }
        return result;
      }
      case ValueKind::Number: {
        Scalar& scalar = *value.scalar;
        if (isFloatingType(scalar.dtype())) {
          const auto number = evaluate(scalar, bindings_);
          TK_CHECK(number.has_value(), "{} has no value in the kernel", toString(scalar));
          fillWith(*number, value.dtype, result.data(), lanes_);
          return result;
        }
        const std::span<const int64_t> numbers = scalars_.of(scalar);
        castLoop(value.dtype, DataType::I64)(result.data(), numbers.data(), lanes_);
        return result;
      }
      case ValueKind::Apply:
        for (const ValueRef& operand : value.operands) addOperand(*operand, mask);
        for (const Lanes& operand : operands) in.push_back(operand.data());
        functionLoop(value.function, value.operands.back()->dtype)(result.data(), in.data(), lanes_);
        return result;
      case ValueKind::Cast:
        addOperand(*value.operands[0], mask);
        castLoop(value.dtype, value.operands[0]->dtype)(result.data(), operands[0].data(), lanes_);
        return result;
      case ValueKind::Choose: {
        const std::span<const int64_t> holds = scalars_.of(*value.scalar);
        const std::vector<int64_t> chosen(holds.begin(), holds.end());
        Mask yes = mask;
        Mask no = mask;
        for (size_t lane = 0; lane < lanes; ++lane) (chosen[lane] != 0 ? no : yes)[lane] = 0;
        const Lanes a = this->value(*value.operands[0], yes);
        const Lanes b = this->value(*value.operands[1], no);
        const auto size = static_cast<size_t>(sizeOf(value.dtype));
        for (size_t lane = 0; lane < lanes; ++lane) {
          const auto* from = reinterpret_cast<const std::byte*>((chosen[lane] != 0 ? a : b).data());
          std::memcpy(reinterpret_cast<std::byte*>(result.data()) + lane * size, from + lane * size, size);
        }
        return result;
      }
    }
    TK_CHECK(false, "no such value");
  }

  // The element's address, or null when the access is wrong.
  std::byte* access(const TensorView& tensor, int64_t index, int64_t lane, bool is_write) {
    const auto found = storage_.find(&tensor);
    if (found == storage_.end()) {
      report(fmt::format("{} is used outside of the body that it is allocated in", nameOf(tensor)));
      return nullptr;
    }
    Storage& storage = found->second;
    const int64_t elements = storage.per_thread > 0 ? storage.per_thread : storage.shadow->size();
    const bool is_outside = index < 0 || index >= elements || storage.shadow->size() == 0;
    if (is_outside) {
      report(fmt::format("{}[{}] is {} outside of its {} elements, by thread {} of block {}", nameOf(tensor), index,
                         is_write ? "written" : "read", elements, lane, block_));
      return nullptr;
    }
    const int64_t element = index + lane * storage.per_thread;
    const ThreadMoment by{static_cast<int32_t>(block_), static_cast<int32_t>(lane), epoch_};
    const auto problem = is_write ? storage.shadow->write(element, by) : storage.shadow->read(element, by);
    if (problem) report(fmt::format("{}[{}]: {}", nameOf(tensor), index, *problem));
    return storage.data + element * sizeOf(tensor.dtype());
  }

  void report(std::string finding) { findings_.insert(std::move(finding)); }

  const Kernel& kernel_;
  const ScalarBindings& bindings_;
  const InterpreterOptions& options_;
  const LaunchSize size_;
  const int64_t lanes_;
  LaneScalars scalars_;
  std::map<const TensorView*, Storage> storage_;
  std::map<const Variable*, Lanes> variables_;
  std::set<std::string> findings_;
  int64_t block_ = 0;
  int32_t epoch_ = 0;
};

}  // namespace

LaunchSize launchSize(const Kernel& kernel, const ScalarBindings& bindings) {
  LaunchSize size;
  for (const LaunchDimension& dimension : kernel.dimensions) {
    const bool is_thread = kir::isThreadType(dimension.type);
    (is_thread ? size.threads : size.blocks) *= evaluateInt(*dimension.extent, bindings);
  }
  return size;
}

std::vector<std::string> interpretKernel(const Kernel& kernel, std::span<const KernelBuffer> buffers,
                                         const ScalarBindings& bindings, const InterpreterOptions& options) {
  TK_CHECK(buffers.size() == kernel.tensors.size(), "{} takes {} buffers, {} are given", kernel.name,
           kernel.tensors.size(), buffers.size());
  const LaunchSize size = launchSize(kernel, bindings);
  if (size.blocks == 0 || size.threads == 0) return {};
  return Interpreter(kernel, buffers, bindings, options, size).run();
}

}  // namespace tokamak
