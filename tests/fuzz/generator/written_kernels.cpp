#include "generator/written_kernels.h"

namespace tokamak::generator {

std::span<const WrittenKernel> writtenKernels() {
  static const std::vector<WrittenKernel> kKernels = {
      // Blocks of a cluster exchange their parts of a row; then the same with a persistent grid.
      {R"(fusion f(T0: i64[i0, i2]) -> T2 {
  T1 = max(T0, axes=[1], keepdim=true)
  T2 = sub(T0, T1)
})",
       R"(
kernel shared_row(T0: i64[n:m, m:1], n: i64, m: i64) -> T2: i64[n:m, m:1] CIDx in 2 BIDx in n TIDx in 4 {
  T3: i64[2] shared
  arrive cluster
  T4: i64[1] local
  T4[0] = -9223372036854775808
  for k in 0..ceilDiv(m, 8) {
    if k * 8 + CIDx * 4 + TIDx < m {
      T4[0] = maximum(T4[0], T0[BIDx * m + k * 8 + CIDx * 4 + TIDx])
    }
  }
  reduce max T4[0] over TIDx
  wait cluster
  if TIDx == 0 {
    for r in 0..2 Unroll {
      T3[CIDx] of block r = T4[0]
    }
  }
  arrive cluster
  wait cluster
  T4[0] = maximum(T3[0], T3[1])
  for k in 0..ceilDiv(m, 8) {
    if k * 8 + CIDx * 4 + TIDx < m {
      T2[BIDx * m + k * 8 + CIDx * 4 + TIDx] = sub(T0[BIDx * m + k * 8 + CIDx * 4 + TIDx], T4[0])
    }
  }
})",
       {{3, 19}, {1, 8}, {4, 1}}},
      {R"(fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[1]) })",
       R"(
kernel shared_rows(T0: f32[n:m, m:1], n: i64, m: i64) -> T1: f32[n:1] CIDx in 4 BIDx in 2 TIDx in 2 {
  T3: f32[4] shared
  arrive cluster
  for j in 0..ceilDiv(n, 2) {
    T2: f32[1] local
    T2[0] = 0.0_f32
    for k in 0..ceilDiv(m, 8) {
      if j * 2 + BIDx < n && k * 8 + CIDx * 2 + TIDx < m {
        T2[0] = add(T2[0], T0[(j * 2 + BIDx) * m + k * 8 + CIDx * 2 + TIDx])
      }
    }
    reduce sum T2[0] over TIDx
    wait cluster
    if TIDx == 0 {
      for r in 0..4 Unroll {
        T3[CIDx] of block r = T2[0]
      }
    }
    arrive cluster
    wait cluster
    T2[0] = add(add(add(T3[0], T3[1]), T3[2]), T3[3])
    arrive cluster
    if j * 2 + BIDx < n && CIDx == 0 && TIDx == 0 {
      T1[j * 2 + BIDx] = T2[0]
    }
  }
  wait cluster
})",
       {{5, 19}, {1, 8}, {4, 1}}},
      // Across cluster and block at once.
      {R"(fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[1]) })",
       R"(
kernel combined_row(T0: f32[n:m, m:1], n: i64, m: i64) -> T1: f32[n:1] CIDx in 2 BIDx in n TIDx in 4 {
  T2: f32[1] local
  T2[0] = 0.0_f32
  for k in 0..ceilDiv(m, 8) {
    if k * 8 + CIDx * 4 + TIDx < m {
      T2[0] = add(T2[0], T0[BIDx * m + k * 8 + CIDx * 4 + TIDx])
    }
  }
  reduce sum T2[0] over CIDx, TIDx
  if CIDx == 0 && TIDx == 0 {
    T1[BIDx] = T2[0]
  }
})",
       {{3, 19}, {1, 8}, {4, 1}}},
      // A tile goes through shared memory.
      {R"(fusion f(T0: f32[i0, i2]) -> T1 { T1 = permute(T0, order=[1, 0]) })",
       R"(
kernel transpose(T0: f32[n:m, m:1], n: i64, m: i64) -> T1: f32[m:n, n:1] BIDx in ceilDiv(n, 4) BIDy in ceilDiv(m, 4) TIDx in 4 TIDy in 4 {
  T2: f32[20] shared
  if BIDx * 4 + TIDy < n && BIDy * 4 + TIDx < m {
    T2[TIDy * 5 + TIDx] = T0[(BIDx * 4 + TIDy) * m + BIDy * 4 + TIDx]
  }
  barrier
  if BIDy * 4 + TIDy < m && BIDx * 4 + TIDx < n {
    T1[(BIDy * 4 + TIDy) * n + BIDx * 4 + TIDx] = T2[TIDx * 5 + TIDy]
  }
})",
       {{5, 7}, {4, 4}, {1, 9}, {8, 3}}},
      // The same, copied asynchronously.
      {R"(fusion f(T0: f32[i0, i2]) -> T1 { T1 = permute(T0, order=[1, 0]) })",
       R"(
kernel transpose_async(T0: f32[n:m, m:1], n: i64, m: i64) -> T1: f32[m:n, n:1] align 4 BIDx in ceilDiv(n, 4) BIDy in ceilDiv(m, 4) TIDx in 4 TIDy in 4 {
  T2: f32[20] shared
  if BIDx * 4 + TIDy < n && BIDy * 4 + TIDx < m {
    async T2[TIDy * 5 + TIDx .. +1] = T0[(BIDx * 4 + TIDy) * m + BIDy * 4 + TIDx .. +1]
  }
  commit copies
  wait copies
  barrier
  if BIDy * 4 + TIDy < m && BIDx * 4 + TIDx < n {
    T1[(BIDy * 4 + TIDy) * n + BIDx * 4 + TIDx] = T2[TIDx * 5 + TIDy]
  }
})",
       {{5, 7}, {4, 4}, {1, 9}, {8, 3}}},
      // Rows that a block takes in iterations: two of three buffers are filled ahead.
      {R"(fusion f(T0: i64[i0, i2]) -> T2 {
  T1 = max(T0, axes=[1], keepdim=true)
  T2 = sub(T0, T1)
})",
       R"(
