#include "host/ir/verifier.h"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/all_ops.h"
#include "ir/shape_rule.h"
#include "kernel/parse_kernel.h"
#include "unit/fusion_mutator.h"

namespace tokamak {
namespace {

using M = FusionMutator;

// A set streamed over its rows, a collective of its result, and a sub-fusion of that. The statements are kept by name,
// for mutants.
struct Sample {
  Sample() {
    HostIrContainer& p = program;
    rows = p.symbol("i0");
    index = p.symbol("StreamIdx");
    in = matrix();
    copied = matrix();
    gathered = matrix();
    posted = matrix();
    row_in = row();
    row_out = row();
    p.addInput(in);
    caught = p.stream();
    worker = p.stream(p.mod(index, p.numberOfStreams()));

    allocate = push(Allocate{copied, elements()});
    get = push(GetCurrentStream{caught});
    body = {p.appendOp(SetCurrentStream{worker}),
            p.appendOp(Synchronize{caught}),
            select_in = p.appendOp(HirAliasSelect{row_in, in, 0, index}),
            select_out = p.appendOp(HirAliasSelect{row_out, copied, 0, index}),
            set = p.appendOp(LoadStoreOp{row_out, row_in}),
            p.appendOp(SetCurrentStream{caught}),
            p.appendOp(Synchronize{worker})};
    loop = push(ForLoop{index, p.constant(0), rows, p.constant(1), in->logical()[0], Block{body}});
    start = push(StartCoalescing{});
    gather = push(Communication{
        gathered, copied, CommunicationType::Broadcast, {0, 1}, p.constant(1), CommunicatorBackend::NCCL, 3});
    end = push(EndCoalescing{4});
    wait = push(Wait{4});
    post = push(PostOnStream{makeUnit(), {gathered}, {posted}});
    free = push(Deallocate{gathered});
    p.addKernel(0, makeKernel(""));
    p.addKernel(1, makeKernel(" updates T0"));
    push(launch(0, {in}, {matrix()}));
    p.addOutput(copied);
    p.addOutput(posted);
  }

  Scalar* elements() { return program.mul(rows, program.constant(8)); }
  TensorView* matrix() {
    return program.tensor(DataType::F32,
                          {program.axis({.extent = rows}), program.axis({.extent = program.constant(8)})});
  }
  TensorView* row() { return program.tensor(DataType::F32, Axes{program.axis({.extent = program.constant(8)})}); }

  template <class Op>
  Expr* push(Op op) {
    program.pushBack(program.appendOp(std::move(op)));
    return program.topLevel().exprs.back();
  }

  // Of kernel 0, which copies a matrix, or of 1, which changes it in place.
  LaunchKernel launch(int64_t kernel, std::vector<Val*> ins, std::vector<TensorView*> outs) {
    Scalar* one = program.constant(1);
    return {.kernel = kernel,
            .ins = std::move(ins),
            .outs = std::move(outs),
            .grid = {one, one, one},
            .block = {one, one, one}};
  }
  static std::shared_ptr<const kir::Kernel> makeKernel(std::string_view updates) {
    return std::make_shared<const kir::Kernel>(
        kir::parseKernel(fmt::format("kernel k(T0: f32[n:8, 8:1], n: i64) -> T1: f32[n:8, 8:1]{} {{\n"
                                     "  for k in 0..( n * 8 ) {{\n    T1[k] = T0[k]\n  }}\n}}\n",
                                     updates),
                         "kernel"));
  }

  static std::shared_ptr<const HostSegment> makeUnit() {
    auto fusion = std::make_unique<Fusion>("unit");
    TensorView* tensor = fusion->tensor(
        DataType::F32, {fusion->axis({.extent = fusion->symbol("i0")}), fusion->axis({.extent = fusion->constant(8)})});
    fusion->addInput(tensor);
    CastOp op{nullptr, tensor, DataType::F32};
    op.infer(ShapeRule(*fusion, "cast"));
    fusion->addOutput(asTensor(fusion->appendOp(op)->output(0)));
    return std::make_shared<const HostSegment>(HostSegment{0, std::move(fusion)});
  }

