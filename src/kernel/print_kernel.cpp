#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "ir/text/names.h"
#include "ir/text/scalar_text.h"
#include "kernel/kernel.h"

namespace tokamak::kir {

namespace {

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {
    visitStatements(kernel.body, [this](const Statement& statement) {
      if (const auto* let = std::get_if<Let>(&statement.node)) taken_.insert(let->variable->name);
    });
    // A dimension's index has the name of its type.
    for (const LaunchDimension& dimension : kernel.dimensions)
      nameSymbol(*dimension.index, std::string(parallelTypeName(dimension.type)));
    for (const Scalar* symbol : kernel.symbols) nameSymbol(*symbol);
  }

  std::string print() {
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    for (const TensorView* tensor : kernel_.tensors) {
      std::string text = globalTensor(*tensor);
      if (const auto update = kernel_.updates.find(tensor); update != kernel_.updates.end())
        text += fmt::format(" updates {}", tensorName(*update->second));
      (kernel_.fusion->isOutput(tensor) ? outputs : inputs).push_back(std::move(text));
    }
    for (const Scalar* symbol : kernel_.symbols)
      inputs.push_back(fmt::format("{}: {}", names_.at(symbol), dataTypeName(symbol->dtype())));
    std::string text = fmt::format("kernel {}({})", kernel_.name, joined(inputs));
    if (outputs.size() == 1) text += fmt::format(" -> {}", outputs[0]);
    if (outputs.size() > 1) text += fmt::format(" -> ({})", joined(outputs));
    if (kernel_.alignment != 1) text += fmt::format(" align {}", kernel_.alignment);
    for (const LaunchDimension& dimension : kernel_.dimensions)
      text += fmt::format(" {} in {}", names_.at(dimension.index), scalar(*dimension.extent));
    text += " {\n";
    statements(kernel_.body, 2);
    return text + body_ + "}\n";
  }

 private:
  void nameSymbol(const Scalar& symbol, std::string base) {
    std::string name = base;
    for (int i = 2; taken_.contains(name); ++i) name = fmt::format("{}_{}", base, i);
    taken_.insert(name);
    names_[&symbol] = name;
  }

  void nameSymbol(const Scalar& symbol) { nameSymbol(symbol, canNameSymbol(symbol.name()) ? symbol.name() : "n"); }

  std::string scalar(const Scalar& scalar) {
    return scalarText(scalar, [this](const Scalar& symbol) {
      if (!names_.contains(&symbol)) nameSymbol(symbol);
      return names_.at(&symbol);
    });
  }

  std::string globalTensor(const TensorView& tensor) {
    std::vector<std::string> axes;
    const Axes shape = shapeOf(tensor);
    for (size_t i = 0; i < shape.size(); ++i)
      axes.push_back(fmt::format("{}:{}", scalar(*shape[i]->visibleExtent()), scalar(*kernel_.strides.at(&tensor)[i])));
    return fmt::format("{}: {}[{}]", tensorName(tensor), dataTypeName(tensor.dtype()), joined(axes));
  }

  static std::string tensorName(const TensorView& tensor) { return fmt::format("T{}", tensor.label()); }

  std::string element(const TensorView& tensor, const Scalar& index) {
    return fmt::format("{}[{}]", tensorName(tensor), scalar(index));
  }

  std::string value(const Value& value) {
    std::vector<std::string> operands;
    for (const ValueRef& operand : value.operands) operands.push_back(this->value(*operand));
    switch (value.kind) {
      case ValueKind::Load: return element(*value.tensor, *value.scalar);
      case ValueKind::Variable: return value.variable->name;
      case ValueKind::Number: return number(value);
      case ValueKind::Apply: return fmt::format("{}({})", functionInfo(value.function).name, joined(operands));
      case ValueKind::Cast: return fmt::format("{}({})", dataTypeName(value.dtype), operands[0]);
      case ValueKind::Choose: return fmt::format("choose({}, {}, {})", scalar(*value.scalar), operands[0], operands[1]);
    }
    TK_CHECK(false, "no such value");
  }

  std::string number(const Value& value) {
    if (value.scalar->isConstant()) return literalText(convertValue(value.scalar->value(), value.dtype), value.dtype);
    return fmt::format("{}({})", dataTypeName(value.dtype), scalar(*value.scalar));
  }

  void statements(const Statements& list, size_t indent) {
    for (const StatementRef& statement : list)
      std::visit([&](const auto& node) { print(node, std::string(indent, ' '), indent); }, statement->node);
  }

