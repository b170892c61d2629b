// Programs made by hand, of every statement and every math op: what is printed is read back as an equal program.
#include <set>

#include <gtest/gtest.h>

#include "host/ir/host_equal.h"
#include "host/ir/host_ir_container.h"
#include "host/ir/text/host_parser.h"
#include "host/ir/text/host_printer.h"
#include "ir/all_ops.h"

namespace tokamak {
namespace {

// Expects the program's text to be `text` (when one is given) and to come back as an equal program.
void expectRoundTrip(const HostIrContainer& program, std::string_view text = "") {
  const std::string printed = printHostProgram(program);
  if (!text.empty()) {
    EXPECT_EQ(printed, text);
  }
  std::unique_ptr<HostIrContainer> parsed;
  try {
    parsed = parseHostProgram(printed, "program.host_ir");
  } catch (const Error& error) {
    FAIL() << error.what() << "\n" << printed;
  }
  EXPECT_EQ(printHostProgram(*parsed), printed);
  EXPECT_EQ(firstDifference(program, *parsed), "") << printed;
}

// A program with one symbolic extent and the tensors that tests need.
struct Builder {
  HostIrContainer program;
  Scalar* n = program.symbol("i0");
  Scalar* m = program.symbol("i2");

  Scalar* number(int64_t value) { return program.constant(value); }
  Scalar* real(double value, DataType dtype = DataType::F32) { return program.constant(ScalarValue{value}, dtype); }
  TensorView* tensor(const std::vector<Scalar*>& extents, DataType dtype = DataType::F32) {
    Axes axes;
    for (Scalar* extent : extents) axes.push_back(program.axis({.extent = extent}));
    TensorView* made = program.tensor(dtype, std::move(axes));
    made->setMemoryType(MemoryType::Global);
    return made;
  }
  TensorView* input(const std::vector<Scalar*>& extents, DataType dtype = DataType::F32) {
    TensorView* made = tensor(extents, dtype);
    program.addInput(made);
    return made;
  }
  template <class Op>
  Expr* add(Op op) {
    Expr* expr = program.appendOp(std::move(op));
    program.pushBack(expr);
    return expr;
  }
  Expr* define(std::string_view name, Fields fields) {
    const auto op = findOp(name);
    if (op->spelling) {
      for (const Field& field : defaultFields(op->kind)) {
        if (field.role == FieldRole::Spelling) fields.push_back({field.role, field.name, *op->spelling});
      }
    }
    Expr* expr = defineExpr(program, op->kind, fields);
    for (TensorView* out : tensorsOf(expr->outputs())) out->setMemoryType(MemoryType::Global);
    program.pushBack(expr);
    return expr;
  }
};

Field operand(Val* val) { return {FieldRole::Operand, "in", val}; }
Field named(std::string_view name, FieldValue value) { return {FieldRole::Attribute, name, std::move(value)}; }

TEST(HostTextRoundTrip, AnEmptyProgram) {
  HostIrContainer program;
  expectRoundTrip(program, "%HostIrContainer { () -> () :\n} // %HostIrContainer\n");
}

TEST(HostTextRoundTrip, TheReductionExampleOfTheSpecification) {
  constexpr std::string_view kText =
      R"(%HostIrContainer { (T0_g_float[iS0{i0}, iS1{i2}, iS2{i3}]) -> (T1_g_float[iStreamIdx3{i0}, iS4{i2}, rS5{i3}]) :
  T1_g_float[iStreamIdx3{i0}, iS4{i2}, rS5{i3}] = ALLOCATE(buffer=T1_g_float[iStreamIdx3{i0}, iS4{i2}, rS5{i3}], mem_type=global, size=( i0 * i2 ), zero_init=false, resets_to_zero=false)
  FOR StreamIdx in iStreamIdx3{i0}:
    GetCurrentStream into Stream 0
    SetCurrentStream to Stream ( StreamIdx % numberOfStreams )
    Synchronize Stream 0
    T2_l_float[iS6{i2}, iS7{i3}]
       = HirAliasSelect( T0_g_float[iS0{i0}, iS1{i2}, iS2{i3}], axis = iS0{i0}, index = StreamIdx )
    T3_l_float[iS8{i2}, rS9{i3}]
       = HirAliasSelect( T1_g_float[iStreamIdx3{i0}, iS4{i2}, rS5{i3}], axis = iStreamIdx3{i0}, index = StreamIdx )
    T3_l_float[iS8{i2}, rS9{i3}]
       = reduction( T2_l_float[iS6{i2}, iS7{i3}], op = add, initial value = float(0), allreduce = false )
    SetCurrentStream to Stream 0
    Synchronize Stream ( StreamIdx % numberOfStreams )
} // %HostIrContainer
)";
  const auto program = parseHostProgram(kText, "example");
  expectRoundTrip(*program, kText);
  const Expr* loop = program->topLevel().exprs[1];
  ASSERT_TRUE(loop->is<ForLoop>());
  const auto* reduction = loop->as<ForLoop>()->body.exprs[5]->as<ReductionOp>();
  ASSERT_NE(reduction, nullptr);
  EXPECT_EQ(reduction->axes, std::vector<int64_t>{1});
  EXPECT_EQ(loop->as<ForLoop>()->body.exprs[3]->as<HirAliasSelect>()->axis, 0);
}

