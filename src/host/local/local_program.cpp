#include "host/local/local_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "analysis/device_mesh.h"
#include "analysis/sharding.h"
#include "analysis/shards.h"
#include "base/require.h"
#include "base/text.h"
#include "compute/element.h"
#include "host/ir/restrict_op.h"
#include "host/ir/text/host_printer.h"
#include "host/local/communicated_parts.h"
#include "host/local/local_ops.h"
#include "host/local/local_segment.h"
#include "host/local/local_tensors.h"
#include "host/local/rank_places.h"
#include "host/local/rank_team.h"
#include "host/local/whole_extents.h"
#include "host/lower/stream_scalars.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/collective_permute.h"
#include "ir/ops/host/communication.h"
#include "ir/ops/host/end_coalescing.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/get_current_stream.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/if_then_else.h"
#include "ir/ops/host/launch_kernel.h"
#include "ir/ops/host/p2p_communication.h"
#include "ir/ops/host/set_current_stream.h"
#include "ir/ops/host/start_coalescing.h"
#include "ir/ops/host/synchronize.h"
#include "ir/ops/host/wait.h"
#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_simplifier.h"
#include "symbolic/symbols.h"

namespace tokamak {

namespace {

// What peers are computed of: this rank's number.
constexpr std::string_view kRankSymbol = "rank";

bool isOfStreams(const Expr* expr) {
  return expr->is<GetCurrentStream>() || expr->is<SetCurrentStream>() || expr->is<Synchronize>();
}

bool isOnlyOfStreams(const Block& block) { return std::ranges::all_of(block.exprs, isOfStreams); }

// FNV-1a.
uint64_t hashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  return hash;
}

class LocalProgram {
 public:
  LocalProgram(const HostIrContainer& whole, JobRank rank)
      : whole_(whole),
        extents_(rank.extents),
        backend_(rank.backend),
        program_(std::make_unique<HostIrContainer>(whole.name())),
        tensors_(*program_, rank.number, PartExtents::Computed) {
    TK_REQUIRE(0 <= rank.number && rank.number < rank.ranks, HostProgram,
               "local program: rank {} of a job of {} rank(s)", rank.number, rank.ranks);
    findMentioned();
    for (const TensorView* tensor : mentioned_) requireMeshWithin("local program", *tensor, rank.ranks);
    tensors_.substitute(whole.defaultStream(), program_->defaultStream());
    tensors_.substitute(whole.numberOfStreams(), program_->numberOfStreams());
    for (Scalar* symbol : whole.allSymbols()) {
      if (symbol->name() != kRankSymbol || whole.isInput(symbol)) continue;
      rank_symbol_ = symbol;
      tensors_.substitute(symbol, program_->constant(rank.number));
    }
  }

  std::unique_ptr<HostIrContainer> make() {
    chunks_ = findWholeExtents(whole_, tensors_, extents_);
    places_.emplace(whole_, rank_symbol_);
    findReducedParts();
    // (In the order in which they were made, which names those without a name.)
    for (TensorView* tensor : mentioned_) {
      if (has(tensor)) tensors_.tensor(tensor);
    }
    for (Val* input : whole_.inputs()) {
      if (has(input)) program_->addInput(tensors_.val(input));
    }
    for (const auto& [number, kernel] : whole_.kernels()) program_->addKernel(number, kernel);
    program_->setTopLevel(blockOf(whole_.topLevel()));
    for (TensorView* output : whole_.outputs()) {
      if (has(output)) program_->addOutput(tensors_.tensor(output));
    }
    copyRelations();
    program_->setRankOrigin(origin());
    return std::move(program_);
  }

 private:
  bool isOfRank(const Scalar& scalar) const { return rank_symbol_ != nullptr && mentions(scalar, *rank_symbol_); }
  bool has(Val* val) const { return asTensor(val) == nullptr || tensors_.has(*asTensor(val)); }
  bool has(const TensorView& tensor) const { return tensors_.has(tensor); }

