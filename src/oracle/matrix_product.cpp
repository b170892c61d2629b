#include "oracle/matrix_product.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "oracle/dot.h"
#include "oracle/line_products.h"
#include "oracle/parallel.h"

namespace tokamak::oracle {

namespace {

// Below so many products nobody waits for a Dot each.
constexpr int64_t kFewProducts = 1 << 16;
constexpr int64_t kRowsPerPart = 8 * kRowsAtOnce;
constexpr int64_t kPanel = Panels<double>::kPanel;

const Element& at(const Lines& lines, int64_t line, int64_t position) {
  return lines.elements[static_cast<size_t>(line * lines.stride + position * lines.inner_stride)];
}

Element dotOf(const ProductTypes& types, Mode mode, const Lines& a, const Lines& b, int64_t i, int64_t j,
              const Element* bias) {
  Dot dot(types.operands, types.result, mode);
  for (int64_t k = 0; k < a.inner; ++k) dot.add(at(a, i, k), at(b, j, k));
  return dot.finish(bias);
}

int64_t roundedUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

// One number of each element of the left lines, line after line, with zeros up to a whole number of kRowsAtOnce.
template <class T, class Number>
std::vector<T> packRows(const Lines& lines, const Number& number) {
  std::vector<T> rows(static_cast<size_t>(roundedUp(lines.count, kRowsAtOnce) * lines.inner));
  for (int64_t i = 0; i < lines.count; ++i) {
    for (int64_t k = 0; k < lines.inner; ++k)
      rows[static_cast<size_t>(i * lines.inner + k)] = static_cast<T>(number(at(lines, i, k)));
  }
  return rows;
}

template <class T, class Number>
Panels<T> packPanels(const Lines& lines, const Number& number) {
  Panels<T> panels(lines.count, lines.inner);
  for (int64_t j = 0; j < lines.count; ++j) {
    for (int64_t k = 0; k < lines.inner; ++k) panels.set(j, k, static_cast<T>(number(at(lines, j, k))));
  }
  return panels;
}

double valueOf(const Element& element) { return element.number; }
double sizeOf(const Element& element) { return std::fabs(element.number); }
double reachOf(const Element& element) { return std::fabs(element.number) + boundOf(element); }

// What is asked about whole lines before their products are taken.
struct LineFacts {
  std::vector<char> is_regular;  // every number and every bound is finite
  std::vector<int> quanta;       // per element: the multiple of 2^quantum it is; large for 0
  bool has_bounds = false;
};
constexpr int kZeroQuantum = 1 << 20;

LineFacts factsOf(const Lines& lines) {
  LineFacts facts{.is_regular = std::vector<char>(static_cast<size_t>(lines.count), 1), .quanta = {}};
  facts.quanta.reserve(static_cast<size_t>(lines.count * lines.inner));
  for (int64_t i = 0; i < lines.count; ++i) {
    for (int64_t k = 0; k < lines.inner; ++k) {
      const Element& element = at(lines, i, k);
      const bool is_finite = std::isfinite(element.number) && std::isfinite(element.bound);
      if (!is_finite) facts.is_regular[static_cast<size_t>(i)] = 0;
      facts.has_bounds = facts.has_bounds || boundOf(element) > 0;
      facts.quanta.push_back(is_finite && element.number != 0 ? quantumOf(element.number) : kZeroQuantum);
    }
  }
  return facts;
}

// The quantum that all products of two lines share, unless products of such a sum of magnitudes can round in f32.
std::optional<int> exactQuantum(std::span<const int> a, std::span<const int> b, double magnitude) {
  const FloatFormat format = formatOf(DataType::F32);
  int exponent = 0;
  const int log_two = std::frexp(magnitude, &exponent) == 0.5 ? exponent - 1 : exponent;
  const int needed = std::max(log_two - format.precision, format.min_exponent - format.precision + 1);
  int quantum = 2 * kZeroQuantum;
  for (size_t k = 0; k < a.size(); ++k) {
    quantum = std::min(quantum, a[k] + b[k]);
    if (quantum < needed) return std::nullopt;
  }
  return quantum;
}

class ExactProduct {
 public:
  ExactProduct(const ProductTypes& types, const Lines& a, const Lines& b, std::span<const Element> bias,
               std::span<Element> out)
      : types_(types), a_(a), b_(b), bias_(bias), out_(out), a_facts_(factsOf(a)), b_facts_(factsOf(b)) {
    const auto regular = [](const auto& number) {
      return [number](const Element& e) { return std::isfinite(e.number) && std::isfinite(e.bound) ? number(e) : 0; };
    };
    a_values_ = packRows<double>(a, regular(valueOf));
    a_sizes_ = packRows<double>(a, regular(sizeOf));
    b_values_ = packPanels<double>(b, regular(valueOf));
    b_sizes_ = packPanels<double>(b, regular(sizeOf));
    // |ab - a'b'| <= bound(a) (|b| + bound(b)) + |a| bound(b)
    if (a_facts_.has_bounds) {
      a_bounds_ = packRows<double>(a, regular(boundOf));
      b_reaches_ = packPanels<double>(b, regular(reachOf));
    }
    if (b_facts_.has_bounds) b_bounds_ = packPanels<double>(b, regular(boundOf));
  }

