// TextWriter: the parts of a program as text: tensors, axes, scalars, streams, values of fields.
#pragma once

#include <string>
#include <unordered_map>

#include "base/text.h"
#include "host/ir/text/program_names.h"

namespace tokamak {

/// The text of a part is the same wherever it stands.
class TextWriter {
 public:
  explicit TextWriter(ProgramNames& names) : names_(&names) {}

  ProgramNames& names() const { return *names_; }

  /// "i0", "( i0 * 8 )", "float(0)", "none" for null.
  std::string scalar(const Scalar* scalar) const;
  /// "iS3{i2}", "bS1{1 ex 32}"; "none" for null.
  std::string axis(const IterDomain* axis) const;
  /// "[iS0{i0}, iS1{i2}]".
  std::string axes(const Axes& axes) const;
  /// "T0_g_float[iS0{i0}]", with a mesh " (DeviceMesh{0 1})", of a partial one " (Partial{sum DIDx})" behind it.
  const std::string& tensor(const TensorView& tensor);
  /// "Stream 0", "Stream ( StreamIdx % numberOfStreams )", "Stream default".
  std::string stream(const StreamVal& stream) const;
  std::string val(const Val* val);
  /// A field's value, as attributes are written: "{1, 2}", "true", "Streaming".
  std::string value(const FieldValue& value);
  /// What `axis` is called that a statement names by its position in `axes`: its text, or the number if there is no
  /// such axis.
  std::string axisAt(const Axes& axes, int64_t position) const;

 private:
  ProgramNames* names_;
  std::unordered_map<const TensorView*, std::string> tensors_;
};

/// The texts of `elements`, each made by `text`.
template <class List, class Text>
std::vector<std::string> textsOf(const List& elements, Text&& text) {
  std::vector<std::string> parts;
  for (const auto& element : elements) parts.push_back(text(element));
  return parts;
}

/// "{a, b}".
std::string braced(const std::vector<std::string>& parts);
/// "{0 1}", of two dimensions "{{0 1} {2 3}}".
std::string meshText(const DeviceMesh& mesh);

}  // namespace tokamak