  void findMentioned() {
    const auto add = [&](std::span<Val* const> vals) {
      for (TensorView* tensor : tensorsOf(vals)) mentioned_.insert(tensor);
    };
    add(whole_.inputs());
    mentioned_.insert(whole_.outputs().begin(), whole_.outputs().end());
    forEachStatement(whole_.topLevel(), [&](const Expr& expr) {
      add(expr.inputs());
      add(expr.outputs());
    });
    for (TensorView* tensor : mentioned_) {
      if (tensors_.has(*tensor)) continue;
      for (const Axes* axes : {&tensor->logical(), &tensor->loop()}) elsewhere_.insert(axes->begin(), axes->end());
    }
    for (TensorView* tensor : mentioned_) {
      if (!tensors_.has(*tensor)) continue;
      for (const Axes* axes : {&tensor->logical(), &tensor->loop()})
        for (const IterDomain* axis : *axes) elsewhere_.erase(axis);
    }
  }

  RankOrigin origin() {
    RankOrigin origin = {.communicates = !chunks_.empty(), .text_hash = hashOf(printHostProgram(whole_))};
    std::set<int64_t> ranks;
    for (const TensorView* tensor : mentioned_)
      ranks.insert(tensor->mesh().devices.begin(), tensor->mesh().devices.end());
    origin.ranks.assign(ranks.begin(), ranks.end());
    forEachStatement(whole_.topLevel(), [&](const Expr& expr) { origin.communicates |= expr.info().is_communication; });
    std::set<const Scalar*> symbols;
    for (Val* input : whole_.inputs()) {
      if (const Scalar* scalar = asScalar(input)) symbols.insert(scalar);
      const TensorView* tensor = asTensor(input);
      if (tensor == nullptr || !has(*tensor)) continue;
      origin.parts.push_back(describePart(*tensor));
      for (const IterDomain* axis : shapeOf(*tensor)) {
        const std::vector<const Scalar*> named = symbolsOf(*axis->visibleExtent());
        symbols.insert(named.begin(), named.end());
      }
    }
    origin.computes_of_equal_chunks = computesOfChunks();
    const bool compares_chunks = origin.computes_of_equal_chunks || hasSizesOfChunks();
    for (Scalar* symbol : whole_.allSymbols()) {
      const bool is_of_chunks = chunks_.contains(symbol);
      if (symbols.contains(symbol) && (compares_chunks || !is_of_chunks))
        origin.values.push_back(
            {.name = symbol->name(), .scalar = tensors_.scalar(symbol), .is_of_equal_chunks = is_of_chunks});
    }
    return origin;
  }

  bool mentionsChunk(const Scalar& scalar) const {
    return std::ranges::any_of(symbolsOf(scalar), [&](const Scalar* symbol) {
      return std::ranges::any_of(chunks_, [&](const auto& chunk) { return chunk.second == symbol; });
    });
  }

  // The chunk itself is what the rank has, whatever others have.
  bool isComputedOfChunk(const Scalar& scalar) const { return !scalar.isSymbol() && mentionsChunk(scalar); }

  template <class Predicate>
  static bool hasExtent(const TensorView& tensor, const Predicate& is_meant) {
    return std::ranges::any_of(shapeOf(tensor),
                               [&](const IterDomain* axis) { return is_meant(*axis->visibleExtent()); });
  }

  // Views and loops apart: whole tensors that they divide come from communications, or have extents that are computed.
  bool computesOfChunks() const {
    const auto isComputed = [&](const Scalar& scalar) { return isComputedOfChunk(scalar); };
    bool is_found = false;
    forEachStatement(program_->topLevel(), [&](const Expr& expr) {
      const bool computes = expr.list() == OpList::Math || expr.is<PostOnStream>() || expr.is<IfThenElse>();
      if (!computes || expr.info().is_communication) return;
      for (Val* val : valsOf(expr))
        if (const Scalar* scalar = asScalar(val)) is_found |= isComputed(*scalar);
      if (!tensorsOf(expr.inputs()).empty()) return;
      for (const TensorView* made : tensorsOf(expr.outputs())) is_found |= hasExtent(*made, isComputed);
    });
    return is_found;
  }

