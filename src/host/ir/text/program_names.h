// ProgramNames: the numbers and names that the parts of a program have in its text.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/fields.h"
#include "ir/fusion.h"

namespace tokamak {

/// The steps that make a tensor's axes from each other: of root -> logical, then of logical -> loop and allocation;
/// producers first, in an order that depends on the structure alone.
std::vector<const DomainExpr*> domainSteps(const TensorDomain& domain);

/// The statements of a program: a host program's top level, or a fusion's expressions in creation order.
Block statementsOf(const Fusion& program);

/// Labels and numbers beyond this are no names: a tensor with such a label counts as unnamed.
inline constexpr int64_t kLargestNumber = 1'000'000'000;

/// Assigned when the program is printed; only what the program mentions has a name. Tensors: the label, or, without
/// one, following the largest label in creation order. Axes: from 0 in the order of tensors, logical axes first.
/// Streams that are caught: 0, 2, 4, ... in order of appearance. Communications and segments: from 0 in order of
/// appearance.
class ProgramNames {
 public:
  ProgramNames(const Fusion& program, const Block& statements);

  /// By number.
  const std::vector<TensorView*>& tensors() const { return tensors_; }
  int64_t tensor(const TensorView& tensor) const { return tensor_numbers_.at(&tensor); }
  int64_t axis(const IterDomain& axis) const { return axis_numbers_.at(&axis); }
  /// Of a stream without index; -1 for the program's default stream.
  int64_t stream(const StreamVal& stream) const { return stream_numbers_.at(&stream); }
  int64_t communication(int64_t number) const { return communication_numbers_.at(number); }
  /// True when a Wait names this number.
  bool isAwaited(int64_t number) const { return awaited_.contains(number); }
  const std::vector<const HostSegment*>& segments() const { return segments_; }
  int64_t segment(const HostSegment& segment) const;

  /// Symbols are named in the order of the finished text, so a text is first written with marks in their place. A
  /// symbol without a name, or with one that is a letter and a number, is numbered: 0, 2, 3, 4, ... A name that is
  /// taken gets a suffix; the name of a loop's index may be used again after the loop.
  std::string symbol(const Scalar& symbol);
  /// Marks without text: where a loop begins and where it ends.
  std::string loopBegin(const Scalar& index);
  std::string loopEnd(const Scalar& index);
  /// `marked` with the names in place of the marks; from now on `symbol` gives names.
  std::string withNames(std::string_view marked);
  /// The symbols of the text, in the order in which they were named.
  const std::vector<const Scalar*>& symbols() const { return symbols_; }

 private:
  void numberTensors(const std::map<TensorView*, bool, ById>& mentioned);
  void numberAxes(const Axes& axes);
  void numberStream(const Val* val);
  void numberStatement(const Expr& expr);
  void numberCommunication(const Expr& expr);
  std::string mark(char kind, const Scalar& symbol);
  const std::string& nameOf(const Scalar& symbol);

  std::vector<TensorView*> tensors_;
  std::unordered_map<const TensorView*, int64_t> tensor_numbers_;
  std::unordered_map<const IterDomain*, int64_t> axis_numbers_;
  std::unordered_map<const StreamVal*, int64_t> stream_numbers_;
  std::map<int64_t, int64_t> communication_numbers_;
  std::map<int64_t, bool> awaited_;
  std::vector<const HostSegment*> segments_;
  std::vector<const Scalar*> marked_;
  std::unordered_map<const Scalar*, size_t> marks_;
  std::vector<const Scalar*> symbols_;
  std::unordered_map<const Scalar*, std::string> symbol_names_;
  std::set<std::string> names_in_use_;
  bool are_symbols_named_ = false;
  int64_t next_stream_ = 0;
  int64_t next_symbol_ = 0;
};

/// The letter that starts the name of a numbered symbol: i integers, f float and the half types, d double, b bool.
char symbolLetter(DataType dtype);
/// True for a letter of these and digits: "i0".
bool isNumberedName(std::string_view name);
/// The type of a symbol of this name unless the section Scalars says otherwise.
DataType symbolTypeFromName(std::string_view name);
/// True for an identifier that the grammar leaves to symbols.
bool isProgramSymbolName(std::string_view name);

}  // namespace tokamak