TEST(HostTextRoundTrip, ProgramsMadeByHandPrintAsTheirGolden) {
  // single_set.in-loop, with tensors that have no labels and one symbol per loop.
  Builder b;
  TensorView* in = b.input({b.n, b.m});
  TensorView* out = b.tensor({b.n, b.m});
  out->axis(0)->parallelize(ParallelType::Stream);
  b.program.addOutput(out);
  b.add(Allocate{.buffer = out, .size = b.program.mul(b.n, b.m)});
  Scalar* index = b.program.symbol("StreamIdx");
  StreamVal* caller = b.program.stream();
  StreamVal* worker = b.program.stream(b.program.mod(index, b.program.numberOfStreams()));
  TensorView* slice_in = b.tensor({b.m});
  TensorView* slice_out = b.tensor({b.m});
  for (TensorView* slice : {slice_in, slice_out}) slice->setMemoryType(MemoryType::Local);
  ForLoop loop{.index = index, .axis = out->axis(0), .body = {}};  // the range left out: the axis
  const auto body = [&](auto op) { loop.body.exprs.push_back(b.program.appendOp(std::move(op))); };
  body(GetCurrentStream{.stream = caller});
  body(SetCurrentStream{.stream = worker});
  body(Synchronize{.stream = caller});
  body(HirAliasSelect{.out = slice_in, .in = in, .axis = 0, .index = index});
  body(HirAliasSelect{.out = slice_out, .in = out, .axis = 0, .index = index});
  body(LoadStoreOp{.out = slice_out, .in = slice_in});
  body(SetCurrentStream{.stream = caller});
  body(Synchronize{.stream = worker});
  b.add(std::move(loop));
  expectRoundTrip(b.program,
                  R"(%HostIrContainer { (T0_g_float[iS0{i0}, iS1{i2}]) -> (T1_g_float[iStreamIdx2{i0}, iS3{i2}]) :
  T1_g_float[iStreamIdx2{i0}, iS3{i2}] = ALLOCATE(buffer=T1_g_float[iStreamIdx2{i0}, iS3{i2}], mem_type=global, size=( i0 * i2 ), zero_init=false, resets_to_zero=false)
  FOR StreamIdx in iStreamIdx2{i0}:
    GetCurrentStream into Stream 0
    SetCurrentStream to Stream ( StreamIdx % numberOfStreams )
    Synchronize Stream 0
    T2_l_float[iS4{i2}]
       = HirAliasSelect( T0_g_float[iS0{i0}, iS1{i2}], axis = iS0{i0}, index = StreamIdx )
    T3_l_float[iS5{i2}]
       = HirAliasSelect( T1_g_float[iStreamIdx2{i0}, iS3{i2}], axis = iStreamIdx2{i0}, index = StreamIdx )
    T3_l_float[iS5{i2}]
       = Set( T2_l_float[iS4{i2}], cache_op=Streaming )
    SetCurrentStream to Stream 0
    Synchronize Stream ( StreamIdx % numberOfStreams )
} // %HostIrContainer
)");
}

TEST(HostTextRoundTrip, NumbersAreGivenWhenPrinting) {
  Builder b;
  TensorView* in = b.input({b.program.symbol("i7"), b.program.symbol("rows")});
  in->setLabel(5);
  TensorView* first = b.tensor({b.number(4)});
  TensorView* dead = b.tensor({b.number(4)});  // not mentioned: it has no number
  dead->setLabel(90);
  TensorView* second = b.tensor({b.program.symbol("")});
  TensorView* twin = b.tensor({b.program.symbol("rows")});
  twin->setLabel(5);
  b.add(LoadStoreOp{.out = second, .in = twin, .cache_op = CacheOp::Unspecified});
  b.add(LoadStoreOp{.out = first, .in = in, .cache_op = CacheOp::Unspecified});
  b.add(Communication{.out = first, .in = first, .team = {0}, .number = 35});
  b.add(Wait{.communication = 35});
  expectRoundTrip(b.program, R"(%HostIrContainer { (T5_g_float[iS0{i0}, iS1{rows}]) -> () :
  T7_g_float[iS3{i2}]
     = Set( T8_g_float[iS4{rows_2}] )
  T6_g_float[iS2{4}]
     = Set( T5_g_float[iS0{i0}, iS1{rows}] )
  Communication 0 (type=Allgather, team=(0), input=T6_g_float[iS2{4}], output=T6_g_float[iS2{4}], backend=NCCL)
  Wait Communication 0
} // %HostIrContainer
)");
}

TEST(HostTextRoundTrip, EveryFunctionOnTensorsAndScalars) {
  for (const FunctionInfo& function : allFunctions()) {
    for (const DataType dtype : {DataType::F32, DataType::F64, DataType::I64, DataType::I32, DataType::Bool}) {
      const auto types = functionTypes(function.id, dtype);
      if (!types || types->operand != dtype) continue;
      Builder b;
      std::vector<Val*> tensors;
      for (int i = 0; i < function.arity; ++i) {
        const bool is_condition = function.rule == TypeRule::Choose && i == 0;
        tensors.push_back(b.input({b.n, b.number(3)}, is_condition ? DataType::Bool : dtype));
      }
      b.define(function.name, {{FieldRole::OperandList, "in", tensors}});
      for (size_t i = 0; i < tensors.size() && tensors.size() > 1; ++i) {
        std::vector<Val*> mixed = tensors;
        mixed[i] = isFloatingType(dtype) ? b.real(-0.5, dtype)
                                         : b.program.constant(ScalarValue{int64_t{-1}}, mixed[i]->dtype());
        b.define(function.name, {{FieldRole::OperandList, "in", mixed}});
        mixed[i] = b.program.symbol("", mixed[i]->dtype());
        b.define(function.name, {{FieldRole::OperandList, "in", mixed}});
      }
      SCOPED_TRACE(function.name);
      expectRoundTrip(b.program);
    }
  }
}