  // Whether chunks are communicated, or sizes of tensors are computed of them.
  bool hasSizesOfChunks() const {
    const auto isMentioned = [&](const Scalar& scalar) { return mentionsChunk(scalar); };
    bool is_found = false;
    forEachStatement(program_->topLevel(), [&](const Expr& expr) {
      if (!expr.info().is_communication) return;
      for (Val* val : valsOf(expr)) {
        if (val == nullptr) continue;
        if (const Scalar* scalar = asScalar(val)) is_found |= isMentioned(*scalar);
        if (const TensorView* tensor = asTensor(val)) is_found |= hasExtent(*tensor, isMentioned);
      }
    });
    for (const TensorView* tensor : program_->allTensors())
      is_found |= hasExtent(*tensor, [&](const Scalar& scalar) { return isComputedOfChunk(scalar); });
    return is_found;
  }

  std::string describePart(const TensorView& tensor) const {
    std::vector<std::string> axes;
    for (const Shard& shard : shardsOf(tensor)) {
      axes.push_back(fmt::format("a part of axis {} ({})", visibleAxisNumber(tensor, *shard.logical),
                                 parallelTypeName(shard.type)));
    }
    return fmt::format("on rank {}, which has {} of {} on mesh ({})", tensors_.rank(),
                       axes.empty() ? "all" : joined(axes, " and "), nameOf(tensor),
                       joined(tensor.mesh().devices, " "));
  }

  // Copies of tensors have to know them.
  void findReducedParts() {
    forEachStatement(whole_.topLevel(), [&](const Expr& expr) {
      if (expr.list() == OpList::Math && isDone(expr)) requireLocal(expr, tensors_, WholeReads::SlicedBySet);
    });
  }

  // Whether the rank does the statement, which is no communication: it has what the statement gives. It needs what that
  // reads, too.
  bool isDone(const Expr& expr) const {
    const auto lacks = [&](const TensorView* tensor) { return !has(*tensor); };
    const std::vector<TensorView*> results = tensorsOf(expr.outputs());
    const std::vector<TensorView*> operands = tensorsOf(expr.inputs());
    const std::vector<TensorView*>& decisive = results.empty() ? operands : results;
    if (!decisive.empty() && std::ranges::all_of(decisive, lacks)) return false;
    for (const std::vector<TensorView*>* tensors : {&results, &operands}) {
      const auto missing = std::ranges::find_if(*tensors, lacks);
      TK_REQUIRE(missing == tensors->end(), HostProgram,
                 "local program: {} of {}: {} is not on rank {}, which has {}; a Communication moves tensors between "
                 "meshes",
                 callName(expr), nameOf(*decisive[0]), nameOf(**missing), tensors_.rank(),
                 nameOf(**std::ranges::find_if_not(decisive, lacks)));
    }
    return true;
  }

  Block blockOf(const Block& block) {
    Block local;
    Expr* preparing = nullptr;  // a loop that only makes the streams of the next one wait for the caller's
    for (size_t i = 0; i < block.exprs.size(); ++i) {
      if (const auto* loop = block.exprs[i]->as<ForLoop>()) {
        Expr* const made = loopOf(*loop);
        // Alone it would leave one of these streams the current one.
        if (made == nullptr) std::erase(local.exprs, preparing);
        if (made != nullptr) local.exprs.push_back(made);
        preparing = isOnlyOfStreams(loop->body) ? made : nullptr;
        continue;
      }
      if (!block.exprs[i]->is<StartCoalescing>()) {
        addStatement(*block.exprs[i], local.exprs);
        continue;
      }
      const auto end = std::ranges::find_if(block.exprs.begin() + static_cast<std::ptrdiff_t>(i), block.exprs.end(),
                                            [](const Expr* expr) { return expr->is<EndCoalescing>(); });
      const auto last = static_cast<size_t>(end - block.exprs.begin());
      addGroup({block.exprs.begin() + static_cast<std::ptrdiff_t>(i), end}, **end, local.exprs);
      i = last;
    }
    return local;
  }