kernel stages(T0: i64[n:m, m:1], n: i64, m: i64) -> T2: i64[n:m, m:1] align 8 BIDx in 2 TIDx in 4 {
  T3: i64[24] shared
  if BIDx < n {
    for k in 0..2 {
      if k * 4 + TIDx < m {
        async T3[k * 4 + TIDx .. +1] = T0[BIDx * m + k * 4 + TIDx .. +1]
      }
    }
  }
  commit copies
  if BIDx + 2 < n {
    for k in 0..2 {
      if k * 4 + TIDx < m {
        async T3[8 + k * 4 + TIDx .. +1] = T0[(BIDx + 2) * m + k * 4 + TIDx .. +1]
      }
    }
  }
  commit copies
  for j in 0..ceilDiv(n, 2) {
    if j * 2 + BIDx + 4 < n {
      for k in 0..2 {
        if k * 4 + TIDx < m {
          async T3[(j + 2) % 3 * 8 + k * 4 + TIDx .. +1] = T0[(j * 2 + BIDx + 4) * m + k * 4 + TIDx .. +1]
        }
      }
    }
    commit copies
    wait copies but 2
    T4: i64[1] local
    T4[0] = -9223372036854775808
    if j * 2 + BIDx < n {
      for k in 0..2 {
        if k * 4 + TIDx < m {
          T4[0] = maximum(T4[0], T3[j % 3 * 8 + k * 4 + TIDx])
        }
      }
    }
    reduce max T4[0] over TIDx
    if j * 2 + BIDx < n {
      for k in 0..2 {
        if k * 4 + TIDx < m {
          T2[(j * 2 + BIDx) * m + k * 4 + TIDx] = sub(T3[j % 3 * 8 + k * 4 + TIDx], T4[0])
        }
      }
    }
  }
})",
       {{7, 8}, {1, 5}, {12, 7}, {2, 1}}},
      // Rows, combined across the threads.
      {R"(fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[1]) })",
       R"(
kernel row_sum(T0: f32[n:m, m:1], n: i64, m: i64) -> T1: f32[n:1] BIDx in n TIDx in 8 {
  T2: f32[1] local
  T2[0] = 0.0_f32
  for k in 0..ceilDiv(m, 8) {
    if k * 8 + TIDx < m {
      let t0: f32 = T0[BIDx * m + k * 8 + TIDx]
      T2[0] = add(T2[0], t0)
    }
  }
  reduce sum T2[0] over TIDx
  if TIDx == 0 {
    T1[BIDx] = T2[0]
  }
})",
       {{3, 19}, {1, 8}, {4, 1}, {2, 16}}},
      // The same by a tree in shared memory.
      {R"(fusion f(T0: i64[i0, i2]) -> T1 { T1 = sum(T0, axes=[1]) })",
       R"(
kernel tree(T0: i64[n:m, m:1], n: i64, m: i64) -> T1: i64[n:1] BIDx in n TIDx in 8 {
  T2: i64[8] shared
  T3: i64[1] local
  T3[0] = 0
  for k in 0..ceilDiv(m, 8) {
    if k * 8 + TIDx < m {
      T3[0] = add(T3[0], T0[BIDx * m + k * 8 + TIDx])
    }
  }
  T2[TIDx] = T3[0]
  barrier
  if TIDx < 4 {
    T2[TIDx] = add(T2[TIDx], T2[TIDx + 4])
  }
  barrier
  if TIDx < 2 {
    T2[TIDx] = add(T2[TIDx], T2[TIDx + 2])
  }
  barrier
  if TIDx < 1 {
    T1[BIDx] = add(T2[0], T2[1])
  }
})",
       {{3, 19}, {1, 8}, {4, 1}}},
      // A buffer that each iteration writes anew.
      {R"(fusion f(T0: f32[i0, 16]) -> T3 {
  T1 = slice(T0, starts=[0, 1], stops=[i0, 16], steps=[1, 1])
  T2 = slice(T0, starts=[0, 0], stops=[i0, 1], steps=[1, 1])
  T3 = cat([T1, T2], axis=1)
})",
       R"(
