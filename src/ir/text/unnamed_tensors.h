// Unnamed tensors: the numbers of tensors that a text neither names nor numbers, such as T0 * 2 in T1 = T0 * 2 + 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// Where numbers are counted from: behind the largest that the text writes, or, where it has names, around those.
enum class NumberPlace : uint8_t { BehindWritten, AroundWritten };

using TensorNumbers = std::vector<std::pair<TensorView*, int64_t>>;

/// The numbers of all tensors without a label, in the order in which they are made; `taken` are not given.
TensorNumbers numbersOf(const Fusion& fusion, NumberPlace place, std::unordered_set<int64_t> taken = {});

/// Whether a message names a tensor that has neither a name nor a number, as "T?12".
bool namesUnnumbered(std::string_view message);

/// The message with these numbers in the place of such names: "T3".
std::string withNumbers(std::string_view message, const TensorNumbers& numbers);

}  // namespace tokamak
