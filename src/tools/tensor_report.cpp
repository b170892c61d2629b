#include "tools/tensor_report.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "base/half.h"
#include "tools/input_values.h"

namespace tokamak::tools {

namespace {

constexpr int64_t kMostElements = 1000;
constexpr int64_t kEdge = 3;

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

ScalarValue elementAt(DataType dtype, const std::byte* from) {
  switch (dtype) {
    case DataType::F64: return read<double>(from);
    case DataType::F32: return static_cast<double>(read<float>(from));
    case DataType::F16: return static_cast<double>(toFloat(Half{read<uint16_t>(from)}));
    case DataType::BF16: return static_cast<double>(toFloat(BFloat16{read<uint16_t>(from)}));
    case DataType::I32: return int64_t{read<int32_t>(from)};
    case DataType::I64: return read<int64_t>(from);
    case DataType::Bool: return read<uint8_t>(from) != 0;
  }
  return false;
}

// The elements in row-major order, one after the other.
class DenseElements {
 public:
  explicit DenseElements(const Tensor& tensor)
      : dtype_(tensor.dtype()), width_(sizeOf(tensor.dtype())), bytes_(denseBytes(tensor)) {}
  int64_t count() const { return static_cast<int64_t>(bytes_.size()) / width_; }
  ScalarValue at(int64_t i) const { return elementAt(dtype_, bytes_.data() + i * width_); }

 private:
  DataType dtype_;
  int64_t width_;
  std::vector<std::byte> bytes_;
};

std::string textOf(const ScalarValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
  return numberText(std::get<double>(value));
}

// Nested lists of a tensor's elements: visits the positions along each axis, with a gap where some are left out.
class RowWriter {
 public:
  explicit RowWriter(const Tensor& tensor)
      : elements_(tensor),
        sizes_(tensor.sizes().begin(), tensor.sizes().end()),
        is_shortened_(tensor.numel() > kMostElements) {}

  std::string text() {
    write(0, 0, [this](const std::string& element) { width_ = std::max(width_, element.size()); });
    std::string all;
    write(0, 0, [&](const std::string& element) { all += fmt::format("{:>{}}", element, width_); }, &all);
    return all;
  }

 private:
  template <class Visit>
  void write(size_t axis, int64_t first, const Visit& visit, std::string* around = nullptr) const {
    if (axis == sizes_.size()) return visit(textOf(elements_.at(first)));
    const int64_t size = sizes_[axis];
    int64_t inner = 1;
    for (size_t i = axis + 1; i < sizes_.size(); ++i) inner *= sizes_[i];
    const bool is_last = axis + 1 == sizes_.size();
    const std::string separator = is_last ? ", " : ",\n" + std::string(axis + 1, ' ');
    const auto add = [&](std::string_view text) {
      if (around != nullptr) *around += text;
    };
    add("[");
    for (int64_t i = 0; i < size; ++i) {
      if (i > 0) add(separator);
      if (is_shortened_ && i == kEdge && size > 2 * kEdge) {
        add("...");
        i = size - kEdge - 1;
        continue;
      }
      write(axis + 1, first + i * inner, visit, around);
    }
    add("]");
  }

  DenseElements elements_;
  std::vector<int64_t> sizes_;
  bool is_shortened_;
  size_t width_ = 0;
};

nlohmann::json jsonOf(const ScalarValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  const double number = std::get<double>(value);
  return std::isfinite(number) ? nlohmann::json(number) : nlohmann::json(numberText(number));
}

nlohmann::json rowsOf(const DenseElements& elements, std::span<const int64_t> sizes, int64_t& next) {
  if (sizes.empty()) return jsonOf(elements.at(next++));
  nlohmann::json rows = nlohmann::json::array();
  for (int64_t i = 0; i < sizes[0]; ++i) rows.push_back(rowsOf(elements, sizes.subspan(1), next));
  return rows;
}

}  // namespace

TensorStatistics statisticsOf(const Tensor& tensor) {
  const DenseElements elements(tensor);
  TensorStatistics result;
  double sum = 0;
  for (int64_t i = 0; i < elements.count(); ++i) {
    const ScalarValue element = elements.at(i);
    const double value = asDouble(element);
    if (std::isnan(value)) {
      ++result.nans;
      continue;
    }
    sum += value;
    result.min = std::min(result.min.value_or(value), value);
    result.max = std::max(result.max.value_or(value), value);
  }
  const int64_t numbers = elements.count() - result.nans;
  if (numbers > 0) result.mean = sum / static_cast<double>(numbers);
  return result;
}

std::string numberText(double number) { return std::isnan(number) ? "nan" : fmt::format("{:.6g}", number); }

std::string valuesText(const Tensor& tensor) { return RowWriter(tensor).text(); }

nlohmann::json valuesJson(const Tensor& tensor) {
  if (tensor.numel() > kMostElements) return nullptr;
  int64_t next = 0;
  return rowsOf(DenseElements(tensor), tensor.sizes(), next);
}

uint64_t checksumOf(const Tensor& tensor) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::byte byte : denseBytes(tensor)) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace tokamak::tools
