#include <algorithm>
#include <utility>

#include "base/require.h"
#include "loops/lane_casts.h"
#include "loops/lane_formulas.h"
#include "symbolic/formulas.h"

namespace tokamak {

namespace {

struct SumOf {
  template <class A>
  static A identity() {
    return A(0);
  }
  template <class A>
  TK_LANES static A ofElements(A x, A y) {
    return formula::add(x, y);
  }
  template <class V>
  TK_LANES static V ofLanes(V x, V y) {
    return lanes::add(x, y);
  }
};

struct ProductOf {
  template <class A>
  static A identity() {
    return A(1);
  }
  template <class A>
  TK_LANES static A ofElements(A x, A y) {
    return formula::multiply(x, y);
  }
  template <class V>
  TK_LANES static V ofLanes(V x, V y) {
    return lanes::multiply(x, y);
  }
};

template <class A, bool is_max>
A extremeIdentity() {
  using Limits = std::numeric_limits<A>;
  if constexpr (Limits::has_infinity)
    return is_max ? -Limits::infinity() : Limits::infinity();
  else
    return is_max ? Limits::lowest() : Limits::max();
}

struct LargestOf {
  template <class A>
  static A identity() {
    return extremeIdentity<A, true>();
  }
  template <class A>
  TK_LANES static A ofElements(A x, A y) {
    return formula::larger(x, y);
  }
  template <class V>
  TK_LANES static V ofLanes(V x, V y) {
    return lanes::larger(x, y);
  }
};

struct SmallestOf {
  template <class A>
  static A identity() {
    return extremeIdentity<A, false>();
  }
  template <class A>
  TK_LANES static A ofElements(A x, A y) {
    return formula::smaller(x, y);
  }
  template <class V>
  TK_LANES static V ofLanes(V x, V y) {
    return lanes::smaller(x, y);
  }
};

// Of elements or of vectors of them.
template <class Op, class A>
TK_LANES A combine(A x, A y) {
  if constexpr (std::is_arithmetic_v<A>)
    return Op::ofElements(x, y);
  else
    return Op::ofLanes(x, y);
}

// Of f64 there is no wider type: what rounding loses of a sum is kept beside it, so that its error does not grow with
// the number of terms.
template <class T, class Op>
inline constexpr bool kKeepsLosses = std::is_same_v<T, double> && std::is_same_v<Op, SumOf>;

// Beside each accumulator, so many bytes behind it.
double* lossesOf(void* accumulators, int64_t distance) {
  return reinterpret_cast<double*>(static_cast<char*>(accumulators) + distance);
}
const double* lossesOf(const void* accumulators, int64_t distance) {
  return reinterpret_cast<const double*>(static_cast<const char*>(accumulators) + distance);
}

// Adds x to the sum and what rounding loses, exactly (D. E. Knuth's two-sum), to the losses. Elements or vectors.
template <class V>
TK_LANES void addKeeping(V& sum, V& losses, V x) {
  const V total = sum + x;
  const V part = total - sum;
  losses = losses + ((sum - (total - part)) + (x - part));
  sum = total;
}

template <class T, class A, class Op>
struct Start {
  template <int64_t bytes>
  TK_LANES static void fill(A* a, A value, int64_t n) {
    constexpr int64_t count = lanes::kLaneCount<bytes, A>;
    const auto identity = lanes::splat<lanes::Vector<A, count>>(value);
    int64_t i = 0;
    for (; i + count <= n; i += count) lanes::store(a + i, identity);
    for (; i < n; ++i) a[i] = value;
  }
  template <int64_t bytes>
  TK_LANES static void run(void* accumulators, int64_t distance, int64_t n) {
    fill<bytes>(static_cast<A*>(accumulators), Op::template identity<A>(), n);
    if constexpr (kKeepsLosses<T, Op>) {
      if (distance != 0) fill<bytes>(lossesOf(accumulators, distance), 0.0, n);
    }
  }
};

template <class T, class A, class Op>
struct AddEach {
  template <int64_t bytes>
  TK_LANES static void run(void* accumulators, const void* in, int64_t n) {
    auto* const a = static_cast<A*>(accumulators);
    const auto* const x = static_cast<const T*>(in);
    constexpr int64_t count = lanes::kLaneCount<bytes, A, T>;
    int64_t i = 0;
    for (; i + count <= n; i += count) {
      const auto added = lanes::converted<A, T>(lanes::load<T, count>(x + i));
      lanes::store(a + i, combine<Op>(lanes::load<A, count>(a + i), added));
    }
    for (; i < n; ++i) a[i] = combine<Op>(a[i], static_cast<A>(x[i]));
  }
};

// Of f32 so many numbers that lie apart are added in f32 first, as a tree of three levels: conversions take longer than
// memory.
template <class T, class Op>
inline constexpr bool kAddsTrees = std::is_same_v<T, float> && std::is_same_v<Op, SumOf>;

// number(0), ..., number(7), elements or vectors.
template <class Number>
TK_LANES auto treeOf(const Number& number) {
  return ((number(0) + number(1)) + (number(2) + number(3))) + ((number(4) + number(5)) + (number(6) + number(7)));
}

template <class T, class A, class Op>
struct AddRows {
  static constexpr int64_t kRows = ReductionLoops::kRows;
  static_assert(kRows == 8, "as many as a tree has");

