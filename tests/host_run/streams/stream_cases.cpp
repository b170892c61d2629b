#include "host_run/streams/stream_cases.h"

namespace tokamak {

namespace {

const char* const kHoisted = "ALLOCATE GetCurrentStream FOR FOR";
const char* const kInLoop = "ALLOCATE FOR";
const std::vector<Sizes> kRowSizes = {
    {}, {{"i0", 0}}, {{"i0", 1}}, {{"i0", 3}}, {{"i0", 13}}, {{"i0", 2}, {"i2", 0}}, {{"i2", 1}}};

std::vector<StreamCase> setsAndPointwise() {
  return {
      {"single_set",
       "fusion f(T0: f32[i0, i2]) -> T1 { T1 = set(T0) } sizes { i0 = 4, i2 = 8 } schedule { parallelize(T1, axis=0, "
       "type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iStreamIdx2{i0}, iS3{i2}]"},
        "(@T0) -> (@T1)",
        "  @T1 = Set( @T0 )\n"},
       kHoisted,
       kInLoop,
       kRowSizes},
      {"single_set_axis_1",
       "fusion f(T0: f32[i0, i2]) -> T1 { T1 = set(T0) } sizes { i0 = 4, i2 = 8 } schedule { parallelize(T1, axis=1, "
       "type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iS2{i0}, iStreamIdx3{i2}]"},
        "(@T0) -> (@T1)",
        "  @T1 = Set( @T0 )\n"},
       kHoisted,
       kInLoop,
       kRowSizes},
      {"add",
       "fusion f(T0: f32[i0, i2], T1: f32[i0, i2]) -> T2 { T2 = add(T0, T1) } sizes { i0 = 4, i2 = 4 } "
       "schedule { parallelize(T2, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iS2{i0}, iS3{i2}]", "T2_g_float[iStreamIdx4{i0}, iS5{i2}]"},
        "(@T0, @T1) -> (@T2)",
        "  @T2 = @T0 + @T1;\n"},
       kHoisted,
       kInLoop,
       kRowSizes},
      {"two_sets",
       "fusion f(T0: f32[i0, i2]) -> T2 { T1 = set(T0) T2 = set(T1) } sizes { i0 = 4, i2 = 8 } "
       "schedule { parallelize(T1, axis=0, type=Stream) parallelize(T2, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iStreamIdx2{i0}, iS3{i2}]",
         "T2_g_float[iStreamIdx4{i0}, iS5{i2}]"},
        "(@T0) -> (@T2)",
        "  @T1 = Set( @T0 )\n  @T2 = Set( @T1 )\n"},
       "ALLOCATE ALLOCATE GetCurrentStream FOR FOR",
       "ALLOCATE ALLOCATE FOR",
       kRowSizes},
      {"three_sets",
       "fusion f(T0: f32[i0, i2]) -> T3 { T1 = set(T0) T2 = set(T1) T3 = set(T2) } sizes { i0 = 4, i2 = 8 } "
       "schedule { parallelize(T1, axis=0, type=Stream) parallelize(T3, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iStreamIdx2{i0}, iS3{i2}]", "T2_g_float[iS4{i0}, iS5{i2}]",
         "T3_g_float[iStreamIdx6{i0}, iS7{i2}]"},
        "(@T0) -> (@T3)",
        "  @T1 = Set( @T0 )\n  @T2 = Set( @T1 )\n  @T3 = Set( @T2 )\n"},
       "ALLOCATE GetCurrentStream FOR FOR set ALLOCATE GetCurrentStream FOR FOR",
       "ALLOCATE FOR set ALLOCATE FOR",
       kRowSizes},
      {"row_by_broadcast_row",
       "fusion f(T0: f32[i0, i2], T1: f32[1, i2]) -> T2 { T2 = mul(T0, T1) } sizes { i0 = 5, i2 = 3 } "
       "schedule { parallelize(T2, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[bS2{1}, iS3{i2}]", "T2_g_float[iStreamIdx4{i0}, iS5{i2}]"},
        "(@T0, @T1) -> (@T2)",
        "  @T2 = @T0 * @T1;\n"},
       kHoisted,
       kInLoop,
       kRowSizes},
      {"row_by_expanded_row",
       "fusion f(T0: f32[i0, i2], T1: f32[1, i2]) -> T3 { T2 = expand(T1, shape=[i0, i2]) T3 = mul(T0, T2) } sizes { "
       "i0 = 5, i2 = 3 } "
       "schedule { parallelize(T2, axis=0, type=Stream) parallelize(T3, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[bS2{1}, iS3{i2}]", "T2_g_float[bStreamIdx4{1 ex i0}, iS5{i2}]",
         "T3_g_float[iStreamIdx6{i0}, iS7{i2}]"},
        "(@T0, @T1) -> (@T3)",
        "  @T2 = expand( @T1, {i0, i2} )\n  @T3 = @T0 * @T2;\n"},
       "ALLOCATE GetCurrentStream FOR FOR ALLOCATE GetCurrentStream FOR FOR",
       "ALLOCATE FOR ALLOCATE FOR",
       kRowSizes},
  };
}