kernel rotate(T0: f32[n:16, 16:1], n: i64) -> T1: f32[n:16, 16:1] BIDx in 2 TIDx in 16 {
  T2: f32[16] shared
  for k in 0..ceilDiv(n, 2) {
    if k * 2 + BIDx < n {
      T2[TIDx] = T0[(k * 2 + BIDx) * 16 + TIDx]
    }
    barrier
    if k * 2 + BIDx < n {
      T1[(k * 2 + BIDx) * 16 + TIDx] = T2[(TIDx + 1) % 16]
    }
    barrier
  }
})",
       {{5}, {1}, {4}}},
      // Two buffers in turn: one barrier for each iteration.
      {R"(fusion f(T0: f32[i0, 8]) -> T3 {
  T1 = slice(T0, starts=[0, 3], stops=[i0, 8], steps=[1, 1])
  T2 = slice(T0, starts=[0, 0], stops=[i0, 3], steps=[1, 1])
  T3 = cat([T1, T2], axis=1)
})",
       R"(
kernel two_buffers(T0: f32[n:8, 8:1], n: i64) -> T1: f32[n:8, 8:1] TIDx in 8 {
  T2: f32[16] shared
  for k in 0..n {
    T2[(k % 2) * 8 + TIDx] = T0[k * 8 + TIDx]
    barrier
    T1[k * 8 + TIDx] = T2[(k % 2) * 8 + (TIDx + 3) % 8]
  }
})",
       {{5}, {1}, {2}}},
      // Tiles of both factors, for each step along what is summed.
      {R"(fusion f(T0: f32[i0, i2], T1: f32[i2, 6]) -> T2 { T2 = matmul(T0, T1) })",
       R"(
kernel product(T0: f32[n:m, m:1], T1: f32[m:6, 6:1], n: i64, m: i64) -> T2: f32[n:6, 6:1] BIDx in ceilDiv(n, 4) BIDy in 2 TIDx in 4 TIDy in 4 {
  T3: f32[16] shared
  T4: f32[16] shared
  T5: f32[1] local
  T5[0] = 0.0_f32
  for k in 0..ceilDiv(m, 4) {
    T3[TIDy * 4 + TIDx] = choose(BIDx * 4 + TIDy < n && k * 4 + TIDx < m, T0[(BIDx * 4 + TIDy) * m + k * 4 + TIDx], 0.0_f32)
    T4[TIDy * 4 + TIDx] = choose(k * 4 + TIDy < m && BIDy * 4 + TIDx < 6, T1[(k * 4 + TIDy) * 6 + BIDy * 4 + TIDx], 0.0_f32)
    barrier
    for j in 0..4 Unroll {
      T5[0] = add(T5[0], mul(T3[TIDy * 4 + j], T4[j * 4 + TIDx]))
    }
    barrier
  }
  if BIDx * 4 + TIDy < n && BIDy * 4 + TIDx < 6 {
    T2[(BIDx * 4 + TIDy) * 6 + BIDy * 4 + TIDx] = T5[0]
  }
})",
       {{5, 7}, {4, 4}, {1, 9}}},
      // Neighbours, with one element of the next block.
      {R"(fusion f(T0: f32[i0]) -> T3 {
  T1 = slice(T0, starts=[0], stops=[( i0 - 1 )], steps=[1])
  T2 = slice(T0, starts=[1], stops=[i0], steps=[1])
  T3 = add(T1, T2)
})",
       R"(