  template <int64_t bytes>
  TK_LANES static void run(void* accumulators, const void* first, int64_t stride, int64_t n) {
    auto* const a = static_cast<A*>(accumulators);
    constexpr int64_t count = lanes::kLaneCount<bytes, A, T>;
    const auto* const rows = static_cast<const char*>(first);
    int64_t i = 0;
    for (; i + count <= n; i += count)
      lanes::store(a + i, addedTo<count>(lanes::load<A, count>(a + i), rows + i * sizeof(T), stride));
    for (; i < n; ++i) a[i] = addedTo(a[i], rows + i * sizeof(T), stride);
  }

 private:
  template <int64_t count, class V>
  TK_LANES static V addedTo(V sum, const char* rows, int64_t stride) {
    const auto number = [&](int64_t row) {
      return lanes::load<T, count>(reinterpret_cast<const T*>(rows + row * stride));
    };
    if constexpr (kAddsTrees<T, Op>) {
      sum = combine<Op>(sum, lanes::converted<A, T>(treeOf(number)));
    } else {
      for (int64_t row = 0; row < kRows; ++row) sum = combine<Op>(sum, lanes::converted<A, T>(number(row)));
    }
    return sum;
  }
  TK_LANES static A addedTo(A sum, const char* rows, int64_t stride) {
    const auto number = [&](int64_t row) { return *reinterpret_cast<const T*>(rows + row * stride); };
    if constexpr (kAddsTrees<T, Op>) {
      sum = combine<Op>(sum, static_cast<A>(treeOf(number)));
    } else {
      for (int64_t row = 0; row < kRows; ++row) sum = combine<Op>(sum, static_cast<A>(number(row)));
    }
    return sum;
  }
};

template <class T, class A, class Op>
struct Merge {
  template <int64_t bytes>
  TK_LANES static void run(void* accumulators, int64_t distance, const void* others, int64_t others_distance,
                           int64_t n) {
    if constexpr (!kKeepsLosses<T, Op>) {
      AddEach<A, A, Op>::template run<bytes>(accumulators, others, n);
    } else {
      auto* const a = static_cast<double*>(accumulators);
      const auto* const x = static_cast<const double*>(others);
      double* const losses = lossesOf(accumulators, distance);
      constexpr int64_t count = lanes::kLaneCount<bytes, double>;
      int64_t i = 0;
      for (; i + count <= n; i += count) {
        auto sum = lanes::load<double, count>(a + i);
        auto lost = lanes::load<double, count>(losses + i);
        addKeeping(sum, lost, lanes::load<double, count>(x + i));
        lanes::store(a + i, sum);
        lanes::store(losses + i, lost);
      }
      for (; i < n; ++i) addKeeping(a[i], losses[i], x[i]);
      if (others_distance == 0) return;
      const double* const more = lossesOf(others, others_distance);
      for (int64_t k = 0; k < n; ++k) losses[k] += more[k];
    }
  }
};

// So many running results, for vectors of every width, hide the latency of one operation; they are combined as a tree.
template <class T, class A, class Op>
struct AddAll {
  static constexpr int64_t kResults = ReductionLoops::kResults;
  // A reduction of a row only reads: memory that is asked for so far ahead comes half as fast again to one thread. What
  // lies behind the end may be asked for, too.
  static constexpr int64_t kAheadBytes = kAddsTrees<T, Op> ? 4096 : 2048;
  // Trees of f32 take every line faster than the processor asks by itself; others lose by asking for each.
  static constexpr int64_t kAskedBytes = kAddsTrees<T, Op> ? 64 : kResults * sizeof(T);
  // Elements after which results are combined, where rounding errors would add up.
  static constexpr int64_t kBlock = 1024;

