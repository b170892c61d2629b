// Fusions over two ranks that several tests run.
#pragma once

namespace tokamak {

/// Each rank has a column of x and w, and gets its row of the product.
inline constexpr const char* kProductOfRanks = R"(
fusion f(x: f32[2, 4] mesh(0, 1), w: f32[3, 4] mesh(0, 1)) -> y {
  term: f32[2, 3] mesh(0, 1) partial(sum, DIDx) = linear(x, w)
  rows: f32[2, 3] mesh(0, 1) = set(term)
  y: f32[2, 3] mesh(0, 1) = neg(rows)
}
schedule {
  split(x, axis=1, factor=2, inner_split=false)
  parallelize(x, axis=1, type=DIDx)
  split(w, axis=1, factor=2, inner_split=false)
  parallelize(w, axis=1, type=DIDx)
  parallelize(rows, axis=0, type=DIDx)
  parallelize(y, axis=0, type=DIDx)
}
)";

/// What rank 1 has goes to rank 0; rank 2 has nothing.
inline constexpr const char* kTransferOfRanks = R"(
fusion f(a: f32[2] mesh(0), b: f32[2] mesh(1)) -> c, d {
  c: f32[2] mesh(1) = neg(b)
  moved: f32[2] mesh(0) = set(c)
  d: f32[2] mesh(0) = a + moved
}
)";

}  // namespace tokamak