TEST(HostTextRoundTrip, PointwiseForms) {
  Builder b;
  TensorView* x = b.input({b.n});
  TensorView* y = b.input({b.n});
  TensorView* d = b.input({b.n}, DataType::F64);
  const auto list = [](std::vector<Val*> vals) { return Fields{{FieldRole::OperandList, "in", std::move(vals)}}; };
  b.define("add", list({x, y}));
  b.define("mul", list({b.real(2), x}));
  b.define("neg", list({x}));
  b.define("exp", list({x}));
  b.define("exp", list({d}));
  b.define("atan2", list({x, y}));
  b.define("clamp", list({x, b.real(0), b.program.symbol("f9", DataType::F32)}));
  b.define("cast", {operand(x), named("dtype", DataType::BF16)});
  expectRoundTrip(b.program,
                  R"(%HostIrContainer { (T0_g_float[iS0{i0}], T1_g_float[iS1{i0}], T2_g_double[iS2{i0}]) -> () :
  T3_g_float[iS3{i0}]
     = T0_g_float[iS0{i0}]
     + T1_g_float[iS1{i0}];
  T4_g_float[iS4{i0}]
     = float(2)
     * T0_g_float[iS0{i0}];
  T5_g_float[iS5{i0}]
     = -T0_g_float[iS0{i0}];
  T6_g_float[iS6{i0}]
     = expf(T0_g_float[iS0{i0}]);
  T7_g_double[iS7{i0}]
     = exp(T2_g_double[iS2{i0}]);
  T8_g_float[iS8{i0}]
     = atan2(T0_g_float[iS0{i0}]
    , T1_g_float[iS1{i0}]);
  T9_g_float[iS9{i0}]
     = clamp(T0_g_float[iS0{i0}]
    , float(0)
    , f2);
  T10_g___bfloat[iS10{i0}]
     = __float2bfloat(T0_g_float[iS0{i0}]);
} // %HostIrContainer
)");
}

TEST(HostTextRoundTrip, EveryCast) {
  for (const DataType from : kAllDataTypes) {
    for (const DataType to : kAllDataTypes) {
      Builder b;
      b.define("cast", {operand(b.input({b.n}, from)), named("dtype", to)});
      expectRoundTrip(b.program);
    }
  }
}

TEST(HostTextRoundTrip, StructuredMathOps) {
  Builder b;
  TensorView* x = b.input({b.n, b.m});
  TensorView* w = b.input({b.m, b.number(4)});
  b.define("set", {operand(x)});
  b.define("permute", {operand(x), named("order", std::vector<int64_t>{1, 0})});
  Expr* wide = b.define("broadcast", {operand(x), named("flags", std::vector<bool>{true, false, false})});
  b.define("expand", {operand(wide->output(0)), named("shape", std::vector<Scalar*>{b.number(32), b.n, b.m})});
  b.define("squeeze", {operand(wide->output(0)), named("flags", std::vector<bool>{true, false, false})});
  b.define("reshape", {operand(x), named("shape", std::vector<Scalar*>{b.program.mul(b.n, b.m)})});
  b.define("full", {named("shape", std::vector<Scalar*>{b.n, b.number(1)}), named("value", b.real(0.5, DataType::BF16)),
                    named("dtype", DataType::BF16)});
  b.define("iota", {named("length", b.n), named("start", b.number(3))});
  b.define("pad",
           {operand(x), named("widths", std::vector<Scalar*>{b.number(1), b.number(0), b.number(0), b.number(2)})});
  b.define("pad",
           {operand(x), named("widths", std::vector<Scalar*>{b.number(0), b.number(0), b.number(-1), b.number(2)}),
            named("value", b.real(1))});
  b.define("slice", {operand(x), named("starts", std::vector<Scalar*>{b.number(0), b.number(1)}),
                     named("stops", std::vector<Scalar*>{b.n, b.m})});
  b.define("cat", {{FieldRole::OperandList, "in", std::vector<Val*>{x, x}}, named("axis", int64_t{1})});
  b.define("select", {operand(x), {FieldRole::AxisNumber, "axis", int64_t{1}}, named("index", b.number(3))});
  b.define("matmul",
           {{FieldRole::Operand, "a", static_cast<Val*>(x)}, {FieldRole::Operand, "b", static_cast<Val*>(w)}});
  b.define("linear", {operand(x), {FieldRole::Operand, "weight", static_cast<Val*>(b.input({b.number(8), b.m}))}});
  for (const char* op : {"sum", "prod", "max", "min"}) {
    b.define(op, {operand(x), {FieldRole::AxisNumbers, "axes", std::vector<int64_t>{0, 1}}});
  }
  expectRoundTrip(
      b.program,
      R"(%HostIrContainer { (T0_g_float[iS0{i0}, iS1{i2}], T1_g_float[iS2{i2}, iS3{4}], T16_g_float[iS32{8}, iS33{i2}]) -> () :
  T2_g_float[iS4{i0}, iS5{i2}]
     = Set( T0_g_float[iS0{i0}, iS1{i2}], cache_op=Streaming )
  T3_g_float[iS6{i2}, iS7{i0}]
     = Set.Permute( T0_g_float[iS0{i0}, iS1{i2}], order={1, 0} )
  T4_g_float[bS8{1}, iS9{i0}, iS10{i2}]
     = broadcast( T0_g_float[iS0{i0}, iS1{i2}], flags = {true, false, false} )
  T5_g_float[bS11{1 ex 32}, iS12{i0}, iS13{i2}] = expand( T4_g_float[bS8{1}, iS9{i0}, iS10{i2}], {32, i0, i2} )
  T6_g_float[iS14{i0}, iS15{i2}]
     = squeeze( T4_g_float[bS8{1}, iS9{i0}, iS10{i2}], flags = {true, false, false} )
  T7_g_float[iS16{( i0 * i2 )}] = view( T0_g_float[iS0{i0}, iS1{i2}] )
  T8_g___bfloat[iS17{i0}, bS18{1}]
     = full({i0, 1}, __bfloat(0.5));
  T9_g_int64_t[iS19{i0}]
     = iota( length = i0, start = 3, step = 1, dtype = int64_t )
  T10_g_float[iS20{( i0 + 1 )}, iS21{( i2 + 2 )}]
     = pad( T0_g_float[iS0{i0}, iS1{i2}], {1, 0, 0, 2} )
  T11_g_float[iS22{i0}, iS23{( i2 + 1 )}]
     = pad( T0_g_float[iS0{i0}, iS1{i2}], {0, 0, -1, 2}, value = float(1) )
  T12_g_float[iS24{i0}, iS25{( i2 - 1 )}]
     = slice( T0_g_float[iS0{i0}, iS1{i2}], { {0, i0, 1} {1, i2, 1} } )
  T13_g_float[iS26{i0}, iS27{( i2 + i2 )}]
     = cat( T0_g_float[iS0{i0}, iS1{i2}], T0_g_float[iS0{i0}, iS1{i2}], 1 )
  T14_g_float[iS28{i0}]
     = select( T0_g_float[iS0{i0}, iS1{i2}], axis = iS1{i2}, index = 3 )
  T15_g_float[iS29{i0}, iS30{4}, rS31{i2}]
     = matmul(T0_g_float[iS0{i0}, iS1{i2}],
              T1_g_float[iS2{i2}, iS3{4}])
  T17_g_float[iS34{i0}, iS35{8}, rS36{i2}]
     = linear(T0_g_float[iS0{i0}, iS1{i2}],
              T16_g_float[iS32{8}, iS33{i2}]    )
  T18_g_float[rS37{i0}, rS38{i2}]
     = reduction( T0_g_float[iS0{i0}, iS1{i2}], op = add, initial value = float(0), allreduce = false )
  T19_g_float[rS39{i0}, rS40{i2}]
     = reduction( T0_g_float[iS0{i0}, iS1{i2}], op = mul, initial value = float(1), allreduce = false )
  T20_g_float[rS41{i0}, rS42{i2}]
     = reduction( T0_g_float[iS0{i0}, iS1{i2}], op = max, initial value = float(-inf), allreduce = false )
  T21_g_float[rS43{i0}, rS44{i2}]
     = reduction( T0_g_float[iS0{i0}, iS1{i2}], op = min, initial value = float(inf), allreduce = false )
} // %HostIrContainer
)");
}

