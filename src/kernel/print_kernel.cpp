#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "ir/text/scalar_text.h"
#include "kernel/kernel.h"

namespace tokamak::kir {

namespace {

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {
    for (const Scalar* symbol : kernel.symbols) nameSymbol(*symbol, symbol->name().empty() ? "n" : symbol->name());
    for (const LaunchDimension& dimension : kernel.dimensions) nameSymbol(*dimension.index, dimension.index->name());
  }

  std::string print() {
    std::string text = fmt::format("kernel {}(", kernel_.name);
    const char* separator = "";
    for (const TensorView* tensor : kernel_.tensors) {
      std::vector<std::string> axes;
      const Axes shape = shapeOf(*tensor);
      for (size_t i = 0; i < shape.size(); ++i)
        axes.push_back(
            fmt::format("{}:{}", scalar(*shape[i]->visibleExtent()), scalar(*kernel_.strides.at(tensor)[i])));
      text += fmt::format("{}{}: {}[{}]", separator, tensorName(*tensor), dataTypeName(tensor->dtype()),
                          fmt::join(axes, ", "));
      separator = ", ";
    }
    for (const Scalar* symbol : kernel_.symbols) {
      text += fmt::format("{}{}: {}", separator, names_.at(symbol), dataTypeName(symbol->dtype()));
      separator = ", ";
    }
    text += ")";
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

  std::string scalar(const Scalar& scalar) {
    std::string text = scalarText(scalar, [this](const Scalar& symbol) {
      if (!names_.contains(&symbol)) nameSymbol(symbol, symbol.name().empty() ? "n" : symbol.name());
      return names_.at(&symbol);
    });
    return text;
  }

  static std::string tensorName(const TensorView& tensor) { return fmt::format("T{}", tensor.label()); }

  std::string place(const TensorView& tensor, const Scalar& index) {
    return fmt::format("{}[{}]", tensorName(tensor), scalar(index));
  }

  std::string value(const Value& value) {
    std::vector<std::string> operands;
    for (const ValueRef& operand : value.operands) operands.push_back(this->value(*operand));
    switch (value.kind) {
      case ValueKind::Load: return place(*value.tensor, *value.scalar);
      case ValueKind::Variable: return value.variable->name;
      case ValueKind::Number: return fmt::format("{}({})", dataTypeName(value.dtype), scalar(*value.scalar));
      case ValueKind::Apply: return fmt::format("{}({})", functionInfo(value.function).name, fmt::join(operands, ", "));
      case ValueKind::Cast: return fmt::format("{}({})", dataTypeName(value.dtype), operands[0]);
      case ValueKind::Choose: return fmt::format("({} ? {} : {})", scalar(*value.scalar), operands[0], operands[1]);
    }
    TK_CHECK(false, "no such value");
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
    body_ += fmt::format("{}{}: {}[{}] {}\n", margin, tensorName(tensor), dataTypeName(tensor.dtype()),
                         scalar(*allocate.size), tensor.memoryType() == MemoryType::Shared ? "shared" : "local");
  }
  void print(const Let& let, const std::string& margin, size_t) {
    body_ += fmt::format("{}let {} = {}\n", margin, let.variable->name, value(*let.value));
  }
  void print(const Store& store, const std::string& margin, size_t) {
    body_ += fmt::format("{}{} = {}\n", margin, place(*store.tensor, *store.index), value(*store.value));
  }
  void print(const Combine& combine, const std::string& margin, size_t) {
    std::vector<std::string_view> dimensions;
    for (const ParallelType type : combine.dimensions) dimensions.push_back(parallelTypeName(type));
    body_ += fmt::format("{}combine {} {} over {}\n", margin, enumName(combine.kind),
                         place(*combine.tensor, *combine.index), fmt::join(dimensions, ", "));
  }
  void print(const Barrier&, const std::string& margin, size_t) { body_ += margin + "barrier\n"; }

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

std::string printKernel(const Kernel& kernel) { return Printer(kernel).print(); }

}  // namespace tokamak::kir
