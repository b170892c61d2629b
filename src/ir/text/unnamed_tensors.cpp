#include "ir/text/unnamed_tensors.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include <fmt/format.h>

namespace tokamak {

namespace {

// What nameOf(TensorView) writes before the tensor's place among all that is made.
constexpr std::string_view kUnnumbered = "T?";

}  // namespace

TensorNumbers numbersOf(const Fusion& fusion, NumberPlace place, std::unordered_set<int64_t> taken) {
  const std::vector<TensorView*> tensors = fusion.allTensors();
  for (const TensorView* tensor : tensors) taken.insert(tensor->label());
  int64_t next = 0;
  if (place == NumberPlace::BehindWritten && !taken.empty()) next = *std::ranges::max_element(taken) + 1;
  TensorNumbers numbers;
  for (TensorView* tensor : tensors) {
    if (tensor->label() >= 0) continue;
    while (!taken.insert(next).second) ++next;
    numbers.emplace_back(tensor, next);
  }
  return numbers;
}

bool namesUnnumbered(std::string_view message) { return message.find(kUnnumbered) != std::string_view::npos; }

std::string withNumbers(std::string_view message, const TensorNumbers& numbers) {
  std::unordered_map<int64_t, int64_t> number_of_id;
  for (const auto& [tensor, number] : numbers) number_of_id[tensor->id()] = number;
  std::string result;
  for (size_t at = message.find(kUnnumbered); at != std::string_view::npos; at = message.find(kUnnumbered)) {
    const size_t first = at + kUnnumbered.size();
    const size_t end = std::min(message.find_first_not_of("0123456789", first), message.size());
    int64_t id = -1;
    std::from_chars(message.data() + first, message.data() + end, id);
    const auto known = number_of_id.find(id);
    result += message.substr(0, at);
    result +=
        known == number_of_id.end() ? std::string(message.substr(at, end - at)) : fmt::format("T{}", known->second);
    message.remove_prefix(end);
  }
  return result.append(message);
}

}  // namespace tokamak