TEST(HostTextRoundTrip, BordersAndProductsOfHalvesThatGiveSingles) {
  Builder b;
  TensorView* x = b.input({b.n, b.m}, DataType::BF16);
  TensorView* w = b.input({b.m, b.number(4)}, DataType::BF16);
  TensorView* weight = b.input({b.number(8), b.m}, DataType::BF16);
  b.define("segment_set", {operand(x)});
  b.define("matmul", {{FieldRole::Operand, "a", static_cast<Val*>(x)},
                      {FieldRole::Operand, "b", static_cast<Val*>(w)},
                      named("dtype", DataType::F32)});
  b.define("linear",
           {operand(x), {FieldRole::Operand, "weight", static_cast<Val*>(weight)}, named("dtype", DataType::F32)});
  expectRoundTrip(
      b.program,
      R"(%HostIrContainer { (T0_g___bfloat[iS0{i0}, iS1{i2}], T1_g___bfloat[iS2{i2}, iS3{4}], T2_g___bfloat[iS4{8}, iS5{i2}]) -> () :
  T3_g___bfloat[iS6{i0}, iS7{i2}]
     = SegmenterSet( T0_g___bfloat[iS0{i0}, iS1{i2}] )
  T4_g_float[iS8{i0}, iS9{4}, rS10{i2}]
     = matmul(T0_g___bfloat[iS0{i0}, iS1{i2}],
              T1_g___bfloat[iS2{i2}, iS3{4}])
  T5_g_float[iS11{i0}, iS12{8}, rS13{i2}]
     = linear(T0_g___bfloat[iS0{i0}, iS1{i2}],
              T2_g___bfloat[iS4{8}, iS5{i2}]    )
} // %HostIrContainer
)");
}

TEST(HostTextRoundTrip, ConstantsOfEveryType) {
  Builder b;
  TensorView* x = b.input({b.n});
  const auto add = [&](ScalarValue value, DataType dtype) {
    b.add(FullOp{
        .out = b.tensor({b.n}, dtype), .shape = {b.n}, .value = b.program.constant(value, dtype), .dtype = dtype});
  };
  const double inf = std::numeric_limits<double>::infinity();
  for (const DataType dtype : {DataType::F64, DataType::F32, DataType::F16, DataType::BF16}) {
    for (const double value : {0.0, -0.0, 0.1, -2.5, 3.0, 1e30, 1e-30, 16777216.0, inf, -inf}) add(value, dtype);
    add(std::numeric_limits<double>::quiet_NaN(), dtype);
  }
  for (const int64_t value : {int64_t{0}, int64_t{-7}, int64_t{2147483647}, int64_t{-2147483648}})
    add(value, DataType::I32);
  for (const int64_t value : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()})
    add(value, DataType::I64);
  add(true, DataType::Bool);
  add(false, DataType::Bool);
  b.add(LoadStoreOp{.out = b.tensor({b.n}), .in = x});
  expectRoundTrip(b.program);
}

TEST(HostTextRoundTrip, ScalarExpressionsKeepTheirForm) {
  Builder b;
  Fusion& f = b.program;
  Scalar* half = b.program.symbol("alpha", DataType::F16);
  Scalar* flag = b.program.symbol("", DataType::Bool);
  Scalar* small = b.program.symbol("i4", DataType::I32);
  Scalar* real = b.program.symbol("d", DataType::F64);
  Scalar* raw[] = {b.n, b.number(1)};
  b.add(FullOp{.out = b.tensor({b.n}),
               .shape = {f.rawScalar(ScalarOp::Mul, DataType::I64, raw), f.ceilDiv(b.n, b.number(4)),
                         f.mul(b.program.mul(b.n, b.number(8)), b.m), f.scalar(ScalarOp::Min, b.n, b.m),
                         f.scalar(ScalarOp::Max, b.n, small), f.scalar(ScalarOp::Select, flag, b.n, b.m)},
               .value = half});
  Scalar* operands[] = {real};
  b.add(FullOp{.out = b.tensor({b.n}, DataType::F64),
               .shape = {},
               .value = f.rawScalar(ScalarOp::Function, DataType::F64, operands, FunctionId::rsqrt),
               .dtype = DataType::F64});
  Scalar* casted[] = {b.n};
  b.add(FullOp{.out = b.tensor({b.n}), .shape = {}, .value = f.rawScalar(ScalarOp::Cast, DataType::F32, casted)});
  b.add(IfThenElse{
      .predicate = f.scalar(ScalarOp::And, f.scalar(ScalarOp::Less, b.n, b.m), f.scalar(ScalarOp::Not, flag)),
      .then_body = {},
      .else_body = {}});
  expectRoundTrip(b.program, R"(%HostIrContainer { () -> () :
  T0_g_float[iS0{i0}]
     = full({( i0 * 1 ), ( ceilDiv(i0, 4) ), ( ( i0 * i2 ) * 8 ), ( min(i0, i2) ), ( max(i0, i3) ), ( where(b4, i0, i2) )}, alpha);
  T1_g_double[iS1{i0}]
     = full({}, ( rsqrt(d) ));
  T2_g_float[iS2{i0}]
     = full({}, ( f32(i0) ));
  IF ( ( i0 < i2 ) && ( !b4 ) ):
} // %HostIrContainer
Scalars:{
  i3: int
  alpha: __half
  d: double
}
)");
}

