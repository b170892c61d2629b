#include "host/ir/text/text_writer.h"

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "ir/text/scalar_text.h"

namespace tokamak {

namespace {

template <class... Cases>
struct Choice : Cases... {
  using Cases::operator()...;
};

// The figures of a constant that is wrapped in its type: "0", "0.5", "-0.0", "inf".
std::string figures(const Scalar& constant) {
  std::string text = literalText(constant.value(), constant.dtype(), constant.dtype());
  if (text.ends_with(".0") && text != "-0.0") text.resize(text.size() - 2);
  return text;
}

std::string meshRow(const DeviceMesh& mesh, size_t dimension, size_t& next) {
  std::vector<std::string> parts;
  const bool is_last = dimension + 1 >= mesh.shape.size();
  const auto count = static_cast<size_t>(mesh.shape[dimension]);
  for (size_t i = 0; i < count; ++i) {
    parts.push_back(is_last ? fmt::to_string(mesh.devices[next++]) : meshRow(mesh, dimension + 1, next));
  }
  return fmt::format("{{{}}}", joined(parts, " "));
}

}  // namespace

std::string braced(const std::vector<std::string>& parts) { return fmt::format("{{{}}}", joined(parts)); }

std::string meshText(const DeviceMesh& mesh) {
  if (!mesh.isFilled()) return fmt::format("{{{}}}", joined(mesh.devices, " "));
  size_t next = 0;
  return meshRow(mesh, 0, next);
}

std::string TextWriter::scalar(const Scalar* scalar) const {
  if (scalar == nullptr) return "none";
  const bool is_plain = scalar->dtype() == DataType::I64 || scalar->dtype() == DataType::Bool;
  if (scalar->isConstant() && !is_plain) return fmt::format("{}({})", dumpName(scalar->dtype()), figures(*scalar));
  return scalarText(*scalar, [this](const Scalar& symbol) { return names_->symbol(symbol); });
}

std::string TextWriter::axis(const IterDomain* axis) const {
  if (axis == nullptr) return "none";
  std::string extent = scalar(axis->extent());
  if (axis->expandedExtent() != nullptr) extent += fmt::format(" ex {}", scalar(axis->expandedExtent()));
  return fmt::format("{}{}{}{{{}}}{}", iterKindLetter(axis->kind()), parallelTypeDumpName(axis->parallelType()),
                     names_->axis(*axis), extent, axis->isRFactor() ? "rf" : "");
}

std::string TextWriter::axes(const Axes& axes) const {
  return fmt::format("[{}]", joined(textsOf(axes, [this](const IterDomain* a) { return axis(a); })));
}

const std::string& TextWriter::tensor(const TensorView& tensor) {
  const auto [found, is_first] = tensors_.try_emplace(&tensor);
  if (!is_first) return found->second;
  found->second = fmt::format("T{}_{}_{}{}", names_->tensor(tensor), memoryTypeLetter(tensor.memoryType()),
                              dumpName(tensor.dtype()), axes(tensor.loop()));
  if (!tensor.mesh().empty()) found->second += fmt::format(" (DeviceMesh{})", meshText(tensor.mesh()));
  for (const Partial& partial : tensor.partials())
    found->second += fmt::format(" (Partial{{{} {}}})", enumName(partial.kind), parallelTypeName(partial.type));
  return found->second;
}

std::string TextWriter::stream(const StreamVal& stream) const {
  if (stream.index() != nullptr) {
    const std::string index = scalar(stream.index());
    return index.starts_with("( ") ? fmt::format("Stream {}", index) : fmt::format("Stream ( {} )", index);
  }
  const int64_t number = names_->stream(stream);
  return number < 0 ? "Stream default" : fmt::format("Stream {}", number);
}

std::string TextWriter::val(const Val* val) {
  if (val == nullptr) return "none";
  switch (val->kind()) {
    case ValKind::Tensor: return tensor(*static_cast<const TensorView*>(val));
    case ValKind::Stream: return stream(*static_cast<const StreamVal*>(val));
    case ValKind::Scalar: break;
  }
  return scalar(static_cast<const Scalar*>(val));
}

std::string TextWriter::value(const FieldValue& value) {
  const auto flag = [](bool v) -> std::string { return v ? "true" : "false"; };
  return std::visit(
      Choice{
          [](std::monostate) -> std::string { return "none"; },
          [&](Val* v) { return val(v); },
          [&](Scalar* v) { return scalar(v); },
          [&](IterDomain* v) { return axis(v); },
          [&](const std::vector<Val*>& v) { return braced(textsOf(v, [&](const Val* e) { return val(e); })); },
          [&](const std::vector<Scalar*>& v) { return braced(textsOf(v, [&](const Scalar* e) { return scalar(e); })); },
          [](int64_t v) { return fmt::to_string(v); },
          [&](bool v) { return flag(v); },
          [](double v) { return literalText(v, DataType::F64); },
          [](const std::string& v) { return inQuotes(v); },
          [](DataType v) { return std::string(dumpName(v)); },
          [](const EnumValue& v) { return std::string(v.name()); },
          [](const std::vector<int64_t>& v) { return fmt::format("{{{}}}", joined(v)); },
          [&](const std::vector<bool>& v) { return braced(textsOf(v, flag)); },
          [](const Block&) -> std::string { TK_RAISE(Internal, "a body of statements is no attribute"); },
          [&](const std::shared_ptr<const HostSegment>& v) {
            return v == nullptr ? "none" : fmt::format("HostUnit{}", names_->segment(*v));
          },
      },
      value);
}

std::string TextWriter::axisAt(const Axes& axes, int64_t position) const {
  const bool exists = position >= 0 && position < static_cast<int64_t>(axes.size());
  return exists ? axis(axes[static_cast<size_t>(position)]) : fmt::to_string(position);
}

}  // namespace tokamak