kernel neighbours(T0: f32[n:1], n: i64) -> T3: f32[(n - 1):1] BIDx in ceilDiv(n - 1, 8) TIDx in 8 {
  T2: f32[9] shared
  if BIDx * 8 + TIDx < n {
    T2[TIDx] = T0[BIDx * 8 + TIDx]
  }
  if TIDx == 0 && BIDx * 8 + 8 < n {
    T2[8] = T0[BIDx * 8 + 8]
  }
  barrier
  if BIDx * 8 + TIDx < n - 1 {
    T3[BIDx * 8 + TIDx] = add(T2[TIDx], T2[TIDx + 1])
  }
})",
       {{21}, {8}, {9}, {17}}},
      // One thread puts the result of all where all read it, row after row.
      {R"(fusion f(T0: i64[i0, i2]) -> T2 {
  T1 = max(T0, axes=[1], keepdim=true)
  T2 = sub(T0, T1)
})",
       R"(
kernel given_back(T0: i64[n:m, m:1], n: i64, m: i64) -> T2: i64[n:m, m:1] TIDx in 8 {
  T3: i64[1] shared
  for r in 0..n {
    T1: i64[1] local
    T1[0] = -1000
    for k in 0..ceilDiv(m, 8) {
      if k * 8 + TIDx < m {
        T1[0] = maximum(T1[0], T0[r * m + k * 8 + TIDx])
      }
    }
    reduce max T1[0] over TIDx
    if TIDx == 0 {
      T3[0] = T1[0]
    }
    barrier
    for k in 0..ceilDiv(m, 8) {
      if k * 8 + TIDx < m {
        T2[r * m + k * 8 + TIDx] = sub(T0[r * m + k * 8 + TIDx], T3[0])
      }
    }
    barrier
  }
})",
       {{3, 11}, {2, 8}, {1, 3}}},
      // Wide accesses through registers.
      {R"(fusion f(T0: f32[i0, 8]) -> T1 { T1 = neg(T0) })",
       R"(
kernel wide(T0: f32[n:8, 8:1], n: i64) -> T1: f32[n:8, 8:1] align 16 BIDx in ceilDiv(n, 4) TIDx in 4 {
  if BIDx * 4 + TIDx < n {
    T2: f32[8] local
    T2[0 .. +4] = T0[(BIDx * 4 + TIDx) * 8 .. +4]
    T2[4 .. +4] = T0[(BIDx * 4 + TIDx) * 8 + 4 .. +4]
    for k in 0..8 Unroll {
      T2[k] = neg(T2[k])
    }
    T1[(BIDx * 4 + TIDx) * 8 .. +4] = T2[0 .. +4]
    T1[(BIDx * 4 + TIDx) * 8 + 4 .. +4] = T2[4 .. +4]
  }
})",
       {{5}, {4}, {9}}},
      // A row stays in registers between two passes over it.
      {R"(fusion f(T0: f32[i0, 24]) -> T2 {
  T1 = max(T0, axes=[1], keepdim=true)
  T2 = sub(T0, T1)
})",
       R"(