TEST(HostTextRoundTrip, AxesOfEveryKindAndParallelType) {
  Builder b;
  for (const IterKind kind : {IterKind::Iteration, IterKind::Reduction, IterKind::Broadcast, IterKind::Stride,
                              IterKind::GatherScatter, IterKind::VectorComponent, IterKind::Symbolic}) {
    Axes axes;
    for (int type = 0; type <= static_cast<int>(ParallelType::Bulk); ++type) {
      axes.push_back(b.program.axis({.kind = kind,
                                     .extent = b.n,
                                     .expanded_extent = type % 2 == 0 ? b.m : nullptr,
                                     .is_rfactor = type % 3 == 0,
                                     .parallel = static_cast<ParallelType>(type)}));
    }
    for (const DataType dtype : kAllDataTypes) {
      TensorView* tensor = b.program.tensor(dtype, Axes(axes));
      tensor->setMemoryType(static_cast<MemoryType>(static_cast<int>(dtype) % 4));
      b.program.addInput(tensor);
    }
  }
  expectRoundTrip(b.program);
}

TEST(HostTextRoundTrip, HostStatements) {
  Builder b;
  TensorView* x = b.input({b.n});
  TensorView* y = b.tensor({b.n});
  TensorView* pinned = b.tensor({b.n});
  pinned->setMemoryKind(MemoryKind::Pinned);
  b.add(Allocate{.buffer = pinned, .size = b.n, .zero_init = true, .resets_to_zero = true});
  b.add(Allocate{.buffer = y});
  b.add(Deallocate{.buffer = y});
  b.add(GetCurrentStream{.stream = b.program.stream()});
  b.add(SetCurrentStream{.stream = b.program.stream(b.number(3))});
  b.add(SetCurrentStream{.stream = b.program.defaultStream()});
  b.add(SetCurrentStream{.stream = b.program.stream()});
  b.add(Synchronize{.stream = b.program.stream(b.n)});
  Scalar* index = b.program.symbol("");
  ForLoop loop{.index = index, .start = b.number(1), .stop = b.number(7), .step = b.number(2), .body = {}};
  IfThenElse choice{.predicate = b.program.scalar(ScalarOp::Less, index, b.n), .then_body = {}, .else_body = {}};
  choice.then_body.exprs = {b.program.appendOp(StartCoalescing{})};
  choice.else_body.exprs = {b.program.appendOp(EndCoalescing{.number = 4})};
  loop.body.exprs = {b.program.appendOp(std::move(choice)), b.program.appendOp(StartCoalescing{})};
  b.add(std::move(loop));
  b.add(ForLoop{.index = index, .start = b.number(0), .stop = b.m, .axis = x->axis(0), .body = {}});
  b.add(ForLoop{.index = index, .start = b.number(0), .stop = b.number(4), .step = b.number(1), .body = {}});
  b.add(LaunchKernel{.kernel = 2,
                     .ins = {x, b.n},
                     .outs = {y},
                     .grid = {b.program.ceilDiv(b.n, b.number(128)), b.number(1), b.number(1)},
                     .block = {b.number(128), b.number(1), b.number(1)}});
  expectRoundTrip(b.program, R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T2_g_float[iS2{i0}] = ALLOCATE(buffer=T2_g_float[iS2{i0}], mem_type=pinned, size=i0, zero_init=true, resets_to_zero=true)
  T1_g_float[iS1{i0}] = ALLOCATE(buffer=T1_g_float[iS1{i0}], mem_type=global, size=none, zero_init=false, resets_to_zero=false)
  DEALLOCATE(buffer=T1_g_float[iS1{i0}])
  GetCurrentStream into Stream 0
  SetCurrentStream to Stream ( 3 )
  SetCurrentStream to Stream default
  SetCurrentStream to Stream 2
  Synchronize Stream ( i0 )
  FOR i2 from 1 to 7 step 2:
    IF ( i2 < i0 ):
      StartCoalescing
    ELSE:
      EndCoalescing
    StartCoalescing
  FOR i2 in iS0{i0} from 0 to i3:
  FOR i2 from 0 to 4:
  LaunchKernel(Kernel2, grid={( ceilDiv(i0, 128) ), 1, 1}, block={128, 1, 1}, Inputs: {T0_g_float[iS0{i0}], i0, }, Outputs: {T1_g_float[iS1{i0}], })
} // %HostIrContainer
)");
}

TEST(HostTextRoundTrip, AStreamMayBeAnInput) {
  Builder b;
  StreamVal* stream = b.program.stream();
  b.add(GetCurrentStream{.stream = b.program.stream()});
  b.add(Synchronize{.stream = stream});
  b.program.addInput(stream);
  b.program.addInput(b.program.stream(b.n));
  expectRoundTrip(b.program, R"(%HostIrContainer { (Stream 0, Stream ( i0 )) -> () :
  GetCurrentStream into Stream 2
  Synchronize Stream 0
} // %HostIrContainer
)");
}