std::vector<StreamCase> sumsAndProducts() {
  const std::vector<Sizes> products = {{}, {{"m", 0}}, {{"m", 1}, {"n", 1}}, {{"m", 2}, {"n", 9}}, {{"k", 0}}};
  return {
      {"sum",
       "fusion f(T0: f32[i0, i2, i3]) -> T1 { T1 = sum(T0, axes=[2]) } sizes { i0 = 4, i2 = 8, i3 = 2 } "
       "schedule { parallelize(T1, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}, iS2{i3}]", "T1_g_float[iStreamIdx3{i0}, iS4{i2}, rS5{i3}]"},
        "(@T0) -> (@T1)",
        "  @T1 = reduction( @T0, op = add, initial value = float(0), allreduce = false )\n"},
       kHoisted,
       kInLoop,
       kRowSizes},
      {"max_before_a_streamed_axis",
       "fusion f(T0: f32[i0, i2, i3]) -> T1 { T1 = max(T0, axes=[0]) } sizes { i0 = 4, i2 = 8, i3 = 2 } "
       "schedule { parallelize(T1, axis=1, type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}, iS2{i3}]", "T1_g_float[rS3{i0}, iStreamIdx4{i2}, iS5{i3}]"},
        "(@T0) -> (@T1)",
        "  @T1 = reduction( @T0, op = max, initial value = float(-inf), allreduce = false )\n"},
       kHoisted,
       kInLoop,
       {{}, {{"i2", 1}}, {{"i0", 1}, {"i2", 6}}}},
      {"matmul_m",
       "fusion f(T0: f32[m, k], T1: f32[k, n]) -> T2 { T2 = matmul(T0, T1) } sizes { m = 8, k = 4, n = 2 } "
       "schedule { parallelize(T2, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{m}, iS1{k}]", "T1_g_float[iS2{k}, iS3{n}]", "T2_g_float[iStreamIdx4{m}, iS5{n}, rS6{k}]"},
        "(@T0, @T1) -> (@T2)",
        "  @T2 = matmul(@T0,\n    @T1)\n"},
       kHoisted,
       kInLoop,
       products},
      {"matmul_n",
       "fusion f(T0: f32[m, k], T1: f32[k, n]) -> T2 { T2 = matmul(T0, T1) } sizes { m = 8, k = 4, n = 2 } "
       "schedule { parallelize(T2, axis=1, type=Stream) }",
       {{"T0_g_float[iS0{m}, iS1{k}]", "T1_g_float[iS2{k}, iS3{n}]", "T2_g_float[iS4{m}, iStreamIdx5{n}, rS6{k}]"},
        "(@T0, @T1) -> (@T2)",
        "  @T2 = matmul(@T0,\n    @T1)\n"},
       kHoisted,
       kInLoop,
       products},
      {"batched_matmul",
       "fusion f(T0: f32[b, m, k], T1: f32[k, n]) -> T2 { T2 = matmul(T0, T1) } sizes { b = 16, m = 8, k = 4, n = 2 } "
       "schedule { parallelize(T2, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{b}, iS1{m}, iS2{k}]", "T1_g_float[iS3{k}, iS4{n}]",
         "T2_g_float[iStreamIdx5{b}, iS6{m}, iS7{n}, rS8{k}]"},
        "(@T0, @T1) -> (@T2)",
        "  @T2 = matmul(@T0,\n    @T1)\n"},
       kHoisted,
       kInLoop,
       {{}, {{"b", 1}}, {{"b", 3}, {"m", 1}}}},
      {"linear_with_bias",
       "fusion f(T0: f32[m, k], T1: f32[n, k], T2: f32[n]) -> T3 { T3 = linear(T0, T1, bias=T2) } sizes { m = 6, k = "
       "4, n = 3 } "
       "schedule { parallelize(T3, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{m}, iS1{k}]", "T1_g_float[iS2{n}, iS3{k}]", "T2_g_float[iS4{n}]",
         "T3_g_float[iStreamIdx5{m}, iS6{n}, rS7{k}]"},
        "(@T0, @T1, @T2) -> (@T3)",
        "  @T3 = linear(@T0,\n    @T1,\n    @T2)\n"},
       kHoisted,
       kInLoop,
       products},
  };
}