  // What is posted as one; nothing where the rank takes part in none of it.
  void addGroup(const std::vector<Expr*>& statements, const Expr& end, std::vector<Expr*>& list) {
    std::vector<Expr*> group;
    for (const Expr* statement : statements) addStatement(*statement, group);
    const bool is_posted = std::ranges::any_of(group, [](const Expr* expr) { return expr->info().is_communication; });
    if (is_posted) {
      posted_.insert(end.as<EndCoalescing>()->number);
      group.push_back(copyOf(end));
    } else {
      std::erase_if(group, [](const Expr* expr) { return expr->is<StartCoalescing>(); });
    }
    list.insert(list.end(), group.begin(), group.end());
  }

  void addStatement(const Expr& expr, std::vector<Expr*>& list) {
    if (const auto* choice = expr.as<IfThenElse>()) return addChoice(*choice, list);
    if (const auto* wait = expr.as<Wait>()) {
      if (posted_.contains(wait->communication)) list.push_back(copyOf(expr));
      return;
    }
    if (const auto* op = expr.as<Communication>()) return addCommunication(*op, list);
    if (const auto* op = expr.as<CollectivePermute>()) return addPermutation(expr, *op, list);
    if (!isDone(expr)) return;
    if (const auto* op = expr.as<P2pCommunication>()) return addTransfer(*op, list);
    if (const auto* op = expr.as<Allocate>()) return list.push_back(allocate(*op));
    if (const auto* op = expr.as<PostOnStream>()) return list.push_back(program_->appendOp(localPost(*op, tensors_)));
    if (const auto* op = expr.as<HirAliasSelect>()) {
      const LocalPart* part = partOfView(*op->in, op->axis, op->index, nullptr);
      requireLocalView(expr,
                       {.in = *op->in, .out = *op->out, .axis = op->axis, .lost = 1, .own = part, .at = op->index});
      if (part != nullptr) return list.push_back(ownSelect(*op));
    }
    if (const auto* op = expr.as<HirAliasSlice>()) {
      const LocalPart* part = partOfView(*op->in, op->axis, op->start, op->stop);
      requireLocalView(expr,
                       {.in = *op->in, .out = *op->out, .axis = op->axis, .lost = 0, .own = part, .at = op->start});
      if (part != nullptr) return list.push_back(ownSlice(*op, *part));
    }
    if (expr.is<LaunchKernel>()) requireWhole(expr);
    if (expr.list() == OpList::Math) return addOp(expr, list);
    list.push_back(copyOf(expr));
  }

  Expr* copyOf(const Expr& expr) { return program_->append(makeExpr(expr.kind(), localFields(expr, tensors_))); }

  // --- statements with bodies ---

  // Null where nothing is left to do.
  Expr* loopOf(const ForLoop& loop) {
    ForLoop local{.index = tensors_.scalar(loop.index),
                  .start = tensors_.scalar(loop.start),
                  .stop = tensors_.scalar(loop.stop),
                  .step = tensors_.scalar(loop.step),
                  .axis = tensors_.wholeAxis(loop.axis),
                  .body = blockOf(loop.body)};
    // The range may be that of a tensor that the rank knows nothing of.
    const bool is_left_out =
        isOnlyOfStreams(local.body) && (!isOnlyOfStreams(loop.body) || elsewhere_.contains(loop.axis));
    return is_left_out ? nullptr : program_->appendOp(std::move(local));
  }

  void addChoice(const IfThenElse& choice, std::vector<Expr*>& list) {
    IfThenElse local{.predicate = tensors_.scalar(choice.predicate),
                     .then_body = blockOf(choice.then_body),
                     .else_body = blockOf(choice.else_body)};
    const bool is_empty = local.then_body.exprs.empty() && local.else_body.exprs.empty();
    if (!is_empty) list.push_back(program_->appendOp(std::move(local)));
  }

  // --- communications ---

