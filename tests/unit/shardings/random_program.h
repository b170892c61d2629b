// Random programs with random marks, and a model of what each op reads that knows nothing of element rules.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "ir/fusion.h"
#include "schedule/set_device_mesh.h"
#include "schedule/transforms.h"

namespace tokamak::test {

using Index = std::vector<int64_t>;
/// Told which element of which tensor (by its number) is read.
using Read = std::function<void(size_t tensor, const Index& index)>;

struct ModelTensor {
  Index shape;
  std::string statement;  ///< with {0}, {1}, ... for the names of the operands; empty of an input
  std::string dtype = "f32";
  std::vector<size_t> operands;
  std::function<void(const Index& element, const Read& read)> reads;
};

/// Calls `visit` with every index of the shape.
inline void forEachIndex(const Index& shape, const std::function<void(const Index&)>& visit) {
  Index index(shape.size(), 0);
  if (std::ranges::find(shape, 0) != shape.end()) return;
  for (;;) {
    visit(index);
    size_t axis = shape.size();
    while (axis-- > 0 && ++index[axis] == shape[axis]) index[axis] = 0;
    if (axis == static_cast<size_t>(-1)) return;
  }
}

class RandomProgram {
 public:
  explicit RandomProgram(std::mt19937_64& random) : random_(random) {
    for (int64_t i = 1 + below(2); i-- > 0;) input(shape());
    for (int64_t i = 2 + below(8); i-- > 0;) append();
  }

  const std::vector<ModelTensor>& tensors() const { return tensors_; }