TEST(HostTextRoundTrip, Communications) {
  Builder b;
  TensorView* x = b.input({b.n});
  TensorView* y = b.tensor({b.n});
  x->setMesh({.shape = {2, 2}, .devices = {0, 1, 2, 3}});
  y->setMesh({.shape = {1, 2, 1}, .devices = {4, 5}});
  y->setPartials({{ReductionKind::Max, ParallelType::DIDy}, {ReductionKind::Max, ParallelType::DIDx}});
  int64_t number = 7;
  for (int type = 0; type <= static_cast<int>(CommunicationType::AllToAll); ++type) {
    b.add(Communication{
        .out = type % 3 == 2 ? nullptr : y,
        .in = type % 3 == 1 ? nullptr : x,
        .type = static_cast<CommunicationType>(type),
        .team = {0, 1, 2},
        .root = type % 4 == 0   ? b.number(1)
                : type % 4 == 2 ? b.program.symbol("rank")
                                : nullptr,
        .backend = static_cast<CommunicatorBackend>(type % 4),
        .number = ++number,
        .reduction = static_cast<ReductionKind>(type % 4),
        .axis = type % 2 == 0 ? 0 : -1,
        .parts = type % 2 == 0 ? std::vector<Scalar*>{b.n, b.number(2), b.number(0)} : std::vector<Scalar*>()});
  }
  b.add(StartCoalescing{});
  b.add(P2pCommunication{.buffer = x, .type = P2pType::Send, .peer = b.program.symbol("rank"), .number = ++number});
  b.add(P2pCommunication{.buffer = y, .type = P2pType::Recv, .peer = b.number(0), .number = ++number});
  b.add(EndCoalescing{.number = ++number});
  b.add(CollectivePermute{
      .out = y, .in = x, .team = {0, 1}, .send_peer = b.number(1), .recv_peer = nullptr, .number = 3});
  b.add(EndCoalescing{.number = 3});
  b.add(Wait{.communication = number});
  b.add(Wait{.communication = 8});
  const std::string text = printHostProgram(b.program);
  EXPECT_NE(text.find("T0_g_float[iS0{i0}] (DeviceMesh{{0 1} {2 3}})"), std::string::npos) << text;
  EXPECT_NE(text.find("(DeviceMesh{{{4} {5}}}) (Partial{max DIDx}) (Partial{max DIDy})"), std::string::npos) << text;
  EXPECT_NE(text.find("  Communication 0 (type=Gather, team=(0 1 2), root=1, axis=0, parts=(i0, 2, 0), input="),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("(type=Scatter, team=(0 1 2), root=rank, "), std::string::npos) << text;
  EXPECT_NE(text.find("  P2PCommunication 9 (type=send, buffer="), std::string::npos) << text;
  EXPECT_NE(text.find("  EndCoalescing 11\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  CollectivePermute 12 (team=(0 1), send_peer=1, recv_peer=none, input="), std::string::npos)
      << text;
  EXPECT_NE(text.find("  EndCoalescing\n  Wait Communication 11\n  Wait Communication 0\n"), std::string::npos) << text;
  expectRoundTrip(b.program);
}

TEST(HostTextRoundTrip, Aliases) {
  Builder b;
  TensorView* x = b.input({b.n});
  TensorView* y = b.tensor({b.n});
  TensorView* z = b.tensor({b.n});
  b.program.addOutput(z);
  b.program.addOutput(y);
  b.program.markAlias(y, z);
  b.program.markAlias(b.tensor({b.n}), y);
  b.program.aliasOutput(y, x, true);
  expectRoundTrip(b.program, R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> (T2_g_float[iS2{i0}], T1_g_float[iS1{i0}]) :
} // %HostIrContainer
Aliases:{
  T1_g_float[iS1{i0}] -> T3_g_float[iS3{i0}]
  T2_g_float[iS2{i0}] -> T1_g_float[iS1{i0}]
}
OutputAliases:{
  T1_g_float[iS1{i0}] -> T0_g_float[iS0{i0}] hidden
}
)");
}

TEST(HostTextRoundTrip, Views) {
  Builder b;
  TensorView* x = b.input({b.n});
  BroadcastOp broadcast{.out = nullptr, .in = x, .flags = {true, false}};
  broadcast.infer(ShapeRule(b.program, "broadcast"));
  Expr* statement = b.program.appendOp(std::move(broadcast));
  b.program.pushBack(statement);
  b.program.addOutput(asTensor(statement->output(0)));
  b.program.markView(x, asTensor(statement->output(0)));
  expectRoundTrip(b.program, R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> (T1_l_float[bS1{1}, iS2{i0}]) :
  T1_l_float[bS1{1}, iS2{i0}]
     = broadcast( T0_g_float[iS0{i0}], flags = {true, false} )
} // %HostIrContainer
Views:{
  T1_l_float[bS1{1}, iS2{i0}] -> T0_g_float[iS0{i0}]
}
)");
}

// Splits axis `axis` of the loop domain.
void split(TensorView* tensor, size_t axis, Scalar* factor, bool is_inner) {
  Fusion& fusion = tensor->fusion();
  Axes& loop = tensor->mutableDomain().loop;
  IterDomain* in = loop[axis];
  Scalar* other = fusion.ceilDiv(in->extent(), factor);
  IterDomain* outer = fusion.axis({.kind = in->kind(), .extent = is_inner ? other : factor});
  IterDomain* inner = fusion.axis({.kind = in->kind(), .extent = is_inner ? factor : other});
  fusion.domainExpr({.kind = DomainExprKind::Split,
                     .in = {in, nullptr},
                     .out = {outer, inner},
                     .factor = factor,
                     .is_inner_factor = is_inner});
  loop[axis] = outer;
  loop.insert(loop.begin() + static_cast<std::ptrdiff_t>(axis) + 1, inner);
}