  void addCommunication(const Communication& op, std::vector<Expr*>& list) {
    requireCommunicatedParts(op);
    places_->requireSamePart(op);
    const int64_t rank = tensors_.rank();
    Communication local = op;
    local.backend = backendOf(op.backend);
    local.axis = -1;
    local.parts.clear();
    local.team = teamOfRank(op, rank);
    if (std::ranges::find(local.team, rank) == local.team.end()) return;
    local.root = op.root == nullptr ? nullptr : rootIn(op, local.team);
    requireSameOrder(op);
    const std::optional<int64_t> root = local.root == nullptr ? rank : local.root->constantInt();
    const bool may_be_root = !root || *root == rank;
    const bool may_be_other = local.root != nullptr && root != rank;
    const bool reads = may_be_root || !isReadAtRoot(op.type);
    const bool writes = (may_be_root && (op.type != CommunicationType::SendRecv || local.team.size() == 1)) ||
                        (may_be_other && op.type != CommunicationType::Gather && op.type != CommunicationType::Reduce);
    local.in = op.in != nullptr && reads && has(*op.in) ? tensors_.tensor(op.in) : nullptr;
    local.out = op.out != nullptr && writes && has(*op.out) ? tensors_.tensor(op.out) : nullptr;
    TK_REQUIRE(local.in != nullptr || local.out != nullptr, HostProgram,
               "local program: {}: rank {} is in its team, but has neither its input nor its output", enumName(op.type),
               rank);
    const bool deals_input = op.type == CommunicationType::Gather || op.type == CommunicationType::Allgather ||
                             op.type == CommunicationType::AllToAll;
    const bool deals_output = op.type == CommunicationType::Scatter || op.type == CommunicationType::ReduceScatter;
    if (deals_input && op.in != nullptr) addParts(local, *op.in, op.out);
    if (deals_output && op.out != nullptr) addParts(local, *op.out, op.in);
    posted_.insert(op.number);
    list.push_back(program_->appendOp(std::move(local)));
  }

  // The member of the rank's own team that stands where the root stands in the one that is written.
  Scalar* rootIn(const Communication& op, const std::vector<int64_t>& team) {
    Scalar* const written = tensors_.scalar(op.root);
    if (team == op.team) return written;
    const std::optional<int64_t> constant = written->constantInt();
    if (constant)
      return program_->constant(team[static_cast<size_t>(std::ranges::find(op.team, *constant) - op.team.begin())]);
    const int64_t offset = team[0] - op.team[0];
    const auto isShifted = [&](int64_t own, int64_t named) { return own == named + offset; };
    if (std::ranges::equal(team, op.team, isShifted)) return program_->add(written, program_->constant(offset));
    Scalar* root = written;  // which is refused when it is posted, if it is in no team
    for (size_t i = 0; i < team.size(); ++i) {
      Scalar* const is_here = program_->scalar(ScalarOp::Equal, written, program_->constant(op.team[i]));
      root = program_->scalar(ScalarOp::Select, is_here, program_->constant(team[i]), root);
    }
    return root;
  }

  static bool isReadAtRoot(CommunicationType type) {
    return type == CommunicationType::Scatter || type == CommunicationType::Broadcast ||
           type == CommunicationType::SendRecv;
  }

  // The order is that of the sender's memory.
  static void requireSameOrder(const Communication& op) {
    if (op.in == nullptr || op.out == nullptr || shapeOf(*op.in).size() != shapeOf(*op.out).size()) return;
    TK_REQUIRE(memoryOrder(*op.in) == memoryOrder(*op.out), HostProgram,
               "local program: {}: {} lies in memory in the order of the axes [{}], and {} in that of [{}]; what is "
               "communicated keeps its order: copy one of them",
               enumName(op.type), nameOf(*op.in), joined(memoryOrder(*op.in)), nameOf(*op.out),
               joined(memoryOrder(*op.out)));
  }