kernel persistent(T0: f32[n:24, 24:1], n: i64) -> T1: f32[n:24, 24:1] BIDx in ceilDiv(n, 2) TIDx in 8 TIDy in 2 {
  T2: f32[3] local
  T3: f32[1] local
  T3[0] = -inf_f32
  if BIDx * 2 + TIDy < n {
    for k in 0..3 Unroll {
      T2[k] = T0[(BIDx * 2 + TIDy) * 24 + k * 8 + TIDx]
      T3[0] = maximum(T3[0], T2[k])
    }
  }
  reduce max T3[0] over TIDx
  if BIDx * 2 + TIDy < n {
    for k in 0..3 Unroll {
      T1[(BIDx * 2 + TIDy) * 24 + k * 8 + TIDx] = sub(T2[k], T3[0])
    }
  }
})",
       {{3}, {2}, {5}}},
      // Columns: combined along TIDy.
      {R"(fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[0]) })",
       R"(
kernel columns(T0: f32[n:m, m:1], n: i64, m: i64) -> T1: f32[m:1] BIDx in ceilDiv(m, 4) TIDx in 4 TIDy in 4 {
  T2: f32[1] local
  T2[0] = 0.0_f32
  for k in 0..ceilDiv(n, 4) {
    if k * 4 + TIDy < n && BIDx * 4 + TIDx < m {
      T2[0] = add(T2[0], T0[(k * 4 + TIDy) * m + BIDx * 4 + TIDx])
    }
  }
  reduce sum T2[0] over TIDy
  if TIDy == 0 && BIDx * 4 + TIDx < m {
    T1[BIDx * 4 + TIDx] = T2[0]
  }
})",
       {{7, 6}, {4, 4}, {1, 5}, {9, 1}}},
      // Columns: combined along TIDy and across blocks.
      {R"(fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(T0, axes=[0]) })",
       R"(
kernel across_blocks(T0: f32[n:m, m:1], n: i64, m: i64) -> T1: f32[m:1] BIDx in ceilDiv(m, 4) BIDy in 3 TIDx in 4 TIDy in 2 {
  T2: f32[1] local
  T2[0] = 0.0_f32
  for k in 0..ceilDiv(n, 6) {
    if (k * 3 + BIDy) * 2 + TIDy < n && BIDx * 4 + TIDx < m {
      T2[0] = add(T2[0], T0[((k * 3 + BIDy) * 2 + TIDy) * m + BIDx * 4 + TIDx])
    }
  }
  reduce sum T2[0] over TIDy
  reduce blocks over BIDy: sum T2[0 .. +1] spread (TIDx) {
    if TIDy == 0 && BIDx * 4 + TIDx < m {
      T1[BIDx * 4 + TIDx] = T2[0]
    }
  }
})",
       {{7, 6}, {13, 4}, {1, 5}}},
      // Everything, two places at once, combined along both.
      {R"(fusion f(T0: f32[i0]) -> (T1, T2) {
  T1 = sum(T0, axes=[0])
  T3 = mul(T0, T0)
  T2 = sum(T3, axes=[0])
})",
       R"(
