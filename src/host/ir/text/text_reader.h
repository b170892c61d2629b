// TextReader: the parts of a program read from its text; the counterpart of TextWriter.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "host/ir/host_ir_container.h"
#include "ir/fields.h"
#include "ir/text/scalar_text.h"

namespace tokamak {

/// What the section Domains says of a tensor before the tensor is seen.
struct DomainEntry {
  TensorDomain domain;
  std::optional<Axes> logical;
  std::optional<std::vector<std::optional<bool>>> contiguity;
  std::optional<MemoryKind> memory;
  size_t offset = 0;     ///< where it stands, for messages
  bool is_used = false;  ///< the tensor was met
};

/// Reads one program's parts and remembers them by number and name: a part that is mentioned again must be written as
/// before.
class TextReader {
 public:
  /// `host` is null for the fusion of a segment.
  TextReader(TokenStream& tokens, Fusion& program, HostIrContainer* host);

  TokenStream& tokens() const { return *tokens_; }
  Fusion& program() const { return *program_; }
  HostIrContainer* host() const { return host_; }

  Scalar* scalar(std::string_view what = "a scalar");
  /// Also "none".
  Scalar* scalarOrNone();
  IterDomain* axis();
  Axes axes();
  bool atTensor() const;
  TensorView* tensor();
  StreamVal* stream();
  /// A tensor, a stream or a scalar.
  Val* val();
  /// The value of an attribute of the form that `like` has.
  FieldValue value(const FieldValue& like, std::string_view name);
  int64_t unsignedInteger(std::string_view what);
  /// An axis named by its text or its position among `axes`; `where` says in messages what they are.
  int64_t axisPosition(const Axes& axes, std::string_view where);
  bool flag();
  DataType dataType();
  EnumValue enumerator(EnumValue like, std::string_view what);
  /// "{a, b}" of whatever `element` reads.
  template <class Element>
  auto braced(Element&& element) {
    std::vector<std::decay_t<decltype(element())>> list;
    tokens_->expect("{");
    if (tokens_->accept("}")) return list;
    do list.push_back(element());
    while (tokens_->accept(","));
    expectClosing("}");
    return list;
  }
  /// "name = ", or "name=".
  void expectName(std::string_view name);
  /// After an element of a list: the closing token. Errors: Parse, saying that a comma would do too.
  void expectClosing(std::string_view closing);

  /// The symbol of this name, made on first sight.
  Scalar* symbol(std::string_view name);
  void setSymbolType(std::string_view name, DataType dtype) { symbol_types_[std::string(name)] = dtype; }

  std::map<int64_t, DomainEntry>& domains() { return domains_; }
  void addSegment(int64_t number, std::shared_ptr<const HostSegment> segment) {
    segments_[number] = std::move(segment);
  }
  std::shared_ptr<const HostSegment> segment();
  bool hasSegment(int64_t number) const { return segments_.contains(number); }
  /// True for an axis that had been mentioned when `axisCount()` was `since`.
  bool isKnownAxis(const IterDomain* axis, size_t since) const;
  size_t axisCount() const { return axis_order_.size(); }

  /// Records the memory that an ALLOCATE names. Errors: Parse when another place said otherwise.
  void setMemory(TensorView* tensor, MemoryKind kind, const Token& at);

 private:
  template <class Part>
  struct Known {
    Part* part;
    std::string_view text;  // as first written
  };
  struct TensorName {
    int64_t number;
    MemoryType memory;
    DataType dtype;
  };

  TensorName tensorName();
  DeviceMesh mesh();
  void meshRow(DeviceMesh& mesh, size_t dimension);
  std::vector<Partial> partials();
  TensorView* makeTensor(const TensorName& name, Axes loop, DeviceMesh mesh);
  std::string_view textSince(size_t offset) const;
  size_t endOffset() const;  // of the last token taken
  Scalar* constantOf(DataType dtype);

  TokenStream* tokens_;
  Fusion* program_;
  HostIrContainer* host_;
  std::map<int64_t, Known<TensorView>> tensors_;
  std::map<int64_t, Known<IterDomain>> axes_;
  std::unordered_map<const IterDomain*, size_t> axis_order_;
  std::map<std::string, Scalar*, std::less<>> symbols_;
  std::map<std::string, DataType, std::less<>> symbol_types_;
  std::map<int64_t, StreamVal*> streams_;
  std::map<Scalar*, StreamVal*, ById> workers_;
  std::map<int64_t, DomainEntry> domains_;
  std::map<int64_t, std::shared_ptr<const HostSegment>> segments_;
  std::map<const TensorView*, MemoryKind> memories_;
};

/// T and digits: the start of a tensor's text.
bool startsTensor(const Token& token);
/// The 3 of "Kernel3", or nothing when the token is another word or the number is too large.
std::optional<int64_t> numberAfter(std::string_view word, const Token& token);
/// Blanks before the token in its line.
size_t columnOf(const TokenStream& tokens, const Token& token);
/// The type that wraps a constant: float, double, __half, __bfloat, int.
std::optional<DataType> constantType(const Token& token);

}  // namespace tokamak