  // Whose axis is dealt out in `dealt`, and whole in `whole`, which may be null. The members' parts, where their sizes
  // are not known to be the same.
  void addParts(Communication& op, const TensorView& dealt, const TensorView* whole) {
    std::vector<Shard> others = whole == nullptr ? std::vector<Shard>() : shardsOf(*whole);
    std::erase_if(others, [](const Shard& shard) { return shard.devices == 1; });
    std::vector<Shard> moved = shardsOf(dealt);
    std::erase_if(moved, [&](const Shard& shard) {
      return std::ranges::any_of(others, [&](const Shard& other) {
        return other.type == shard.type &&
               visibleAxisNumber(*whole, *other.logical) == visibleAxisNumber(dealt, *shard.logical);
      });
    });
    // (What is dealt out over one device is whole.)
    if (moved.size() > 1) std::erase_if(moved, [](const Shard& shard) { return shard.devices == 1; });
    TK_REQUIRE(
        moved.size() == 1, HostProgram,
        "local program: {}: {} has {} axes that are dealt out and whole on its other side; it moves the parts of "
        "one axis",
        enumName(op.type), nameOf(dealt), moved.size());
    const Shard& shard = moved[0];
    const auto coordinate = [&](int64_t rank) { return coordinatesOf(dealt.mesh(), rank); };
    const bool is_row = std::ranges::all_of(op.team, [&](int64_t rank) { return coordinate(rank).has_value(); });
    const int64_t members = static_cast<int64_t>(op.team.size());
    bool is_even = is_row && members == shard.devices;
    op.axis = visibleAxisNumber(dealt, *shard.logical);
    for (const int64_t rank : op.team) {
      const auto at = coordinate(rank);
      op.parts.push_back(at ? tensors_.scalar(shardRange(shard, (*at)[shard.dimension]).extent)
                            : program_->constant(int64_t{0}));
      is_even = is_even && op.parts.back() == op.parts.front();
    }
    if (!is_even) return;
    op.axis = -1;
    op.parts.clear();
  }

  void addPermutation(const Expr& expr, const CollectivePermute& op, std::vector<Expr*>& list) {
    CollectivePermute local = op;
    local.backend = backendOf(op.backend);
    local.team = teamOfRank(op, tensors_.rank());
    if (std::ranges::find(local.team, tensors_.rank()) == local.team.end() || !isDone(expr)) return;
    local.in = tensors_.tensor(op.in);
    local.out = tensors_.tensor(op.out);
    local.send_peer = tensors_.scalar(op.send_peer);
    local.recv_peer = tensors_.scalar(op.recv_peer);
    posted_.insert(op.number);
    list.push_back(program_->appendOp(std::move(local)));
  }

  void addTransfer(const P2pCommunication& op, std::vector<Expr*>& list) {
    P2pCommunication local = op;
    local.backend = backendOf(op.backend);
    local.buffer = tensors_.tensor(op.buffer);
    local.peer = tensors_.scalar(op.peer);
    posted_.insert(op.number);
    list.push_back(program_->appendOp(local));
  }

  CommunicatorBackend backendOf(CommunicatorBackend named) const { return backend_.value_or(named); }

  // --- buffers and ops ---

  Expr* allocate(const Allocate& op) {
    Allocate local = op;
    local.buffer = tensors_.tensor(op.buffer);
    local.size = tensors_.isSharded(*op.buffer) ? elementCount(*program_, *local.buffer) : tensors_.scalar(op.size);
    return program_->appendOp(local);
  }

  // The part of the axis that the rank has, where that is what the view shows: [start, stop), or the index `start`,
  // which is computed of the rank.
  const LocalPart* partOfView(const TensorView& in, int64_t axis, Scalar* start, Scalar* stop) {
    const LocalPart* part = tensors_.partOf(in, *in.logical()[static_cast<size_t>(axis)]);
    if (part == nullptr || !isOfRank(*start)) return nullptr;  // (the verdict is the same on all ranks)
    IntervalAnalysis analysis;
    analysis.assumeExtent(*tensors_.scalar(in.logical()[static_cast<size_t>(axis)]->visibleExtent()));
    const auto isSame = [&](Scalar* a, Scalar* b) { return simplify(a, analysis) == simplify(b, analysis); };
    Scalar* const first = tensors_.scalar(start);
    Scalar* const count = stop == nullptr ? program_->constant(1) : program_->sub(tensors_.scalar(stop), first);
    return isSame(first, part->range.start) && isSame(count, part->range.extent) ? part : nullptr;
  }

