// How the stored tensors of a kernel are cut, for a GPU above all: what schedules and their parameters look at.
#pragma once

#include <optional>
#include <string>

#include "analysis/addresses.h"
#include "heuristics/kernel_rows.h"

namespace tokamak {

inline constexpr int64_t kWarp = 32;
inline constexpr int64_t kAccessBytes = 16;

// Of a block that reduces columns, at most.
inline constexpr int64_t kColumnBlockThreads = 512;
inline constexpr int64_t kColumnUnroll = 4;

/// The product of the extents of these loops; nothing where one is not known.
std::optional<int64_t> productOf(const TensorView& tensor, const AxisNumbers& loops, const ScalarBindings& sizes);

/// Loops of a tensor that has rows: those of the rows, in their order, those that are 1 long, and the others.
struct RowLoops {
  AxisNumbers rows;
  AxisNumbers once;
  AxisNumbers turns;  ///< of a part of columns, over the rows that it has
  AxisNumbers rest;
};

RowLoops rowLoopsOf(const KernelRows& rows, const TensorView& tensor);

/// Whether blocks may have parts of what is reduced: reductions that follow none, and what has one element for each of
/// their results.
bool mayShareReductions(const KernelRows& rows);

/// Whether neighbours in memory belong to one result of a reduction (or to different ones).
bool isAlongRows(const KernelRows& rows, const TensorView& reduction, const Strides& strides);

/// Elements of a column that a thread may have all.
inline constexpr int64_t kShortColumn = 8;

/// Whether all reductions are of columns of a few elements, as is what is computed from them.
bool areColumnsShort(const KernelRows& rows, const Strides& strides);

/// Whether columns are all there is: nothing that is kept lies outside of what is reduced. Then there may be few of
/// them, and each so long that no cache keeps those that are under way.
bool areColumnsAll(const KernelRows& rows);

/// Whether all that has rows is in blocks of columns.
bool isInColumns(const KernelRows& rows, const Strides& strides);

/// Whether something needs whole columns before it begins: blocks cannot have parts of them then. `is_in_columns`:
/// isInColumns of these rows.
bool needsWholeColumns(const KernelRows& rows, bool is_in_columns);

/// Why what has rows should not be in blocks of columns, or nothing: some of it is reduced along rows, or there are few
/// columns and what is computed from them needs them whole.
std::optional<std::string> whyNotInColumns(const KernelRows& rows, const Strides& strides);

/// Where the kernel updates inputs: the other stored tensors of the shape of this one; reductions have none.
std::vector<TensorView*> besideUpdates(const KernelRows& rows, const TensorView& tensor);

/// How many neighbouring elements a thread can take together along the last of the loops: 16 bytes of the narrowest
/// tensor, and a divisor of what lies side by side in memory.
int64_t vectorOf(Fusion& fusion, const TensorView& tensor, const Strides& strides, int64_t most);

/// Whether blocks may take rows in turns. An output that is needed elsewhere is computed there again, and counts as
/// needed: its turns would be a loop of its own. Where rows are several axes, indices do not show that the turns of two
/// tensors are one loop. (Parts of columns are made in turns anyway.)
bool mayTakeTurns(const KernelRows& rows);

}  // namespace tokamak
