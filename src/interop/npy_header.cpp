// The header of a .npy file: "\x93NUMPY", a version, a length, and a Python dictionary of three entries in that many
// bytes.
#include "interop/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"

namespace tokamak {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kLongestHeader = 1 << 20;  // of text; a real one has some 120 bytes

// Reads the dictionary, naming the file in every complaint.
class HeaderText {
 public:
  HeaderText(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    TK_RAISE(Io, "npy: '{}': {}", file_, fmt::format(format, args...));
  }
  void expect(char c) {
    if (!accept(c)) refuse("its header is damaged at byte {}: '{}' is missing", at_, c);
  }
  bool accept(char c) {
    skipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool acceptWord(std::string_view word) {
    skipSpace();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::string_view string() {
    skipSpace();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') refuse("its header is damaged at byte {}: a quoted word is missing", at_);
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse("its header is damaged at byte {}: the quote is not closed", at_);
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return word;
  }
  int64_t size() {
    skipSpace();
    if (acceptSign()) refuse("its shape has a negative size");
    const size_t first = at_;
    int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        refuse("its shape has a size that does not fit 63 bits");
      }
    }
    if (at_ == first) refuse("its header is damaged at byte {}: a size is missing", at_);
    return value;
  }
  bool isAt(char c) {
    skipSpace();
    return at_ < text_.size() && text_[at_] == c;
  }
  void expectEnd() {
    skipSpace();
    if (at_ != text_.size()) refuse("its header has more after the dictionary, at byte {}", at_);
  }

 private:
  bool acceptSign() { return at_ < text_.size() && text_[at_] == '-'; }
  void skipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  std::string_view text_;
  std::string_view file_;
  size_t at_ = 0;
};

struct DescrRow {
  std::string_view descr;
  DataType dtype;
};

constexpr std::array<DescrRow, 6> kDescrs = {{{"f8", DataType::F64},
                                              {"f4", DataType::F32},
                                              {"f2", DataType::F16},
                                              {"i4", DataType::I32},
                                              {"i8", DataType::I64},
                                              {"b1", DataType::Bool}}};

DataType readDescr(HeaderText& text, NpyHalf half) {
  if (text.isAt('[')) text.refuse("it holds records of several fields; only plain numbers are legal");
  const std::string_view descr = text.string();
  const std::string_view order = descr.substr(0, descr.find_first_not_of("<>|="));
  const std::string_view type = descr.substr(order.size());
  if (order == ">") text.refuse("its data type '{}' is big-endian; only little-endian files are legal", descr);
  if (type.starts_with('O')) text.refuse("it holds Python objects ('{}'); only plain numbers are legal", descr);
  if (type == "u2" && order == "<" && half == NpyHalf::BFloat16) return DataType::BF16;
  const auto* const row = std::ranges::find(kDescrs, type, &DescrRow::descr);
  const bool is_byte_order_legal = type == "b1" ? order != "=" : order == "<";
  if (row == kDescrs.end() || !is_byte_order_legal) {
    text.refuse("its data type is '{}'; legal are <f8 <f4 <f2 <i4 <i8 |b1, and <u2 where bf16 is asked for", descr);
  }
  return row->dtype;
}

std::vector<int64_t> readShape(HeaderText& text) {
  std::vector<int64_t> sizes;
  text.expect('(');
  while (!text.accept(')')) {
    if (sizes.size() == Tensor::kMaxRank) text.refuse("its shape has more than {} axes", Tensor::kMaxRank);
    sizes.push_back(text.size());
    if (!text.accept(',')) {
      if (sizes.size() == 1) text.refuse("its shape is damaged: ',' is missing after the only size");
      text.expect(')');
      break;
    }
  }
  return sizes;
}

struct HeaderExtent {
  int64_t begin = 0;
  int64_t bytes = 0;
};

HeaderExtent findText(std::span<const unsigned char> bytes, std::string_view name) {
  const auto size = static_cast<int64_t>(bytes.size());
  TK_REQUIRE(size >= 8 && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0, Io,
             "npy: '{}': it does not start with the bytes of a .npy file", name);
  const int version = bytes[6];
  TK_REQUIRE(version >= 1 && version <= 3 && bytes[7] == 0, Io, "npy: '{}': its version is {}.{}; legal are 1.0 to 3.0",
             name, version, static_cast<int>(bytes[7]));
  const int64_t begin = version == 1 ? 10 : 12;
  TK_REQUIRE(size >= begin, Io, "npy: '{}': it ends inside its header", name);
  int64_t length = 0;
  for (int64_t i = begin; i-- > 8;) length = length * 256 + bytes[static_cast<size_t>(i)];
  return {begin, length};
}

}  // namespace

NpyHeader parseNpyHeader(std::span<const unsigned char> bytes, int64_t file_bytes, std::string_view name,
                         NpyHalf half) {
  const HeaderExtent place = findText(bytes, name);
  TK_REQUIRE(place.begin + place.bytes <= file_bytes, Io,
             "npy: '{}': its header claims {} bytes, the whole file has {}", name, place.bytes, file_bytes);
  TK_REQUIRE(place.bytes <= kLongestHeader, Io, "npy: '{}': its header has {} bytes; at most {} are legal", name,
             place.bytes, kLongestHeader);
  TK_REQUIRE(place.begin + place.bytes <= static_cast<int64_t>(bytes.size()), Io,
             "npy: '{}': it ends inside its header", name);
  const auto* const characters = reinterpret_cast<const char*>(bytes.data());
  HeaderText text({characters + place.begin, static_cast<size_t>(place.bytes)}, name);

  NpyHeader header;
  header.data_offset = place.begin + place.bytes;
  bool has_descr = false;
  bool has_order = false;
  bool has_shape = false;
  text.expect('{');
  while (!text.accept('}')) {
    const std::string_view key = text.string();
    text.expect(':');
    if (key == "descr" && !std::exchange(has_descr, true)) {
      header.dtype = readDescr(text, half);
    } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
      header.is_column_major = text.acceptWord("True");
      if (!header.is_column_major && !text.acceptWord("False")) text.refuse("its fortran_order is not True or False");
    } else if (key == "shape" && !std::exchange(has_shape, true)) {
      header.sizes = readShape(text);
    } else {
      text.refuse("its header has the entry '{}' twice or that is unknown", key);
    }
    if (!text.accept(',')) {
      text.expect('}');
      break;
    }
  }
  text.expectEnd();
  if (!has_descr || !has_order || !has_shape) text.refuse("its header lacks descr, fortran_order or shape");
  return header;
}

}  // namespace tokamak