  // Of these the rank has memory from its own first index on.
  Expr* ownSelect(const HirAliasSelect& op) {
    return program_->appendOp(
        HirAliasSelect{tensors_.tensor(op.out), tensors_.tensor(op.in), op.axis, program_->constant(0)});
  }
  Expr* ownSlice(const HirAliasSlice& op, const LocalPart& part) {
    return program_->appendOp(HirAliasSlice{tensors_.tensor(op.out), tensors_.tensor(op.in), op.axis,
                                            program_->constant(0), part.range.extent});
  }

  // A view along an axis of tensor `in`.
  struct View {
    const TensorView& in;
    const TensorView& out;
    int64_t axis = 0;
    size_t lost = 0;                 // whether it lacks the axis: 1, else 0
    const LocalPart* own = nullptr;  // what the rank has of the axis, and the view shows
    const Scalar* at = nullptr;      // where it begins
  };

  // Along an axis that the rank has all of, or of its own part, with the same parts of the other axes. What is computed
  // of the rank is another part on each: of terms it is the rank's own.
  void requireLocalView(const Expr& expr, const View& view) {
    const auto& [in, out, axis, lost, own_part, at] = view;
    const auto along = static_cast<size_t>(axis);
    TK_REQUIRE(own_part != nullptr || tensors_.partOf(in, *in.logical()[along]) == nullptr, HostProgram,
               "local program: {} of {}: it is along axis {} of {}, of which a rank has a part; take the view before, "
               "of what a Communication gathers, or of the rank's own part",
               expr.name(), nameOf(out), axis, nameOf(in));
    const bool is_own_term = trueTerms(out).empty() && isOfRank(*at);
    TK_REQUIRE(is_own_term || trueTerms(in) == trueTerms(out), HostProgram,
               "local program: {} of {}: it is partial otherwise than {}, of which it is a view; mark both",
               expr.name(), nameOf(out), nameOf(in));
    for (size_t i = 0; i < out.logical().size(); ++i) {
      const IterDomain& own = *out.logical()[i];
      const IterDomain& source = *in.logical()[i + (i >= along ? lost : 0)];
      const bool is_own_axis = own_part != nullptr && lost == 0 && i == along;
      const bool is_same = isSamePart(tensors_.partOf(out, own), is_own_axis ? nullptr : tensors_.partOf(in, source));
      TK_REQUIRE(own.isReduction() || is_same, HostProgram,
                 "local program: {} of {}: its axis {} is sharded otherwise than that of {}", expr.name(), nameOf(out),
                 i, nameOf(in));
    }
  }

  void requireWhole(const Expr& expr) {
    for (const auto vals : {expr.inputs(), expr.outputs()}) {
      for (const TensorView* tensor : tensorsOf(vals)) {
        TK_REQUIRE(!tensors_.isSharded(*tensor), HostProgram,
                   "local program: {}: {} is sharded, and kernels that are part of a program have the sizes that they "
                   "are written for; post a segment instead",
                   expr.name(), nameOf(*tensor));
      }
    }
  }

  void addOp(const Expr& expr, std::vector<Expr*>& list) {
    const std::vector<SlicedAxis> sliced = requireLocal(expr, tensors_, WholeReads::SlicedBySet);
    Fields fields = localFields(expr, tensors_);
    if (!sliced.empty()) {
      TensorView* operand = tensors_.tensor(asTensor(expr.input(0)));
      for (const SlicedAxis& axis : sliced) operand = sliceOf(*operand, axis, list);
      std::ranges::find(fields, FieldRole::Operand, &Field::role)->value = static_cast<Val*>(operand);
    }
    list.push_back(program_->append(makeExpr(expr.kind(), fields)));
  }