StreamCase splitRows(const std::string& name, const std::string& factor) {
  const std::string marked = "iStreamIdx4{( ceilDiv(i0, " + factor + ") )}";
  return {
      name,
      "fusion f(T0: f32[i0, i2]) -> T1 { T1 = set(T0) } sizes { i0 = 8, i2 = 4 } schedule { split(T1, axis=0, factor=" +
          factor + ") parallelize(T1, axis=0, type=Stream) }",
      {{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[" + marked + ", iS5{" + factor + "}, iS3{i2}]"},
       "(@T0) -> (@T1)",
       "  @T1 = Set( @T0 )\n",
       "Domains:{\n  T1:{\n    split iS2{i0} by " + factor + " -> " + marked + ", iS5{" + factor +
           "}\n    logical [iS2{i0}, iS3{i2}]\n  }\n}\n"},
      kHoisted,
      kInLoop,
      kRowSizes};
}

std::vector<StreamCase> splitsAndMerges() {
  return {
      splitRows("split_2", "2"),
      splitRows("split_3", "3"),
      {"outer_split",
       "fusion f(T0: f32[i0, i2]) -> T1 { T1 = set(T0) } sizes { i0 = 8, i2 = 4 } "
       "schedule { split(T1, axis=0, factor=3, inner_split=false) parallelize(T1, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iStreamIdx4{3}, iS5{( ceilDiv(i0, 3) )}, iS3{i2}]"},
        "(@T0) -> (@T1)",
        "  @T1 = Set( @T0 )\n",
        "Domains:{\n  T1:{\n    outer split iS2{i0} by 3 -> iStreamIdx4{3}, iS5{( ceilDiv(i0, 3) )}\n    logical "
        "[iS2{i0}, iS3{i2}]\n  }\n}\n"},
       kHoisted,
       kInLoop,
       kRowSizes},
      {"merge",
       "fusion f(T0: f32[i0, i2, i3]) -> T1 { T1 = set(T0) } sizes { i0 = 3, i2 = 4, i3 = 5 } "
       "schedule { merge(T1, axis=0) parallelize(T1, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}, iS2{i3}]", "T1_g_float[iStreamIdx6{( i0 * i2 )}, iS5{i3}]"},
        "(@T0) -> (@T1)",
        "  @T1 = Set( @T0 )\n",
        "Domains:{\n  T1:{\n    merge iS3{i0}, iS4{i2} -> iStreamIdx6{( i0 * i2 )}\n    logical [iS3{i0}, iS4{i2}, "
        "iS5{i3}]\n  }\n}\n"},
       kHoisted,
       kInLoop,
       kRowSizes},
  };
}

std::vector<StreamCase> positions() {
  const std::string iota = "@T1 = iota( length = i0, start = 3, step = 2, dtype = int64_t )\n";
  return {
      {"iota",
       "fusion f(T0: i64[i0]) -> T2 { T1 = iota(i0, start=3, step=2) T2 = add(T0, T1) } sizes { i0 = 10 } "
       "schedule { parallelize(T1, axis=0, type=Stream) parallelize(T2, axis=0, type=Stream) }",
       {{"T0_g_int64_t[iS0{i0}]", "T1_g_int64_t[iStreamIdx1{i0}]", "T2_g_int64_t[iStreamIdx2{i0}]"},
        "(@T0) -> (@T2)",
        "  " + iota + "  @T2 = @T0 + @T1;\n"},
       "ALLOCATE ALLOCATE GetCurrentStream FOR FOR",
       "ALLOCATE ALLOCATE FOR",
       kRowSizes},
      {"iota_of_chunks",
       "fusion f(T0: i64[i0]) -> T2 { T1 = iota(i0, start=3, step=2) T2 = add(T0, T1) } sizes { i0 = 10 } "
       "schedule { split(T2, axis=0, factor=4) parallelize(T2, axis=0, type=Stream) propagate(T2) }",
       {{"T0_g_int64_t[iS0{i0}]", "T1_g_int64_t[iStreamIdx3{( ceilDiv(i0, 4) )}, iS4{4}]",
         "T2_g_int64_t[iStreamIdx5{( ceilDiv(i0, 4) )}, iS6{4}]"},
        "(@T0) -> (@T2)",
        "  " + iota + "  @T2 = @T0 + @T1;\n",
        "Domains:{\n  T1:{\n    split iS1{i0} by 4 -> iStreamIdx3{( ceilDiv(i0, 4) )}, iS4{4}\n    logical [iS1{i0}]\n "
        " }\n"
        "  T2:{\n    split iS2{i0} by 4 -> iStreamIdx5{( ceilDiv(i0, 4) )}, iS6{4}\n    logical [iS2{i0}]\n  }\n}\n"},
       "ALLOCATE ALLOCATE GetCurrentStream FOR FOR",
       "ALLOCATE ALLOCATE FOR",
       kRowSizes},
  };
}