  void print(const Loop& loop, const std::string& margin, size_t indent) {
    nameSymbol(*loop.index, "k");
    body_ +=
        fmt::format("{}for {} in {}..{}{} {{\n", margin, names_.at(loop.index), scalar(*loop.start), scalar(*loop.stop),
                    loop.type == ParallelType::Serial ? "" : fmt::format(" {}", parallelTypeName(loop.type)));
    statements(loop.body, indent + 2);
    body_ += margin + "}\n";
  }
  void print(const If& guard, const std::string& margin, size_t indent) {
    body_ += fmt::format("{}if {} {{\n", margin, scalar(*guard.predicate));
    statements(guard.body, indent + 2);
    body_ += margin + "}\n";
  }
  void print(const Allocate& allocate, const std::string& margin, size_t) {
    const TensorView& tensor = *allocate.tensor;
    const auto& circular = tensor.circularBuffer();
    body_ += fmt::format(
        "{}{}: {}[{}] {}{}\n", margin, tensorName(tensor), dataTypeName(tensor.dtype()), scalar(*allocate.size),
        tensor.memoryType() == MemoryType::Shared ? "shared" : "local",
        circular ? fmt::format(" circular {} ahead {}", circular->stages, circular->prefetch) : std::string());
  }
  void print(const Let& let, const std::string& margin, size_t) {
    const Variable& variable = *let.variable;
    if (let.index != nullptr) names_[let.index] = variable.name;
    const std::string range = let.index == nullptr ? "" : fmt::format(" in {}", scalar(*let.extent));
    body_ += fmt::format("{}let {}: {}{} = {}\n", margin, variable.name, dataTypeName(variable.dtype), range,
                         value(*let.value));
  }
  void print(const Store& store, const std::string& margin, size_t) {
    const std::string block = store.block == nullptr ? "" : fmt::format(" of block {}", scalar(*store.block));
    body_ += fmt::format("{}{}{} = {}\n", margin, element(*store.tensor, *store.index), block, value(*store.value));
  }
  std::string elements(const TensorView& tensor, const Scalar& first, int64_t count) {
    return fmt::format("{}[{} .. +{}]", tensorName(tensor), scalar(first), count);
  }
  void print(const Copy& copy, const std::string& margin, size_t) {
    body_ +=
        fmt::format("{}{}{} = {}\n", margin, copy.is_async ? "async " : "",
                    elements(*copy.to, *copy.to_index, copy.count), elements(*copy.from, *copy.from_index, copy.count));
  }
  void print(const CopyGroup& group, const std::string& margin, size_t) {
    if (group.step == CopyGroup::Step::Commit)
      body_ += margin + "commit copies\n";
    else
      body_ +=
          fmt::format("{}wait copies{}\n", margin, group.pending == 0 ? "" : fmt::format(" but {}", group.pending));
  }
  void print(const BlockReduce& reduce, const std::string& margin, size_t) {
    std::vector<std::string_view> dimensions;
    for (const ParallelType type : reduce.dimensions) dimensions.push_back(parallelTypeName(type));
    body_ += fmt::format("{}reduce {} {} over {}\n", margin, enumName(reduce.kind),
                         reduce.count == 1 ? element(*reduce.tensor, *reduce.index)
                                           : elements(*reduce.tensor, *reduce.index, reduce.count),
                         joined(dimensions));
  }
  void print(const GridReduce& grid, const std::string& margin, size_t indent) {
    std::vector<std::string> values;
    for (const GridReduce::Value& value : grid.values)
      values.push_back(fmt::format("{} {} spread ({})", enumName(value.kind),
                                   elements(*value.tensor, *value.index, value.count), dimensionNames(value.spread)));
    body_ += fmt::format("{}reduce blocks over {}: {} {{\n", margin, dimensionNames(grid.dimensions), joined(values));
    statements(grid.body, indent + 2);
    body_ += margin + "}\n";
  }
  static std::string dimensionNames(const std::vector<ParallelType>& types) {
    std::vector<std::string_view> names;
    for (const ParallelType type : types) names.push_back(parallelTypeName(type));
    return joined(names);
  }
  void print(const Barrier&, const std::string& margin, size_t) { body_ += margin + "barrier\n"; }
  void print(const ClusterBarrier& barrier, const std::string& margin, size_t) {
    body_ += margin + (barrier.half == ClusterBarrier::Half::Arrive ? "arrive cluster\n" : "wait cluster\n");
  }

  const Kernel& kernel_;
  std::map<const Scalar*, std::string> names_;
  std::set<std::string> taken_;
  std::string body_;
};

}  // namespace

const LaunchDimension* Kernel::dimension(ParallelType type) const {
  const auto found = std::ranges::find(dimensions, type, &LaunchDimension::type);
  return found == dimensions.end() ? nullptr : &*found;
}

int64_t Kernel::clusterBlocks() const {
  const LaunchDimension* cluster = dimension(ParallelType::CIDx);
  return cluster == nullptr ? 1 : cluster->extent->constantInt().value_or(1);
}

const TensorView* Kernel::updateOf(const TensorView& input) const {
  const auto found = std::ranges::find_if(updates, [&](const auto& update) { return update.second == &input; });
  return found == updates.end() ? nullptr : found->first;
}

bool Kernel::hasThreads() const {
  return std::ranges::any_of(dimensions, [](const LaunchDimension& each) { return isThreadType(each.type); });
}

const GridReduce* gridReduceOf(const Kernel& kernel) {
  return kernel.body.empty() ? nullptr : std::get_if<GridReduce>(&kernel.body.back()->node);
}

std::string printKernel(const Kernel& kernel) { return Printer(kernel).print(); }

}  // namespace tokamak::kir