  // Rows [first, first + kRowsAtOnce) times all lines of b.
  void multiplyRows(int64_t first) const {
    constexpr size_t kBlock = kRowsAtOnce * kPanel;
    double sums[kBlock];
    double magnitudes[kBlock];
    double bounds[kBlock];
    double more[kBlock];
    const size_t offset = static_cast<size_t>(first * a_.inner);
    for (int64_t p = 0; p < b_values_.panelCount(); ++p) {
      sumProducts(a_values_.data() + offset, b_values_.panel(p), a_.inner, sums);
      sumProducts(a_sizes_.data() + offset, b_sizes_.panel(p), a_.inner, magnitudes);
      std::ranges::fill(bounds, 0.0);
      if (a_facts_.has_bounds) sumProducts(a_bounds_.data() + offset, b_reaches_.panel(p), a_.inner, bounds);
      if (b_facts_.has_bounds) {
        sumProducts(a_sizes_.data() + offset, b_bounds_.panel(p), a_.inner, more);
        for (size_t n = 0; n < kBlock; ++n) bounds[n] += more[n];
      }
      for (int64_t i = first; i < std::min(first + kRowsAtOnce, a_.count); ++i) {
        for (int64_t j = p * kPanel; j < std::min((p + 1) * kPanel, b_.count); ++j) {
          const auto n = static_cast<size_t>((i - first) * kPanel + j - p * kPanel);
          out_[static_cast<size_t>(i * b_.count + j)] = element(i, j, sums[n], magnitudes[n], bounds[n]);
        }
      }
    }
  }

 private:
  Element element(int64_t i, int64_t j, double sum, double magnitude, double bound) const {
    const Element* bias = bias_.empty() ? nullptr : &bias_[static_cast<size_t>(j)];
    const bool is_regular =
        a_facts_.is_regular[static_cast<size_t>(i)] != 0 && b_facts_.is_regular[static_cast<size_t>(j)] != 0;
    if (!is_regular || magnitude == 0) return dotOf(types_, Mode::exact(), a_, b_, i, j, bias);
    Summation::Collected products{.count = a_.inner, .sum = sum, .magnitude = magnitude, .bound = bound};
    const auto quantum = bound > 0 ? std::nullopt : exactQuantum(lineOf(a_facts_, i), lineOf(b_facts_, j), magnitude);
    if (quantum)
      products.quantum = *quantum;
    else
      products.bound += static_cast<double>(a_.inner + 2) * 0x1p-52 * (magnitude + bound);  // the sums' own roundings
    Dot dot(types_.operands, types_.result, Mode::exact());
    dot.take(products);
    return dot.finish(bias);
  }
  std::span<const int> lineOf(const LineFacts& facts, int64_t line) const {
    return std::span(facts.quanta).subspan(static_cast<size_t>(line * a_.inner), static_cast<size_t>(a_.inner));
  }

  ProductTypes types_;
  const Lines& a_;
  const Lines& b_;
  std::span<const Element> bias_;
  std::span<Element> out_;
  LineFacts a_facts_;
  LineFacts b_facts_;
  std::vector<double> a_values_;
  std::vector<double> a_sizes_;
  std::vector<double> a_bounds_;
  Panels<double> b_values_{0, 0};
  Panels<double> b_sizes_{0, 0};
  Panels<double> b_bounds_{0, 0};
  Panels<double> b_reaches_{0, 0};
};

void multiplyExact(const ProductTypes& types, const Lines& a, const Lines& b, std::span<const Element> bias,
                   std::span<Element> out) {
  const ExactProduct product(types, a, b, bias, out);
  forEachPart(roundedUp(a.count, kRowsPerPart) / kRowsPerPart, [&](int64_t part) {
    const int64_t end = std::min((part + 1) * kRowsPerPart, a.count);
    for (int64_t row = part * kRowsPerPart; row < end; row += kRowsAtOnce) product.multiplyRows(row);
  });
}

void multiplyTyped(const ProductTypes& types, Mode mode, const Lines& a, const Lines& b, std::span<const Element> bias,
                   std::span<Element> out) {
  const std::vector<float> rows = packRows<float>(a, valueOf);
  const Panels<float> panels = packPanels<float>(b, valueOf);
  constexpr int64_t kWide = Panels<float>::kPanel;
  forEachPart(roundedUp(a.count, kRowsPerPart) / kRowsPerPart, [&](int64_t part) {
    float sums[kWide];
    const int64_t end = std::min((part + 1) * kRowsPerPart, a.count);
    for (int64_t p = 0; p < panels.panelCount(); ++p) {
      for (int64_t i = part * kRowsPerPart; i < end; ++i) {
        const float* const row = rows.data() + i * a.inner;
        if (mode.isVaried())
          sumProductsInBlocks(row, panels.panel(p), a.inner, static_cast<int64_t>(mode.blockOfSum()), sums);
        else
          sumProductsPairwise(row, panels.panel(p), a.inner, sums);
        for (int64_t j = p * kWide; j < std::min((p + 1) * kWide, b.count); ++j) {
          Dot dot(types.operands, types.result, mode);
          dot.take({.count = a.inner, .sum = sums[j - p * kWide]});
          out[static_cast<size_t>(i * b.count + j)] =
              dot.finish(bias.empty() ? nullptr : &bias[static_cast<size_t>(j)]);
        }
      }
    }
  });
}

}  // namespace

void multiplyLines(const ProductTypes& types, Mode mode, const Lines& a, const Lines& b, std::span<const Element> bias,
                   std::span<Element> out) {
  const bool is_f32 = isFloatingType(types.operands) && types.operands != DataType::F64;
  const bool is_large = a.count > 0 && b.count > 0 && a.inner > kFewProducts / a.count / b.count;
  if (is_f32 && is_large)
    return mode.isExact() ? multiplyExact(types, a, b, bias, out) : multiplyTyped(types, mode, a, b, bias, out);
  for (int64_t i = 0; i < a.count; ++i) {
    for (int64_t j = 0; j < b.count; ++j) {
      out[static_cast<size_t>(i * b.count + j)] =
          dotOf(types, mode, a, b, i, j, bias.empty() ? nullptr : &bias[static_cast<size_t>(j)]);
    }
  }
}

}  // namespace tokamak::oracle