kernel moments(T0: f32[n:1], n: i64) -> (T1: f32[], T2: f32[]) TIDx in 4 TIDy in 2 {
  T4: f32[2] local
  for j in 0..2 {
    T4[j] = 0.0_f32
  }
  for k in 0..ceilDiv(n, 8) {
    if k * 8 + TIDy * 4 + TIDx < n {
      let t0: f32 = T0[k * 8 + TIDy * 4 + TIDx]
      T4[0] = add(T4[0], t0)
      T4[1] = add(T4[1], mul(t0, t0))
    }
  }
  reduce sum T4[0 .. +2] over TIDx, TIDy
  if TIDx == 0 && TIDy == 0 {
    T1[0] = T4[0]
    T2[0] = T4[1]
  }
})",
       {{21}, {8}, {3}}},
      // Few threads load what all use.
      {R"(fusion f(T0: f32[i0, 12], T1: f32[12]) -> T3 {
  T2 = broadcast(T1, flags=[true, false])
  T3 = add(T0, T2)
})",
       R"(
kernel shared_row(T0: f32[n:12, 12:1], T1: f32[12:1], n: i64) -> T3: f32[n:12, 12:1] BIDx in ceilDiv(n, 16) TIDx in 16 {
  T2: f32[12] shared
  if TIDx < 12 {
    T2[TIDx] = T1[TIDx]
  }
  barrier
  if BIDx * 16 + TIDx < n {
    for k in 0..12 {
      T3[(BIDx * 16 + TIDx) * 12 + k] = add(T0[(BIDx * 16 + TIDx) * 12 + k], T2[k])
    }
  }
})",
       {{17}, {3}, {16}}},
      // A position that is read from memory.
      {R"(fusion f(T0: i32[i0], T1: f32[i2, 4]) -> T2 { T2 = embedding(T1, T0) })",
       R"(
kernel rows(T0: i32[n:1], T1: f32[w:4, 4:1], n: i64, w: i64) -> T2: f32[n:4, 4:1] BIDx in n TIDx in 4 {
  let at: i64 in w = maximum(minimum(i64(T0[BIDx]), i64(w - 1)), 0)
  T2[BIDx * 4 + TIDx] = choose(0 < w, T1[at * 4 + TIDx], 0.0_f32)
})",
       {{7, 5}, {3, 9}, {4, 1}}},
      // For a processor: lanes of a row, and what is left of it.
      {R"(fusion f(T0: f32[i0, i2]) -> T2 {
  T1 = sum(T0, axes=[1], keepdim=true)
  T2 = add(T0, T1)
})",
       R"(
kernel lanes(T0: f32[n:m, m:1], n: i64, m: i64) -> T2: f32[n:m, m:1] BIDx in n {
  T3: f32[4] local
  for v in 0..4 {
    T3[v] = 0.0_f32
  }
  for k in 0..m / 4 {
    for v in 0..4 {
      T3[v] = add(T3[v], T0[BIDx * m + k * 4 + v])
    }
  }
  for v in 0..m % 4 {
    T3[v] = add(T3[v], T0[BIDx * m + m / 4 * 4 + v])
  }
  T1: f32[1] local
  T1[0] = 0.0_f32
  for v in 0..4 {
    T1[0] = add(T1[0], T3[v])
  }
  for k in 0..m {
    T2[BIDx * m + k] = add(T0[BIDx * m + k], T1[0])
  }
})",
       {{3, 11}, {2, 8}, {1, 3}}},
  };
  return kKernels;
}

}  // namespace tokamak::generator