void merge(TensorView* tensor, size_t axis) {
  Fusion& fusion = tensor->fusion();
  Axes& loop = tensor->mutableDomain().loop;
  IterDomain* merged = fusion.axis({.extent = fusion.mul(loop[axis]->extent(), loop[axis + 1]->extent())});
  fusion.domainExpr({.kind = DomainExprKind::Merge, .in = {loop[axis], loop[axis + 1]}, .out = {merged, nullptr}});
  loop[axis] = merged;
  loop.erase(loop.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
}

TEST(HostTextRoundTrip, DomainsThatAreNotTheDefault) {
  Builder b;
  TensorView* x = b.input({b.n, b.m});
  split(x, 0, b.number(4), true);
  x->axis(0)->parallelize(ParallelType::Stream);
  TensorView* y = b.input({b.n, b.m});
  merge(y, 0);
  split(y, 0, b.number(3), false);
  y->mutableDomain().allocation = {y->logical()[1], y->logical()[0]};
  y->mutableDomain().contiguity = {false, true};
  y->mutableDomain().stride_order = {0, 1};
  y->mutableDomain().stride_order_hint = {1, 0};
  TensorView* z = b.input({b.n});
  z->setMemoryKind(MemoryKind::Host);
  z->mutableDomain().contiguity = {std::nullopt};
  TensorView* scalar = b.input({});
  scalar->setMemoryKind(MemoryKind::Pinned);
  TensorView* reshaped = b.tensor({b.n});
  reshaped->mutableDomain().root = {b.program.axis({.extent = b.m})};
  expectRoundTrip(
      b.program,
      R"(%HostIrContainer { (T0_g_float[iStreamIdx2{( ceilDiv(i0, 4) )}, iS3{4}, iS1{i2}], T1_g_float[iS7{3}, iS8{( ceilDiv(( i0 * i2 ), 3) )}], T2_g_float[iS9{i0}], T3_g_float[]) -> () :
} // %HostIrContainer
Domains:{
  T0:{
    split iS0{i0} by 4 -> iStreamIdx2{( ceilDiv(i0, 4) )}, iS3{4}
    logical [iS0{i0}, iS1{i2}]
  }
  T1:{
    merge iS4{i0}, iS5{i2} -> iS6{( i0 * i2 )}
    outer split iS6{( i0 * i2 )} by 3 -> iS7{3}, iS8{( ceilDiv(( i0 * i2 ), 3) )}
    logical [iS4{i0}, iS5{i2}]
    allocation [iS5{i2}, iS4{i0}]
    contiguity [false, true]
    stride_order [0, 1]
    stride_order_hint [1, 0]
  }
  T2:{
    contiguity [none]
    memory host
  }
  T3:{
    memory pinned
  }
}
)");
}

TEST(HostTextRoundTrip, AnOpsOwnTransform) {
  Builder b;
  TensorView* x = b.tensor({b.program.mul(b.n, b.m)});
  IterDomain* root[2] = {b.program.axis({.extent = b.n}), b.program.axis({.extent = b.m})};
  IterDomain* merged = b.program.axis({.extent = b.program.mul(b.n, b.m), .is_rfactor = true});
  b.program.domainExpr({.kind = DomainExprKind::Merge, .in = {root[0], root[1]}, .out = {merged, nullptr}});
  x->mutableDomain().root = {root[0], root[1]};
  x->mutableDomain().logical = {merged};
  x->mutableDomain().loop = {merged};
  split(x, 0, b.number(2), true);
  b.program.addInput(x);
  expectRoundTrip(b.program);
}

TEST(HostTextRoundTrip, SwizzledAxes) {
  for (const SwizzleType type : {SwizzleType::Xor, SwizzleType::CyclicShift}) {
    Builder b;
    TensorView* x = b.input({b.number(8), b.number(8)});
    Axes& loop = x->mutableDomain().loop;
    Axes swizzled = {b.program.axis({.extent = b.number(8)}), b.program.axis({.extent = b.number(8)})};
    DomainExpr step{.kind = DomainExprKind::Swizzle, .in = {loop[0], loop[1]}, .out = {swizzled[0], swizzled[1]}};
    step.swizzle = type;
    b.program.domainExpr(step);
    loop = swizzled;
    expectRoundTrip(b.program);
  }
}

TEST(HostTextRoundTrip, SplitAxesAreSliced) {
  Builder b;
  TensorView* x = b.input({b.n, b.m});
  TensorView* out = b.input({b.n, b.m});
  split(out, 0, b.number(3), true);
  out->axis(0)->parallelize(ParallelType::Stream);
  Scalar* index = b.program.symbol("StreamIdx");
  Scalar* start = b.program.mul(index, b.number(3));
  Scalar* stop = b.program.scalar(ScalarOp::Min, b.program.add(start, b.number(3)), b.n);
  TensorView* chunk = b.tensor({b.program.sub(stop, start), b.m});
  chunk->setMemoryType(MemoryType::Local);
  ForLoop loop{.index = index, .axis = out->axis(0), .body = {}};
  loop.body.exprs = {
      b.program.appendOp(HirAliasSlice{.out = chunk, .in = out, .axis = 0, .start = start, .stop = stop}),
      b.program.appendOp(HirAliasSelect{.out = b.tensor({b.m}), .in = x, .axis = 9, .index = index})};
  b.add(std::move(loop));
  expectRoundTrip(
      b.program,
      R"(%HostIrContainer { (T0_g_float[iS0{i0}, iS1{i2}], T1_g_float[iStreamIdx4{( ceilDiv(i0, 3) )}, iS5{3}, iS3{i2}]) -> () :
  FOR StreamIdx in iStreamIdx4{( ceilDiv(i0, 3) )}:
    T2_l_float[iS6{( ( min(i0, ( ( StreamIdx + 1 ) * 3 )) ) - ( StreamIdx * 3 ) )}, iS7{i2}]
       = HirAliasSlice( T1_g_float[iStreamIdx4{( ceilDiv(i0, 3) )}, iS5{3}, iS3{i2}], axis = iS2{i0}, start = ( StreamIdx * 3 ), stop = ( min(i0, ( ( StreamIdx + 1 ) * 3 )) ) )
    T3_g_float[iS8{i2}]
       = HirAliasSelect( T0_g_float[iS0{i0}, iS1{i2}], axis = 9, index = StreamIdx )
} // %HostIrContainer
Domains:{
  T1:{
    split iS2{i0} by 3 -> iStreamIdx4{( ceilDiv(i0, 3) )}, iS5{3}
    logical [iS2{i0}, iS3{i2}]
  }
}
)");
}