  std::vector<Expr*>& loopBody() { return M::op<ForLoop>(loop).body.exprs; }
  /// Takes the statement out of the top level, or puts it before another.
  void drop(const Expr* statement) {
    Block block = program.topLevel();
    std::erase(block.exprs, statement);
    program.setTopLevel(block);
  }
  void putBefore(Expr* statement, const Expr* place) {
    Block block = program.topLevel();
    block.exprs.insert(std::ranges::find(block.exprs, place), statement);
    program.setTopLevel(block);
  }

  HostIrContainer program{"sample"};
  HostIrContainer stranger{"stranger"};
  Scalar* rows;
  Scalar* index;
  TensorView *in, *copied, *gathered, *posted, *row_in, *row_out;
  StreamVal *caught, *worker;
  Expr *allocate, *get, *loop, *select_in, *select_out, *set, *start, *gather, *end, *wait, *post, *free;
  std::vector<Expr*> body;
};

struct Mutant {
  const char* invariant;
  const char* what;
  std::function<void(Sample&)> make;
};

const std::vector<Mutant> kMutants = {
    {"statement-forms", "a statement twice", [](Sample& s) { s.program.pushBack(s.wait); }},
    {"statement-forms", "a statement in two bodies", [](Sample& s) { s.loopBody().push_back(s.wait); }},
    {"statement-forms", "a statement of another program",
     [](Sample& s) { s.program.pushBack(s.stranger.appendOp(Wait{4})); }},
    {"statement-forms", "no statement", [](Sample& s) { s.loopBody().push_back(nullptr); }},
    {"fields", "a loop without an end", [](Sample& s) { M::op<ForLoop>(s.loop).stop = nullptr; }},
    {"fields", "a loop without an index", [](Sample& s) { M::op<ForLoop>(s.loop).index = nullptr; }},
    {"fields", "a view without an index", [](Sample& s) { M::op<HirAliasSelect>(s.select_in).index = nullptr; }},
    {"fields", "an allocation without a size", [](Sample& s) { M::op<Allocate>(s.allocate).size = nullptr; }},
    {"fields", "a post of nothing", [](Sample& s) { M::op<PostOnStream>(s.post).segment = nullptr; }},
    {"fields", "a communication of nothing",
     [](Sample& s) { M::op<Communication>(s.gather).in = M::op<Communication>(s.gather).out = nullptr; }},
    {"fields", "a choice without a predicate", [](Sample& s) { s.push(IfThenElse{}); }},
    {"vals-owned", "a scalar of another program",
     [](Sample& s) { M::op<ForLoop>(s.loop).stop = s.stranger.symbol("x"); }},
    {"vals-owned", "an output of another program",
     [](Sample& s) { M::outputs(s.program).push_back(s.stranger.tensor(DataType::F32, Axes{})); }},
    {"loops", "a loop that does not advance", [](Sample& s) { M::op<ForLoop>(s.loop).step = s.program.constant(0); }},
    {"loops", "a loop over a constant", [](Sample& s) { M::op<ForLoop>(s.loop).index = s.program.constant(3); }},
    {"index-scopes", "an index after its loop", [](Sample& s) { s.push(HirAliasSelect{s.row(), s.in, 0, s.index}); }},
    {"index-scopes", "a stream of an index before its loop",
     [](Sample& s) { s.putBefore(s.program.appendOp(SetCurrentStream{s.worker}), s.loop); }},
    {"index-scopes", "a loop over the index of the loop around it",
     [](Sample& s) {
       s.loopBody().push_back(
           s.program.appendOp(ForLoop{s.index, s.program.constant(0), s.rows, s.program.constant(1), nullptr, {}}));
     }},
    {"inputs-not-aliased", "an aliased input", [](Sample& s) { s.program.markAlias(s.gathered, s.in); }},
    {"aliases-end", "a circle of aliases",
     [](Sample& s) {
       M::aliases(s.program)[s.copied] = s.gathered;
       M::aliases(s.program)[s.gathered] = s.copied;
     }},
    {"aliases-end", "an alias of another type",
     [](Sample& s) { s.program.markAlias(s.program.tensor(DataType::F64, Axes{}), s.copied); }},
    {"views", "a view along an axis that is not there", [](Sample& s) { M::op<HirAliasSelect>(s.select_in).axis = 2; }},
    {"views", "a view of another rank", [](Sample& s) { M::op<HirAliasSelect>(s.select_in).out = s.gathered; }},
    {"views", "a view of another type", [](Sample& s) { M::dtype(s.row_in) = DataType::I64; }},
    {"views", "a slice that loses an axis",
     [](Sample& s) { s.push(HirAliasSlice{s.row(), s.in, 0, s.program.constant(0), s.rows}); }},
    {"marked-views", "a view that is allocated", [](Sample& s) { s.program.markView(s.in, s.copied); }},
    {"marked-views", "a view that a copy gives", [](Sample& s) { s.program.markView(s.row_in, s.row_out); }},
    {"demands", "an extent that a loop's index tells",
     [](Sample& s) { s.program.addDemand({.op = "add", .first = s.rows, .second = s.program.mul(s.index, s.rows)}); }},
    {"shapes", "a copy of another rank", [](Sample& s) { s.push(LoadStoreOp{.out = s.row(), .in = s.in}); }},
    {"shapes", "a cast of another type",
     [](Sample& s) { s.push(CastOp{.out = s.matrix(), .in = s.in, .dtype = DataType::F64}); }},
    {"partials", "terms over a mesh that is not there",
     [](Sample& s) { s.posted->setPartials({{ReductionKind::Sum, ParallelType::DIDx}}); }},
    {"partials", "a partial input",
     [](Sample& s) {
       s.in->setMesh({.shape = {2}, .devices = {0, 1}});
       s.in->setPartials({{ReductionKind::Sum, ParallelType::DIDx}});
     }},
    {"partials", "a partial output",
     [](Sample& s) {
       s.program.outputs()[0]->setMesh({.shape = {2}, .devices = {0, 1}});
       s.program.outputs()[0]->setPartials({{ReductionKind::Sum, ParallelType::DIDx}});
     }},
    {"segments", "a sub-fusion whose copy has another rank",
     [](Sample& s) {
       auto& unit = const_cast<Fusion&>(*M::op<PostOnStream>(s.post).segment->fusion);
       TensorView* row = unit.tensor(DataType::F32, Axes{unit.axis({.extent = unit.constant(8)})});
       unit.appendOp(LoadStoreOp{.out = row, .in = asTensor(unit.inputs()[0])});
     }},
    {"segments", "an operand of another rank", [](Sample& s) { M::op<PostOnStream>(s.post).ins[0] = s.row_in; }},
    {"segments", "an operand too many", [](Sample& s) { M::op<PostOnStream>(s.post).ins.push_back(s.in); }},
    {"segments", "a result of another type", [](Sample& s) { M::dtype(s.posted) = DataType::F64; }},
    {"launches", "a kernel that is not there", [](Sample& s) { s.push(s.launch(3, {s.in}, {s.matrix()})); }},
    {"launches", "an operand too many", [](Sample& s) { s.push(s.launch(0, {s.in, s.in}, {s.matrix()})); }},
    {"launches", "a scalar in the place of a tensor", [](Sample& s) { s.push(s.launch(0, {s.rows}, {s.matrix()})); }},
    {"launches", "a result of another rank", [](Sample& s) { s.push(s.launch(0, {s.in}, {s.row()})); }},
    {"launches", "a grid of one extent",
     [](Sample& s) {
       LaunchKernel launch = s.launch(0, {s.in}, {s.matrix()});
       launch.grid.resize(1);
       s.push(std::move(launch));
     }},
    {"launch-updates", "an update of an operand of its own memory",
     [](Sample& s) { s.push(s.launch(1, {s.in}, {s.matrix()})); }},
    {"segment-updates", "an update of an operand of its own memory",
     [](Sample& s) {
       const std::shared_ptr<const HostSegment> unit = Sample::makeUnit();
       unit->fusion->aliasOutput(unit->fusion->outputs()[0], unit->fusion->inputs()[0]);
       M::op<PostOnStream>(s.post).segment = unit;
     }},
    {"streams-caught", "an indexed stream caught",
     [](Sample& s) { s.push(GetCurrentStream{s.program.stream(s.program.constant(1))}); }},
    {"streams-known", "a stream that nothing caught", [](Sample& s) { s.drop(s.get); }},
    {"streams-known", "a stream caught too late",
     [](Sample& s) {
       s.drop(s.get);
       s.program.pushBack(s.get);
     }},
    {"waits", "a wait for nothing", [](Sample& s) { M::op<Wait>(s.wait).communication = 9; }},
    {"waits", "a wait before its communication",
     [](Sample& s) {
       s.drop(s.wait);
       s.putBefore(s.wait, s.start);
     }},
    {"coalescing", "an end without a start", [](Sample& s) { s.drop(s.start); }},
    {"coalescing", "a start without an end",
     [](Sample& s) {
       s.drop(s.end);
       M::op<Wait>(s.wait).communication = 3;
     }},
    {"coalescing", "a start in a start",
     [](Sample& s) { s.putBefore(s.program.appendOp(StartCoalescing{}), s.gather); }},
    {"teams", "a device twice", [](Sample& s) { M::op<Communication>(s.gather).team = {1, 1}; }},
    {"parts", "parts of an axis that there is not",
     [](Sample& s) {
       auto& gather = M::op<Communication>(s.gather);
       gather.type = CommunicationType::Gather;
       gather.axis = 7;
       gather.parts = {s.program.constant(1), s.program.constant(1)};
     }},
    {"allocations", "rows alone", [](Sample& s) { M::op<Allocate>(s.allocate).size = s.rows; }},
    {"teams", "a root outside its team",
     [](Sample& s) { M::op<Communication>(s.gather).root = s.program.constant(7); }},
    {"teams", "no root", [](Sample& s) { M::op<Communication>(s.gather).root = nullptr; }},
    {"teams", "a root that is no integer",
     [](Sample& s) { M::op<Communication>(s.gather).root = s.program.symbol("f", DataType::F64); }},
    {"teams", "a sender that is not known before",
     [](Sample& s) {
       M::op<Communication>(s.gather).type = CommunicationType::SendRecv;
       M::op<Communication>(s.gather).root = s.program.symbol("r");
     }},
    {"teams", "a root that is not asked for",
     [](Sample& s) { M::op<Communication>(s.gather).type = CommunicationType::Allreduce; }},
    {"given-before-read", "a view of nothing", [](Sample& s) { M::inputs(s.program).clear(); }},
    {"given-before-read", "a result read before it is given",
     [](Sample& s) {
       s.drop(s.post);
       s.putBefore(s.post, s.start);
     }},
    {"given-before-read", "a buffer that is allocated and not written",
     [](Sample& s) { std::erase(s.loopBody(), s.set); }},
    {"given-before-read", "a result that only one branch gives",
     [](Sample& s) {
       s.drop(s.gather);
       s.putBefore(s.program.appendOp(IfThenElse{s.program.symbol("p", DataType::Bool), Block{{s.gather}}, {}}),
                   s.wait);
     }},
    {"not-used-after-free", "a read after the free",
     [](Sample& s) {
       s.drop(s.free);
       s.putBefore(s.free, s.post);
     }},
    {"not-used-after-free", "a read through a view after the free",
     [](Sample& s) { s.push(HirAliasSelect{s.row(), s.gathered, 0, s.program.constant(0)}); }},
    {"not-used-after-free", "a free in a loop whose next iteration uses the buffer",
     [](Sample& s) {
       s.drop(s.free);
       s.putBefore(s.program.appendOp(Allocate{s.gathered, s.elements()}), s.get);
       TensorView* view = s.row();
       s.loopBody().push_back(s.program.appendOp(HirAliasSelect{view, s.gathered, 0, s.index}));
       s.loopBody().push_back(s.free);
     }},
    {"not-used-after-free", "an output freed", [](Sample& s) { s.push(Deallocate{s.posted}); }},
    {"not-used-after-free", "a tensor freed under the name of what a set bound",
     [](Sample& s) {
       TensorView* same = s.matrix();
       s.putBefore(s.program.appendOp(LoadStoreOp{same, s.gathered}), s.post);
       s.putBefore(s.program.appendOp(Deallocate{same}), s.post);
       s.drop(s.free);
     }},
    {"frees", "a second free", [](Sample& s) { s.push(Deallocate{s.gathered}); }},
    {"frees", "a free of an input", [](Sample& s) { s.push(Deallocate{s.in}); }},
    {"frees", "a free of nothing", [](Sample& s) { s.push(Deallocate{s.matrix()}); }},
    {"all-or-none-preallocated", "one of two results has a buffer",
     [](Sample& s) {
       auto& op = M::op<PostOnStream>(s.post);
       TensorView* second = s.matrix();
       op.outs.push_back(second);
       const_cast<Fusion&>(*op.segment->fusion).addOutput(op.segment->fusion->outputs()[0]);
       M::outputs(s.post).push_back(second);
       s.putBefore(s.program.appendOp(Allocate{second, s.elements()}), s.post);
     }},
    {"outputs-given", "an output that nothing computes", [](Sample& s) { s.program.addOutput(s.matrix()); }},
    {"outputs-given", "an output of a dropped statement", [](Sample& s) { s.drop(s.post); }},
};

TEST(HostVerifier, ALegalProgramHasNoViolation) {
  Sample sample;
  EXPECT_NO_THROW(verifyHostProgram(sample.program));
}

TEST(HostVerifier, EveryInvariantKillsAMutant) {
  std::set<std::string> killing;
  for (const Mutant& mutant : kMutants) {
    Sample sample;
    mutant.make(sample);
    const auto violations = violationsOf(sample.program);
    ASSERT_FALSE(violations.empty()) << mutant.what << " lives";
    EXPECT_EQ(violations.front().invariant, mutant.invariant) << mutant.what << ": " << violations.front().message;
    killing.insert(mutant.invariant);
  }
  for (const Invariant& invariant : hostInvariants()) {
    EXPECT_TRUE(killing.contains(std::string(invariant.name))) << invariant.name << " has no mutant that it kills";
  }
}

TEST(HostVerifier, WhatALoopGivesIsForgottenAtItsNextIteration) {
  Sample sample;
  HostIrContainer& p = sample.program;
  // Allocated, bound and freed anew in every iteration.
  TensorView* local = sample.row();
  TensorView* bound = sample.row();
  for (Expr* statement : {p.appendOp(Allocate{local, p.constant(8)}), p.appendOp(LoadStoreOp{local, sample.row_in}),
                          p.appendOp(LoadStoreOp{bound, local}), p.appendOp(CastOp{sample.row(), bound, DataType::F32}),
                          p.appendOp(Deallocate{local})}) {
    sample.loopBody().push_back(statement);
  }
  EXPECT_NO_THROW(verifyHostProgram(p));
}

TEST(HostVerifier, MessagesAreThoseThatRunsGive) {
  const auto messageOf = [](const std::function<void(Sample&)>& mutate) -> std::string {
    Sample sample;
    mutate(sample);
    try {
      verifyHostProgram(sample.program);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::HostProgram);
      return error.message();
    }
    return "";
  };
  EXPECT_NE(messageOf([](Sample& s) { s.program.markAlias(s.gathered, s.in); }).find("Inputs cannot be aliased"),
            std::string::npos);
  EXPECT_NE(messageOf([](Sample& s) {
              s.drop(s.gather);
              s.drop(s.wait);
              s.drop(s.start);
              s.drop(s.end);
            }).find("must be precomputed before being retrieved"),
            std::string::npos);
  EXPECT_NE(messageOf([](Sample& s) { s.program.addOutput(s.matrix()); }).find("nothing computes output"),
            std::string::npos);
}

TEST(HostVerifier, TheLegalitySpecNamesEveryInvariant) {
  const std::string spec = hostLegalitySpec();
  for (const Invariant& invariant : hostInvariants())
    EXPECT_NE(spec.find(std::string(invariant.name) + ": "), std::string::npos);
}

}  // namespace
}  // namespace tokamak
