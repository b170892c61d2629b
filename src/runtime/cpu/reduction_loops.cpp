#include "base/error.h"
#include "ir/formulas.h"
#include "runtime/cpu/typed_loops.h"

namespace tokamak {

namespace {

struct SumOf {
  template <class A>
  static A identity() {
    return A(0);
  }
  template <class A>
  static A combine(A x, A y) {
    return formula::add(x, y);
  }
};

struct ProductOf {
  template <class A>
  static A identity() {
    return A(1);
  }
  template <class A>
  static A combine(A x, A y) {
    return formula::multiply(x, y);
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
  static A combine(A x, A y) {
    return formula::larger(x, y);
  }
};

struct SmallestOf {
  template <class A>
  static A identity() {
    return extremeIdentity<A, false>();
  }
  template <class A>
  static A combine(A x, A y) {
    return formula::smaller(x, y);
  }
};

// T: the elements' type; A: the accumulators'.
template <class T, class A, class Op>
struct Loops {
  static void start(void* accumulators, int64_t n) {
    auto* const a = static_cast<A*>(accumulators);
    for (int64_t i = 0; i < n; ++i) a[i] = Op::template identity<A>();
  }

  TK_PER_PROCESSOR static void addEach(void* accumulators, const void* in, int64_t n) {
    auto* const a = static_cast<A*>(accumulators);
    const auto* const x = static_cast<const T*>(in);
    TK_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) a[i] = Op::combine(a[i], static_cast<A>(x[i]));
  }

  // Sixteen running results hide the latency of one operation; they are combined as a tree.
  TK_PER_PROCESSOR static void addAll(void* accumulator, const void* in, int64_t n) {
    constexpr int64_t lanes = 16;
    const auto* const x = static_cast<const T*>(in);
    A lane[lanes];
    for (A& value : lane) value = Op::template identity<A>();
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      for (int64_t j = 0; j < lanes; ++j) lane[j] = Op::combine(lane[j], static_cast<A>(x[i + j]));
    }
    for (int64_t j = 0; i < n; ++i, ++j) lane[j] = Op::combine(lane[j], static_cast<A>(x[i]));
    for (int64_t width = lanes / 2; width > 0; width /= 2) {
      for (int64_t j = 0; j < width; ++j) lane[j] = Op::combine(lane[j], lane[j + width]);
    }
    auto* const a = static_cast<A*>(accumulator);
    *a = Op::combine(*a, lane[0]);
  }

  static void merge(void* accumulators, const void* others, int64_t n) {
    auto* const a = static_cast<A*>(accumulators);
    const auto* const b = static_cast<const A*>(others);
    for (int64_t i = 0; i < n; ++i) a[i] = Op::combine(a[i], b[i]);
  }

  static void finish(void* out, const void* accumulators, int64_t n) {
    const auto* const a = static_cast<const A*>(accumulators);
    auto* const to = static_cast<T*>(out);
    for (int64_t i = 0; i < n; ++i) to[i] = formula::convert<T>(a[i]);
  }

  static constexpr ReductionLoops kLoops{sizeof(A), start, addEach, addAll, merge, finish};
};

template <class T>
const ReductionLoops& loopsOf(ReductionKind kind) {
  // Products too: a long one in f32 would lose a bit for every few factors.
  using Wide = std::conditional_t<std::is_same_v<T, bool>, int64_t, T>;
  using A = std::conditional_t<std::is_floating_point_v<T>, double, Wide>;
  switch (kind) {
    case ReductionKind::Sum: return Loops<T, A, SumOf>::kLoops;
    case ReductionKind::Prod: return Loops<T, A, ProductOf>::kLoops;
    case ReductionKind::Max: return Loops<T, T, LargestOf>::kLoops;
    case ReductionKind::Min: return Loops<T, T, SmallestOf>::kLoops;
  }
  TK_RAISE(Internal, "no such reduction");
}

}  // namespace

const ReductionLoops& reductionLoops(ReductionKind kind, DataType dtype) {
  switch (dtype) {
    case DataType::F64: return loopsOf<double>(kind);
    case DataType::F32: return loopsOf<float>(kind);
    case DataType::I32: return loopsOf<int32_t>(kind);
    case DataType::I64: return loopsOf<int64_t>(kind);
    case DataType::Bool: return loopsOf<bool>(kind);
    default: TK_RAISE(Internal, "a reduction in {}", dataTypeName(dtype));
  }
}

}  // namespace tokamak