TEST(HostTextRoundTrip, Segments) {
  Builder b;
  auto segment = std::make_shared<HostSegment>();
  segment->number = 12;
  segment->fusion = std::make_unique<Fusion>("double it");
  {
    Fusion& f = *segment->fusion;
    TensorView* in = f.tensor(DataType::F32, {f.axis({.extent = f.symbol("rows")})});
    in->setMemoryKind(MemoryKind::Pinned);
    f.addInput(in);
    Expr* sum = defineExpr(f, OpKind::PointwiseOp,
                           {{FieldRole::Spelling, "function", findOp("add")->spelling.value()},
                            {FieldRole::OperandList, "in", std::vector<Val*>{in, in}}});
    f.addOutput(asTensor(sum->output(0)));
  }
  auto plain = std::make_shared<HostSegment>();
  plain->fusion = std::make_unique<Fusion>("plain");
  TensorView* x = b.input({b.n});
  TensorView* y = b.tensor({b.n});
  b.add(PostOnStream{.segment = segment, .ins = {x, b.n}, .outs = {y}});
  b.add(PostOnStream{.segment = std::make_shared<HostSegment>(), .ins = {}, .outs = {}});
  b.add(PostOnStream{.segment = segment, .ins = {y}, .outs = {x}});
  b.add(PostOnStream{.segment = plain, .ins = {b.program.defaultStream()}, .outs = {}});
  b.add(PostOnStream{});
  expectRoundTrip(b.program, R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  PostOnStream (HostUnit0, Inputs:{T0_g_float[iS0{i0}], i0, }, Outputs:{T1_g_float[iS1{i0}], })
  PostOnStream (HostUnit1, Inputs:{}, Outputs:{})
  PostOnStream (HostUnit0, Inputs:{T1_g_float[iS1{i0}], }, Outputs:{T0_g_float[iS0{i0}], })
  PostOnStream (HostUnit2, Inputs:{Stream default, }, Outputs:{})
  PostOnStream (none, Inputs:{}, Outputs:{})
} // %HostIrContainer
HostUnit0{
  %Fusion "double it" { (T0_l_float[iS0{rows}]) -> (T1_l_float[iS1{rows}]) :
    T1_l_float[iS1{rows}]
       = T0_l_float[iS0{rows}]
       + T0_l_float[iS0{rows}];
  } // %Fusion
  Domains:{
    T0:{
      memory pinned
    }
  }
}
HostUnit1{
}
HostUnit2{
  %Fusion plain { () -> () :
  } // %Fusion
}
)");
}

TEST(HostTextRoundTrip, LoopsMayShareTheNameOfTheirIndex) {
  Builder b;
  TensorView* x = b.input({b.n});
  Scalar* outer = b.program.symbol("StreamIdx");
  Scalar* inner = b.program.symbol("StreamIdx");
  ForLoop nest{.index = outer, .axis = x->axis(0), .body = {}};
  nest.body.exprs = {b.program.appendOp(ForLoop{.index = inner, .axis = x->axis(0), .body = {}})};
  b.add(std::move(nest));
  b.add(ForLoop{.index = b.program.symbol("StreamIdx"), .axis = x->axis(0), .body = {}});
  expectRoundTrip(b.program, R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  FOR StreamIdx in iS0{i0}:
    FOR StreamIdx_2 in iS0{i0}:
  FOR StreamIdx in iS0{i0}:
} // %HostIrContainer
)");
}

TEST(HostTextRoundTrip, CommentsAndBlanksDoNotMatter) {
  const auto program = parseHostProgram(R"(// RUN: tokamak opt %s
%HostIrContainer { ( T4_g_float[ iS7{i3} ] )
   ->() : // a comment
  // another
  GetCurrentStream into
      Stream 7
  T6_g_float[iS9{i3}]   =
Set(T4_g_float[iS7{ i3 }] , cache_op = Global)
}
// after
)",
                                        "program.host_ir");
  expectRoundTrip(*program, R"(%HostIrContainer { (T4_g_float[iS0{i0}]) -> () :
  GetCurrentStream into Stream 0
  T6_g_float[iS1{i0}]
     = Set( T4_g_float[iS0{i0}], cache_op=Global )
} // %HostIrContainer
)");
}

TEST(HostEquality, TheFirstDifferenceIsNamed) {
  const auto make = [](DataType dtype, bool zero_init) {
    auto b = std::make_unique<Builder>();
    b->add(Allocate{.buffer = b->input({b->n}), .zero_init = zero_init});
    b->add(FullOp{.out = b->tensor({b->n}), .shape = {b->n}, .value = b->number(1), .dtype = dtype});
    return b;
  };
  const auto first = make(DataType::F32, false);
  EXPECT_TRUE(isEqual(first->program, make(DataType::F32, false)->program));
  EXPECT_EQ(firstDifference(first->program, make(DataType::F64, false)->program),
            "statement 1: full: 'dtype' is float in the first, double in the second");
  EXPECT_EQ(
      firstDifference(first->program, make(DataType::F32, true)->program),
      "line 2 of the text: '  T0_g_float[iS0{i0}] = ALLOCATE(buffer=T0_g_float[iS0{i0}], mem_type=global, size=none, "
      "zero_init=false, resets_to_zero=false)' in the first, '  T0_g_float[iS0{i0}] = "
      "ALLOCATE(buffer=T0_g_float[iS0{i0}], "
      "mem_type=global, size=none, zero_init=true, resets_to_zero=false)' in the second");
}

TEST(HostTextPrinter, ALoopNeedsAnIndexAndAnEnd) {
  const auto messageOf = [](const HostIrContainer& program) -> std::string {
    try {
      return printHostProgram(program);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::HostProgram);
      return error.message();
    }
  };
  Builder without_index;
  without_index.add(ForLoop{.stop = without_index.n, .body = {}});
  EXPECT_EQ(messageOf(without_index.program), "FOR: the index of a loop must be a symbol");
  Builder without_end;
  without_end.add(ForLoop{.index = without_end.n, .body = {}});
  EXPECT_EQ(messageOf(without_end.program), "FOR: the loop over i0 has neither an axis nor a stop");
}

}  // namespace
}  // namespace tokamak