  TensorView* sliceOf(TensorView& tensor, const SlicedAxis& sliced, std::vector<Expr*>& list) {
    const IterDomain& axis = *shapeOf(tensor)[static_cast<size_t>(sliced.axis)];
    const int64_t number = logicalAxisNumber(tensor, axis);
    TensorView* slice = makeSliceTensor(*program_, tensor, number, sliced.range.extent);
    list.push_back(program_->appendOp(HirAliasSlice{slice, &tensor, number, sliced.range.start,
                                                    program_->add(sliced.range.start, sliced.range.extent)}));
    return slice;
  }

  // --- what is said beside the statements ---

  void copyRelations() {
    for (const auto& [alias, original] : whole_.aliases()) {
      if (has(*alias) && has(*original)) program_->markAlias(tensors_.tensor(original), tensors_.tensor(alias));
    }
    for (const auto& [view, source] : whole_.views()) {
      if (has(*view) && has(*source)) program_->markView(tensors_.tensor(source), tensors_.tensor(view));
    }
    for (const auto& [output, alias] : whole_.outputAliases()) {
      if (has(*output) && has(alias.target))
        program_->aliasOutput(tensors_.tensor(output), tensors_.val(alias.target), alias.is_hidden);
    }
    for (const ExtentDemand& demand : whole_.demands()) {
      ExtentDemand local = demand;
      local.first = tensors_.scalar(demand.first);
      local.second = tensors_.scalar(demand.second);
      local.unless_zero = tensors_.scalar(demand.unless_zero);
      if (local.first != local.second) program_->addDemand(std::move(local));
    }
  }

  const HostIrContainer& whole_;
  const WholeExtents extents_;
  const std::optional<CommunicatorBackend> backend_;
  std::map<const Scalar*, Scalar*> chunks_;  // whole extent -> the chunk of the copy that it is computed of
  Scalar* rank_symbol_ = nullptr;
  std::optional<RankPlaces> places_;
  std::unique_ptr<HostIrContainer> program_;
  LocalTensors tensors_;
  std::set<TensorView*, ById> mentioned_;
  std::set<const IterDomain*> elsewhere_;  // axes of tensors that the rank does not have
  std::set<int64_t> posted_;               // numbers of communications that the rank takes part in
};

}  // namespace

std::unique_ptr<HostIrContainer> localProgram(const HostIrContainer& program, JobRank rank) {
  return LocalProgram(program, rank).make();
}

// One rank for each set of meshes and teams that has it: whether a rank has what a statement needs depends on these.
static std::vector<int64_t> onePerPlace(const HostIrContainer& program, int64_t ranks) {
  std::set<std::vector<int64_t>> groups;
  for (const TensorView* tensor : program.allTensors()) groups.insert(tensor->mesh().devices);
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    if (const auto* op = expr.as<Communication>()) groups.insert(op->team);
  });
  std::vector<std::vector<bool>> places(static_cast<size_t>(ranks));
  for (const std::vector<int64_t>& group : groups) {
    for (std::vector<bool>& place : places) place.push_back(false);
    for (const int64_t rank : group)
      if (rank < ranks) places[static_cast<size_t>(rank)].back() = true;
  }
  std::set<std::vector<bool>> known;
  std::vector<int64_t> found;
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (known.insert(places[static_cast<size_t>(rank)]).second) found.push_back(rank);
  return found;
}

std::unique_ptr<HostIrContainer> localProgramInJob(const HostIrContainer& program, JobRank rank) {
  std::unique_ptr<HostIrContainer> own = localProgram(program, rank);
  JobRank other = rank;
  for (const int64_t number : onePerPlace(program, rank.ranks)) {
    if (number == rank.number) continue;
    const auto describe = [&] { return fmt::format("for rank {}", number); };
    const ErrorNote note(describe);
    other.number = number;
    localProgram(program, other);
  }
  return own;
}

}  // namespace tokamak