  template <int64_t bytes>
  TK_LANES static void run(void* accumulator, int64_t distance, const void* in, int64_t n) {
    auto* const a = static_cast<A*>(accumulator);
    const auto* const x = static_cast<const T*>(in);
    if constexpr (kKeepsLosses<T, Op>) {
      double* const losses = lossesOf(accumulator, distance);
      for (int64_t i = 0; i < n; i += kBlock) addKeeping(*a, *losses, ofBlock<bytes>(x + i, std::min(kBlock, n - i)));
    } else {
      *a = combine<Op>(*a, ofBlock<bytes>(x, n));
    }
  }

 private:
  template <int64_t bytes>
  TK_LANES static A ofBlock(const T* x, int64_t n) {
    constexpr int64_t count = std::min(kResults, lanes::kLaneCount<bytes, A, T>);
    A results[kResults];
    int64_t i = addWhole<count>(results, x, n, std::make_index_sequence<kResults / count>());
    int64_t width = i == n ? count / 2 : kResults / 2;
    for (int64_t j = 0; i < n; ++i, ++j) results[j] = combine<Op>(results[j], static_cast<A>(x[i]));
    for (; width > 0; width /= 2) {
      for (int64_t j = 0; j < width; ++j) results[j] = combine<Op>(results[j], results[j + width]);
    }
    return results[0];
  }

  static constexpr int64_t kTogether = kAddsTrees<T, Op> ? 8 : 1;

  template <int64_t count>
  TK_LANES static auto of(const T* x) {
    const auto number = [x](int64_t i) { return lanes::load<T, count>(x + i * kResults); };
    if constexpr (kTogether == 1)
      return lanes::converted<A, T>(number(0));
    else
      return lanes::converted<A, T>(treeOf(number));
  }

  // Whole groups of elements; the number added. A vector is named by its number p, so that it stays in a register.
  template <int64_t count, size_t... p>
  TK_LANES static int64_t addWhole(A* results, const T* x, int64_t n, std::index_sequence<p...>) {
    using V = lanes::Vector<A, count>;
    V parts[] = {(static_cast<void>(p), lanes::splat<V>(Op::template identity<A>()))...};
    int64_t i = 0;
    for (; i + kTogether * kResults <= n; i += kTogether * kResults) {
      for (int64_t line = 0; line < kTogether * kResults * int64_t{sizeof(T)}; line += kAskedBytes)
        __builtin_prefetch(reinterpret_cast<const char*>(x + i) + line + kAheadBytes);
      ((parts[p] = combine<Op>(parts[p], of<count>(x + i + count * p))), ...);
    }
    if constexpr (kTogether > 1) {
      for (; i + kResults <= n; i += kResults)
        ((parts[p] = combine<Op>(parts[p], lanes::converted<A, T>(lanes::load<T, count>(x + i + count * p)))), ...);
    }
    if (i == n)  // the first levels of the tree, on vectors
      lanes::store(results, treeOfParts<sizeof...(p)>(parts));
    else
      (lanes::store(results + count * p, parts[p]), ...);
    return i;
  }