// An operand that iterations read in slices and whole, or in ranges, and what is computed whole before a loop.
std::vector<StreamCase> partsAndWholes() {
  return {
      {"tensor_times_itself",
       "fusion f(T0: f32[i0, i0]) -> T1 { T1 = matmul(T0, T0) } sizes { i0 = 5 } schedule { parallelize(T1, axis=0, "
       "type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i0}]", "T1_g_float[iStreamIdx2{i0}, iS3{i0}, rS4{i0}]"},
        "(@T0) -> (@T1)",
        "  @T1 = matmul(@T0,\n    @T0)\n"},
       kHoisted,
       kInLoop,
       {{}, {{"i0", 0}}, {{"i0", 1}}, {{"i0", 13}}}},
      {"rows_behind_the_first",
       "fusion f(T0: f32[i0, i2]) -> T1 { T1 = slice(T0, axis=0, start=1) } sizes { i0 = 4, i2 = 3 } schedule { "
       "parallelize(T1, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iStreamIdx2{( i0 - 1 )}, iS3{i2}]"},
        "(@T0) -> (@T1)",
        "  @T1 = slice( @T0, { {1, i0, 1} {0, i2, 1} } )\n"},
       kHoisted,
       kInLoop,
       {{}, {{"i0", 1}}, {{"i0", 13}}, {{"i2", 0}}}},
      {"rows_behind_a_border",
       "fusion f(T0: f32[i0, i2]) -> T1 { T1 = pad(T0, widths=[1, 2, 0, 0]) } sizes { i0 = 4, i2 = 3 } "
       "schedule { parallelize(T1, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iStreamIdx2{( i0 + 3 )}, iS3{i2}]"},
        "(@T0) -> (@T1)",
        "  @T1 = pad( @T0, {1, 2, 0, 0} )\n"},
       kHoisted,
       kInLoop,
       kRowSizes},
      {"rows_of_two_tensors",
       "fusion f(T0: f32[i0, i2], T1: f32[i3, i2]) -> T2 { T2 = cat([T0, T1], axis=0) } "
       "sizes { i0 = 4, i2 = 3, i3 = 2 } schedule { split(T2, axis=0, factor=3) parallelize(T2, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iS2{i3}, iS3{i2}]",
         "T2_g_float[iStreamIdx5{( ceilDiv(( i0 + i3 ), 3) )}, iS6{3}, iS7{i2}]"},
        "(@T0, @T1) -> (@T2)",
        "  @T2 = cat( @T0, @T1, 0 )\n",
        "Domains:{\n  T2:{\n    split iS4{( i0 + i3 )} by 3 -> iStreamIdx5{( ceilDiv(( i0 + i3 ), 3) )}, iS6{3}\n"
        "    logical [iS4{( i0 + i3 )}, iS7{i2}]\n  }\n}\n"},
       kHoisted,
       kInLoop,
       {{}, {{"i0", 1}}, {{"i0", 0}}, {{"i3", 0}}, {{"i3", 13}}}},
      {"groups_of_rows",
       "fusion f(T0: f32[6, i2]) -> T1 { T1 = reshape(T0, shape=[2, 3, i2]) } sizes { i2 = 3 } "
       "schedule { parallelize(T1, axis=0, type=Stream) }",
       {{"T0_g_float[iS0{6}, iS1{i2}]", "T1_g_float[iStreamIdx2{2}, iS3{3}, iS4{i2}]"},
        "(@T0) -> (@T1)",
        "  @T1 = view( @T0 )\n"},
       kHoisted,
       kInLoop,
       {{}, {{"i2", 1}}, {{"i2", 0}}}},
      {"whole_before_the_loop",
       "fusion f(T0: f32[i0, 6]) -> T2 { T1 = reshape(T0, shape=[i0, 2, 3]) T2 = neg(T1) } sizes { i0 = 4 } "
       "schedule { parallelize(T2, axis=2, type=Stream) propagate(T2) }",
       {{"T0_g_float[iS0{i0}, iS1{6}]", "T1_g_float[iS2{i0}, iS3{2}, iStreamIdx4{3}]",
         "T2_g_float[iS5{i0}, iS6{2}, iStreamIdx7{3}]"},
        "(@T0) -> (@T2)",
        "  @T1 = view( @T0 )\n  @T2 = -@T1;\n"},
       "reshape ALLOCATE GetCurrentStream FOR FOR",
       "reshape ALLOCATE FOR",
       {{}, {{"i0", 0}}, {{"i0", 1}}, {{"i0", 13}}}},
  };
}

}  // namespace

const std::vector<StreamCase>& streamCases() {
  static const std::vector<StreamCase> cases = [] {
    std::vector<StreamCase> all;
    for (auto* family : {setsAndPointwise, sumsAndProducts, splitsAndMerges, positions, partsAndWholes}) {
      for (StreamCase& c : family()) all.push_back(std::move(c));
    }
    return all;
  }();
  return cases;
}

}  // namespace tokamak