  /// The program with these names. Every result that nobody reads is an output.
  std::string text(const std::vector<std::string>& names) const {
    std::vector<bool> is_read(tensors_.size(), false);
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    std::string body;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const ModelTensor& tensor = tensors_[i];
      if (tensor.reads == nullptr) {
        inputs.push_back(fmt::format("{}: {}[{}]", names[i], tensor.dtype, joined(tensor.shape)));
        continue;
      }
      std::string call = tensor.statement;
      for (size_t k = 0; k < tensor.operands.size(); ++k) {
        is_read[tensor.operands[k]] = true;
        const std::string hole = fmt::format("${}", k);
        for (size_t at = call.find(hole); at != std::string::npos; at = call.find(hole))
          call.replace(at, hole.size(), names[tensor.operands[k]]);
      }
      body += fmt::format("  {} = {}\n", names[i], call);
    }
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (!is_read[i] && tensors_[i].reads != nullptr) outputs.push_back(names[i]);
    }
    return fmt::format("fusion f({}) -> ({}) {{\n{}}}\n", joined(inputs), joined(outputs), body);
  }

 private:
  int64_t below(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
  size_t any() { return static_cast<size_t>(below(std::ssize(tensors_))); }
  const Index& shapeOf(size_t tensor) const { return tensors_[tensor].shape; }

  Index shape() {
    Index sizes(static_cast<size_t>(1 + below(3)));
    for (int64_t& size : sizes) size = 2 + below(5);
    return sizes;
  }

  size_t input(Index shape, std::string dtype = "f32") {
    tensors_.push_back(
        {.shape = std::move(shape), .statement = {}, .dtype = std::move(dtype), .operands = {}, .reads = {}});
    return tensors_.size() - 1;
  }

  // A tensor of the shape: one that is there, or an input.
  size_t of(const Index& shape, const std::string& dtype = "f32") {
    std::vector<size_t> fitting;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].shape == shape && tensors_[i].dtype == dtype) fitting.push_back(i);
    }
    if (fitting.empty() || below(3) == 0) return input(shape, dtype);
    return fitting[static_cast<size_t>(below(std::ssize(fitting)))];
  }

  void result(Index shape, std::string statement, std::vector<size_t> operands,
              std::function<void(const Index&, const Read&)> reads) {
    tensors_.push_back({.shape = std::move(shape),
                        .statement = std::move(statement),
                        .operands = std::move(operands),
                        .reads = std::move(reads)});
  }

  void append() {
    size_t x = any();
    while (tensors_[x].dtype != "f32") x = any();
    const auto rank = std::ssize(shapeOf(x));
    const int64_t axis = below(rank);
    switch (below(14)) {
      case 0: return elementwise(x);
      case 1: return sum(x, axis);
      case 2: return permute(x);
      case 3: return flip(x, axis);
      case 4: return slice(x, axis);
      case 5: return pad(x, axis);
      case 6: return cat(x, axis);
      case 7:
      case 8: return reshape(x);
      case 9: return matmul(x);
      case 10: return linear(x);
      case 11: return take(x, axis);
      case 12: return select(x, axis);
      default: return unsqueeze(x, below(rank + 1));
    }
  }

  // Of two tensors one of which may have ones.
  void elementwise(size_t x) {
    const Index out = shapeOf(x);
    if (below(3) == 0) return result(out, "neg($0)", {x}, [x](const Index& at, const Read& read) { read(x, at); });
    Index narrow = out;
    if (below(3) == 0) narrow[static_cast<size_t>(below(std::ssize(narrow)))] = 1;
    const size_t z = of(narrow);
    result(out, "add($0, $1)", {x, z}, [x, z, out, narrow](const Index& at, const Read& read) {
      read(x, at);
      Index other = at;
      for (size_t i = 0; i < other.size(); ++i) {
        if (narrow[i] == 1) other[i] = 0;
      }
      read(z, other);
    });
  }

  void sum(size_t x, int64_t axis) {
    Index out = shapeOf(x);
    if (out.size() == 1) return;
    const int64_t size = out[static_cast<size_t>(axis)];
    out.erase(out.begin() + axis);
    result(out, fmt::format("sum($0, axes=[{}])", axis), {x}, [=](const Index& at, const Read& read) {
      for (int64_t i = 0; i < size; ++i) {
        Index from = at;
        from.insert(from.begin() + axis, i);
        read(x, from);
      }
    });
  }

  void permute(size_t x) {
    std::vector<int64_t> order(shapeOf(x).size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::ranges::shuffle(order, random_);
    Index out;
    for (const int64_t from : order) out.push_back(shapeOf(x)[static_cast<size_t>(from)]);
    result(out, fmt::format("permute($0, order=[{}])", joined(order)), {x}, [=](const Index& at, const Read& read) {
      Index from(at.size());
      for (size_t i = 0; i < at.size(); ++i) from[static_cast<size_t>(order[i])] = at[i];
      read(x, from);
    });
  }

  // A tensor of this shape whose elements are read along the axis at `from(i)`; nothing where that is negative.
  void along(size_t x, int64_t axis, int64_t size, std::string statement, std::function<int64_t(int64_t)> from) {
    Index out = shapeOf(x);
    out[static_cast<size_t>(axis)] = size;
    result(out, std::move(statement), {x}, [=](const Index& at, const Read& read) {
      Index index = at;
      index[static_cast<size_t>(axis)] = from(at[static_cast<size_t>(axis)]);
      if (index[static_cast<size_t>(axis)] >= 0) read(x, index);
    });
  }

  void flip(size_t x, int64_t axis) {
    const int64_t size = shapeOf(x)[static_cast<size_t>(axis)];
    along(x, axis, size, fmt::format("flip($0, axes=[{}])", axis), [size](int64_t i) { return size - 1 - i; });
  }

  void slice(size_t x, int64_t axis) {
    const int64_t size = shapeOf(x)[static_cast<size_t>(axis)];
    if (size < 4) return;
    const int64_t start = below(2);
    const int64_t step = 1 + below(2);
    along(x, axis, (size - start + step - 1) / step,
          fmt::format("slice($0, axis={}, start={}, stop={}, step={})", axis, start, size, step),
          [=](int64_t i) { return start + i * step; });
  }

  void pad(size_t x, int64_t axis) {
    const int64_t before = below(3);
    const int64_t size = shapeOf(x)[static_cast<size_t>(axis)];
    std::vector<int64_t> widths(2 * shapeOf(x).size(), 0);
    widths[static_cast<size_t>(2 * axis)] = before;
    widths[static_cast<size_t>(2 * axis + 1)] = 1;
    along(x, axis, before + size + 1, fmt::format("pad($0, widths=[{}])", joined(widths)),
          [=](int64_t i) { return i >= before && i < before + size ? i - before : -1; });
  }

  void cat(size_t x, int64_t axis) {
    Index other = shapeOf(x);
    other[static_cast<size_t>(axis)] = 1 + below(4);
    if (other[static_cast<size_t>(axis)] == 1) ++other[static_cast<size_t>(axis)];
    const size_t z = of(other);
    const int64_t size = shapeOf(x)[static_cast<size_t>(axis)];
    Index out = shapeOf(x);
    out[static_cast<size_t>(axis)] += other[static_cast<size_t>(axis)];
    result(out, fmt::format("cat([$0, $1], axis={})", axis), {x, z}, [=](const Index& at, const Read& read) {
      Index from = at;
      int64_t& position = from[static_cast<size_t>(axis)];
      const bool is_first = position < size;
      if (!is_first) position -= size;
      read(is_first ? x : z, from);
    });
  }

  void reshape(size_t x) {
    const Index in = shapeOf(x);
    int64_t count = 1;
    for (const int64_t size : in) count *= size;
    if (count > 60) return;
    Index out;
    int64_t rest = count;
    while (rest > 1 && out.size() < 3) {
      std::vector<int64_t> divisors;
      for (int64_t d = 2; d <= rest; ++d) {
        if (rest % d == 0) divisors.push_back(d);
      }
      out.push_back(out.size() == 2 ? rest : divisors[static_cast<size_t>(below(std::ssize(divisors)))]);
      rest /= out.back();
    }
    if (out.empty()) return;
    result(out, fmt::format("reshape($0, shape=[{}])", joined(out)), {x}, [=](const Index& at, const Read& read) {
      int64_t position = 0;
      for (size_t i = 0; i < at.size(); ++i) position = position * out[i] + at[i];
      Index from(in.size());
      for (size_t i = in.size(); i-- > 0;) {
        from[i] = position % in[i];
        position /= in[i];
      }
      read(x, from);
    });
  }

  void matmul(size_t a) {
    if (shapeOf(a).size() < 2 || std::ranges::find(shapeOf(a), 1) != shapeOf(a).end()) return;
    const int64_t k = shapeOf(a).back();
    const size_t b = of({k, 2 + below(4)});
    Index out = shapeOf(a);
    out.back() = shapeOf(b).back();
    result(out, "matmul($0, $1)", {a, b}, [=](const Index& at, const Read& read) {
      for (int64_t i = 0; i < k; ++i) {
        Index row = at;
        row.back() = i;
        read(a, row);
        read(b, {i, at.back()});
      }
    });
  }

  void linear(size_t x) {
    if (shapeOf(x).size() < 2 || std::ranges::find(shapeOf(x), 1) != shapeOf(x).end()) return;
    const int64_t k = shapeOf(x).back();
    const size_t w = of({2 + below(4), k});
    const size_t bias = of({shapeOf(w)[0]});
    Index out = shapeOf(x);
    out.back() = shapeOf(w)[0];
    result(out, "linear($0, $1, bias=$2)", {x, w, bias}, [=](const Index& at, const Read& read) {
      for (int64_t i = 0; i < k; ++i) {
        Index row = at;
        row.back() = i;
        read(x, row);
        read(w, {at.back(), i});
      }
      read(bias, {at.back()});
    });
  }

  // What is chosen is not known: any position of the axis.
  void take(size_t x, int64_t axis) {
    Index out = shapeOf(x);
    const int64_t size = out[static_cast<size_t>(axis)];
    if (std::ranges::find(out, 1) != out.end()) return;
    out[static_cast<size_t>(axis)] = 2 + below(3);
    const size_t index = of(out, "i64");
    result(out, fmt::format("take_along_axis($0, $1, axis={})", axis), {x, index},
           [=](const Index& at, const Read& read) {
             read(index, at);
             for (int64_t i = 0; i < size; ++i) {
               Index from = at;
               from[static_cast<size_t>(axis)] = i;
               read(x, from);
             }
           });
  }

  void select(size_t x, int64_t axis) {
    Index out = shapeOf(x);
    if (out.size() == 1) return;
    const int64_t position = below(out[static_cast<size_t>(axis)]);
    out.erase(out.begin() + axis);
    result(out, fmt::format("select($0, axis={}, index={})", axis, position), {x},
           [=](const Index& at, const Read& read) {
             Index from = at;
             from.insert(from.begin() + axis, position);
             read(x, from);
           });
  }

  void unsqueeze(size_t x, int64_t axis) {
    Index out = shapeOf(x);
    if (out.size() == 3) return;
    out.insert(out.begin() + axis, 1);
    result(out, fmt::format("unsqueeze($0, axis={})", axis), {x}, [=](const Index& at, const Read& read) {
      Index from = at;
      from.erase(from.begin() + axis);
      read(x, from);
    });
  }

  std::mt19937_64& random_;
  std::vector<ModelTensor> tensors_;
};

}  // namespace tokamak::test