  template <size_t parts_left, class V>
  TK_LANES static V treeOfParts(V* parts) {
    if constexpr (parts_left == 1) {
      return parts[0];
    } else {
      combineHalves<V>(parts, std::make_index_sequence<parts_left / 2>());
      return treeOfParts<parts_left / 2>(parts);
    }
  }
  template <class V, size_t... p>
  TK_LANES static void combineHalves(V* parts, std::index_sequence<p...>) {
    ((parts[p] = combine<Op>(parts[p], parts[p + sizeof...(p)])), ...);
  }
};

template <class T, class A, class Op>
struct Finish {
  template <int64_t bytes>
  TK_LANES static void run(void* out, const void* accumulators, int64_t distance, int64_t n) {
    const auto* const a = static_cast<const A*>(accumulators);
    auto* const to = static_cast<T*>(out);
    if constexpr (kKeepsLosses<T, Op>) {
      const double* const losses = lossesOf(accumulators, distance);
      // The losses of what is not finite say nothing.
      for (int64_t i = 0; i < n; ++i) to[i] = a[i] - a[i] == 0 ? a[i] + losses[i] : a[i];
    } else {
      constexpr int64_t count = lanes::kLaneCount<bytes, A, T>;
      int64_t i = 0;
      for (; i + count <= n; i += count) {
        lanes::store(to + i, lanes::converted<T, A>(lanes::load<A, count>(a + i)));
      }
      for (; i < n; ++i) to[i] = formula::convert<T>(a[i]);
    }
  }
};

// T: the elements' type; A: the accumulators'.
template <class T, class A, class Op, VectorWidth width>
inline constexpr ReductionLoops kLoops{sizeof(A),
                                       kKeepsLosses<T, Op>,
                                       lanes::loopOf<Start<T, A, Op>, decltype(ReductionLoops::start)>(width),
                                       lanes::loopOf<AddEach<T, A, Op>, decltype(ReductionLoops::add_each)>(width),
                                       lanes::loopOf<AddRows<T, A, Op>, decltype(ReductionLoops::add_rows)>(width),
                                       lanes::loopOf<AddAll<T, A, Op>, decltype(ReductionLoops::add_all)>(width),
                                       lanes::loopOf<Merge<T, A, Op>, decltype(ReductionLoops::merge)>(width),
                                       lanes::loopOf<Finish<T, A, Op>, decltype(ReductionLoops::finish)>(width)};

template <class T, class A, class Op>
const ReductionLoops& loopsOfWidth(VectorWidth width) {
  return width == VectorWidth::Wide ? kLoops<T, A, Op, VectorWidth::Wide> : kLoops<T, A, Op, VectorWidth::Narrow>;
}

template <class T>
const ReductionLoops& loopsOf(ReductionKind kind, VectorWidth width) {
  // Products too: a long one in f32 would lose a bit for every few factors.
  using Wide = std::conditional_t<std::is_same_v<T, bool>, int64_t, T>;
  using A = std::conditional_t<std::is_floating_point_v<T>, double, Wide>;
  switch (kind) {
    case ReductionKind::Sum: return loopsOfWidth<T, A, SumOf>(width);
    case ReductionKind::Prod: return loopsOfWidth<T, A, ProductOf>(width);
    case ReductionKind::Max: return loopsOfWidth<T, T, LargestOf>(width);
    case ReductionKind::Min: return loopsOfWidth<T, T, SmallestOf>(width);
  }
  TK_RAISE(Internal, "no such reduction");
}

}  // namespace

const ReductionLoops& reductionLoops(ReductionKind kind, DataType dtype, VectorWidth width) {
  switch (dtype) {
    case DataType::F64: return loopsOf<double>(kind, width);
    case DataType::F32: return loopsOf<float>(kind, width);
    case DataType::I32: return loopsOf<int32_t>(kind, width);
    case DataType::I64: return loopsOf<int64_t>(kind, width);
    case DataType::Bool: return loopsOf<bool>(kind, width);
    default: TK_RAISE(Internal, "a reduction in {}", dataTypeName(dtype));
  }
}

}  // namespace tokamak
