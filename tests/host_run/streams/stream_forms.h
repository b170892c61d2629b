// Stream forms: one program for each form of each op, and the marks that ask for a loop over each of its axes and
// pairs of axes.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tokamak {

/// A program of one op whose result is T9. Its extents are symbols of one letter.
struct OpForm {
  std::string name;             ///< "matmul [b, m, k] x [k, n]"
  std::string signature;        ///< "T0: f32[m, k]"
  std::string statement;        ///< "matmul(T0, T1)"
  std::string rest = {};        ///< results behind T9: "T10"
  std::string behind = {};      ///< statements that follow
  std::string also_given = {};  ///< a result of those
};

/// Every structured op, matmul and linear of every pair of ranks, and composites.
const std::vector<OpForm>& opForms();

/// A way to ask for a stream loop over one or two loop axes of a tensor.
struct StreamMark {
  enum class Form : uint8_t { Index, Split, OuterSplit, InnerPart, Merge };
  Form form = Form::Index;
  int64_t axis = 0;
  int64_t inner = 0;  ///< of Merge: the axis that counts faster
  int64_t factor = 2;
  bool propagates = false;
};

/// All marks of a tensor with so many loop axes.
std::vector<StreamMark> streamMarks(int64_t rank);
/// The schedule commands on this tensor of so many loop axes.
std::string scheduleOf(const StreamMark& mark, int64_t rank, const std::string& tensor = "T9");
std::string toString(StreamMark::Form form);

/// The program's text, scheduled by these commands. Where extents are written as numbers, 1 makes a broadcast axis.
enum class Extents : uint8_t { Symbols, Numbers };
std::string textOf(const OpForm& form, const std::map<char, int64_t>& sizes, Extents extents,
                   const std::string& schedule);

}  // namespace tokamak
