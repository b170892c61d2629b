#include "tools/input_fill.h"

#include <charconv>

#include "tools/integer_in.h"

namespace tokamak::tools {

std::optional<ScalarValue> numberIn(const std::string& text) {
  // Integers beyond 2^53 are no doubles.
  if (const auto integer = integerIn<int64_t>(text)) return *integer;
  const char* const last = text.data() + text.size();
  double number = 0;
  const auto of_number = std::from_chars(text.data(), last, number);
  if (of_number.ec == std::errc() && of_number.ptr == last) return number;
  return std::nullopt;
}

std::optional<InputFill> inputFillOf(const std::string& text) {
  if (text == "ones") return InputFill{InputFill::Kind::Same, int64_t{1}};
  if (text == "zeros") return InputFill{InputFill::Kind::Same, int64_t{0}};
  if (text == "rand") return InputFill{InputFill::Kind::Uniform};
  if (text == "randn") return InputFill{InputFill::Kind::Normal};
  const auto number = numberIn(text);
  return number ? std::optional(InputFill{InputFill::Kind::Same, *number}) : std::nullopt;
}

}  // namespace tokamak::tools
