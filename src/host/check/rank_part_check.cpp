#include "host/check/rank_part_check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "analysis/part_axes.h"
#include "analysis/sharding.h"
#include "analysis/shards.h"
#include "compute/reduced_axes.h"
#include "host/ir/restrict_op.h"
#include "ir/ops/host/collective_permute.h"
#include "ir/ops/host/communication.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/if_then_else.h"
#include "ir/ops/host/p2p_communication.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

namespace {

// Where a tensor lies along an axis of the one that it is a part of.
struct ViewPlace {
  static constexpr int64_t kDropped = -1;   // by a HirAliasSelect
  static constexpr int64_t kReduced = -2;   // `end` parts, in any order: `start` is the sum of their numbers
  static constexpr int64_t kReceived = -3;  // in a buffer, from another rank: what was sent is not known there
  int64_t axis = kDropped;                  // of its visible shape
  int64_t start = 0;
  int64_t end = 0;
  bool is_of_rank = false;

  bool isEmpty() const { return start >= end; }
  bool isAt(const ViewPlace& other) const { return start == other.start && end == other.end; }
  std::string inWords() const {
    return axis == kDropped ? fmt::format("at index {}", start) : fmt::format("at [{}, {})", start, end);
  }
};

using ViewPlaces = std::vector<ViewPlace>;

const ViewPlace* viewPlaceAlong(const ViewPlaces& places, int64_t axis) {
  const auto found = std::ranges::find(places, axis, &ViewPlace::axis);
  return found == places.end() ? nullptr : &*found;
}

bool isDealtOut(const TensorView& tensor) {
  return std::ranges::any_of(shardsOf(tensor), [](const Shard& shard) { return shard.devices > 1; });
}

bool hasReceived(const ViewPlaces& places) { return viewPlaceAlong(places, ViewPlace::kReceived) != nullptr; }

bool isSame(const ViewPlaces& a, const ViewPlaces& b) {
  return std::ranges::equal(a, b, [](const ViewPlace& x, const ViewPlace& y) { return x.axis == y.axis && x.isAt(y); });
}

// Adds what is reduced of a part, or of several.
void addReduced(ViewPlaces& places, const ViewPlace& part) {
  ViewPlace added = part;
  if (part.axis != ViewPlace::kReduced) {
    const uint64_t mixed =
        (static_cast<uint64_t>(part.start) * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(part.end)) * 0xbf58476d1ce4e5b9;
    added.start = static_cast<int64_t>((mixed ^ (mixed >> 31)) & 0xffffffffffff);
    added.end = 1;
    added.axis = ViewPlace::kReduced;
  }
  const auto known = std::ranges::find(places, ViewPlace::kReduced, &ViewPlace::axis);
  if (known == places.end()) return places.push_back(added);
  known->start = (known->start + added.start) & 0xffffffffffff;
  known->end += added.end;
  known->is_of_rank |= added.is_of_rank;
}

// What an op puts together.
struct OpAxes {
  explicit OpAxes(const Expr& op) : axes(op), operands(tensorsOf(op.inputs())), result(axes.map().rule().result) {
    const Element* reduction = reductionOf(axes.map().rule());
    if (reduction == nullptr) return;
    reduced.resize(reduction->axes.size());
    for (const TensorView* operand : operands) {
      for (size_t axis = 0; axis < shapeOf(*operand).size(); ++axis) {
        const std::optional<size_t> number = reducedAxis(*reduction, *operand, static_cast<int64_t>(axis));
        if (number) reduced[*number].emplace_back(operand, static_cast<int64_t>(axis));
      }
    }
  }

  PartAxes axes;
  std::vector<TensorView*> operands;
  const TensorView* result;
  std::vector<std::vector<std::pair<const TensorView*, int64_t>>> reduced;
};

// A tensor that is compared, and where it lies.
struct PlacedTensor {
  const TensorView* tensor = nullptr;
  ViewPlace place = {};
};

// What is sent, until its receive is seen, or the other way round.
struct TransferSide {
  const TensorView* buffer = nullptr;
  ViewPlaces places;
};

class PartCheck {
 public:
  PartCheck(RankDependence& analysis, int64_t ranks, int64_t limit)
      : analysis_(analysis), ranks_(ranks), limit_(limit) {}

  std::vector<RankFinding> check() {
    if (analysis_.rankSymbol() == nullptr) return {};
    forEachStatement(analysis_.program().topLevel(), [this](const Expr& expr) { findViews(expr); });
    if (!has_places_of_rank_) return {};
    for (rank_ = 0; rank_ < ranks_ && !isFull(); ++rank_) {
      scalars_ = analysis_.bindings();
      scalars_[analysis_.rankSymbol()] = rank_;
      places_.clear();
      written_.clear();
      around_ = 1;
      walk(analysis_.program().topLevel());
      compareOutputs();
    }
    return std::move(findings_);
  }

 private:
  bool isFull() const { return static_cast<int64_t>(findings_.size()) >= limit_; }

  void findViews(const Expr& expr) {
    if (const auto* op = expr.as<HirAliasSelect>()) {
      source_of_[root(op->out)] = root(op->in);
      has_places_of_rank_ |= analysis_.isOfRank(op->index);
    }
    if (const auto* op = expr.as<HirAliasSlice>()) {
      source_of_[root(op->out)] = root(op->in);
      has_places_of_rank_ |= analysis_.isOfRank(op->start) || analysis_.isOfRank(op->stop);
    }
  }

  const TensorView* root(const TensorView* tensor) const {
    return analysis_.program().resolveAlias(const_cast<TensorView*>(tensor));
  }
  bool isView(const TensorView* tensor) const { return source_of_.contains(tensor); }
  const TensorView* wholeOf(const TensorView* tensor) const {
    for (auto at = source_of_.find(tensor); at != source_of_.end(); at = source_of_.find(tensor)) tensor = at->second;
    return tensor;
  }
  const ViewPlaces& placesOf(const TensorView* tensor) const {
    static const ViewPlaces none;
    const auto known = places_.find(root(tensor));
    return known == places_.end() ? none : known->second;
  }
  std::optional<int64_t> valueOf(const Scalar* scalar) const {
    const auto value = evaluate(*scalar, scalars_);
    return value ? std::optional(asInt(*value)) : std::nullopt;
  }

  // --- statements ---

  void walk(const Block& block) {
    for (const Expr* expr : block.exprs) statement(*expr);
  }

  // What has no value, or what a rank lacks, is refused where its program is made or run.
  void statement(const Expr& expr) {
    if (const auto* op = expr.as<ForLoop>()) return loop(*op);
    if (const auto* op = expr.as<IfThenElse>()) return choice(*op);
    const std::vector<TensorView*> inputs = tensorsOf(expr.inputs());
    const std::vector<TensorView*> outputs = tensorsOf(expr.outputs());
    for (const std::vector<TensorView*>* tensors : {&inputs, &outputs})
      for (const TensorView* tensor : *tensors)
        if (!analysis_.has(*tensor, rank_)) return;
    if (const auto* op = expr.as<P2pCommunication>()) return transfer(expr, *op);
    if (const auto* op = expr.as<CollectivePermute>()) return permutation(expr, *op);
    if (const auto* op = expr.as<Communication>()) return collective(expr, *op);
    if (const auto* op = expr.as<HirAliasSelect>()) {
      const auto index = valueOf(op->index);
      return view(
          op->out, op->in, op->axis,
          {.start = index.value_or(0), .end = index ? *index + 1 : 0, .is_of_rank = analysis_.isOfRank(op->index)},
          true);
    }
    if (const auto* op = expr.as<HirAliasSlice>()) {
      const auto start = valueOf(op->start);
      const auto stop = valueOf(op->stop);
      return view(op->out, op->in, op->axis,
                  {.start = start.value_or(0),
                   .end = start && stop ? *stop : 0,
                   .is_of_rank = analysis_.isOfRank(op->start) || analysis_.isOfRank(op->stop)},
                  false);
    }
    if (const auto* op = expr.as<PostOnStream>()) return segment(expr, *op);
    if (expr.list() == OpList::Math) return math(expr, expr);
    for (const TensorView* output : outputs) forget(output);
  }

  void loop(const ForLoop& op) {
    const auto start = valueOf(op.start);
    const auto step = valueOf(op.step);
    const std::optional<int64_t> iterations = iterationsOf(op, scalars_);
    if (!start || !step || !iterations || *iterations > analysis_.mostIterations() / around_) return;
    const bool is_unrolled = analysis_.isUnrolled(op) || RankDependence::communicates(op.body);
    const int64_t walked = is_unrolled ? *iterations : std::min<int64_t>(*iterations, 1);
    const int64_t around = std::exchange(around_, around_ * std::max<int64_t>(*iterations, 1));
    for (int64_t i = 0; i < walked && !isFull(); ++i) {
      scalars_[op.index] = *start + i * *step;
      walk(op.body);
    }
    scalars_.erase(op.index);
    around_ = around;
  }

  void choice(const IfThenElse& op) {
    const auto holds = valueOf(op.predicate);
    if (holds) walk(*holds != 0 ? op.then_body : op.else_body);
  }

  void view(const TensorView* out, const TensorView* in, int64_t logical_axis, ViewPlace own, bool drops) {
    const int64_t axis = visibleAxisNumber(*in, *in->logical()[static_cast<size_t>(logical_axis)]);
    ViewPlaces made;
    for (ViewPlace place : placesOf(in)) {
      if (place.axis == axis) {
        own = {.start = own.start + place.start,
               .end = own.end + place.start,
               .is_of_rank = own.is_of_rank || place.is_of_rank};
        continue;
      }
      if (drops && place.axis > axis) --place.axis;
      made.push_back(place);
    }
    own.axis = drops ? ViewPlace::kDropped : axis;
    made.push_back(own);
    places_[root(out)] = std::move(made);
  }

  // Something else is in it; views lie where they did.
  void forget(const TensorView* tensor) {
    if (!isView(root(tensor))) places_.erase(root(tensor));
  }

  void receive(const TensorView* tensor) {
    if (!isView(root(tensor))) places_[root(tensor)] = {{.axis = ViewPlace::kReceived}};
  }

  void segment(const Expr& expr, const PostOnStream& post) {
    const Fusion& fusion = *post.segment->fusion;
    std::vector<const TensorView*> fixed;
    for (size_t i = 0; i < post.ins.size(); ++i) {
      const TensorView* const outer = asTensor(post.ins[i]);
      if (outer != nullptr) places_[root(asTensor(fusion.inputs()[i]))] = placesOf(outer);
    }
    for (size_t i = 0; i < post.outs.size(); ++i) {
      const TensorView* const inner = fusion.outputs()[i];
      if (!isView(root(post.outs[i]))) continue;
      places_[inner] = placesOf(post.outs[i]);
      source_of_[inner] = root(post.outs[i]);
      fixed.push_back(inner);
    }
    for (const Expr* op : fusion.allExprs()) math(*op, expr);
    for (size_t i = 0; i < post.outs.size(); ++i) {
      places_[root(post.outs[i])] = placesOf(fusion.outputs()[i]);
      written_[root(post.outs[i])] = &expr;
    }
    for (const TensorView* inner : fixed) source_of_.erase(inner);
  }

  // --- ops ---

  const OpAxes& axesOf(const Expr& op) {
    std::unique_ptr<OpAxes>& known = axes_of_[&op];
    if (known == nullptr) known = std::make_unique<OpAxes>(op);
    return *known;
  }

  // `posted`: the statement, which is a segment where `expr` is an op of one.
  void math(const Expr& expr, const Expr& posted) {
    const bool is_placed = std::ranges::any_of(
        tensorsOf(expr.inputs()), [this](const TensorView* operand) { return !placesOf(operand).empty(); });
    if (!is_placed) {
      for (const TensorView* result : tensorsOf(expr.outputs())) forget(result);
      return;
    }
    const OpAxes& op = axesOf(expr);
    const TensorView* const result = root(op.result);
    const bool is_view = isView(result);
    const ViewPlaces before = placesOf(result);
    ViewPlaces made = is_view ? before : ViewPlaces();
    const bool is_added = !is_view && std::ranges::any_of(op.operands, [&](const TensorView* operand) {
      return root(operand) == result;
    });
    const auto isOther = [&](const TensorView* operand) { return !is_added || root(operand) != result; };
    alongResult(posted, op, made, isOther);
    dropped(posted, op, made, isOther);
    if (is_added) made = sumOf(before, made);
    reduced(posted, op, made);
    const bool is_received =
        std::ranges::any_of(op.operands, [this](const TensorView* operand) { return hasReceived(placesOf(operand)); });
    if (is_received && !hasReceived(made)) made.push_back({.axis = ViewPlace::kReceived});
    for (const TensorView* output : tensorsOf(expr.outputs()))
      if (root(output) != result) forget(output);
    places_[result] = std::move(made);
    written_[result] = &posted;
  }

  // Of what a tensor had, and what is added to it: where both lie alike, there; else they are reduced.
  static ViewPlaces sumOf(const ViewPlaces& before, const ViewPlaces& added) {
    if (added.empty() || isSame(before, added)) return before;
    ViewPlaces sum;
    for (const ViewPlaces* places : {&before, &added})
      for (const ViewPlace& place : *places)
        if (place.axis != ViewPlace::kReceived) addReduced(sum, place);
    return sum;
  }

  template <class IsOther>
  void alongResult(const Expr& posted, const OpAxes& op, ViewPlaces& made, const IsOther& is_other) {
    for (size_t number = 0; number < op.axes.map().rule().coordinates.size(); ++number) {
      const auto axis = static_cast<int64_t>(number);
      for (const PartAxisPair& pair : op.axes.along(axis)) {
        const ViewPlace* const read = viewPlaceAlong(placesOf(pair.operand), pair.operand_axis);
        if (read == nullptr || !is_other(pair.operand)) continue;
        std::optional<ViewPlace> place = inResult(*read, pair);
        if (!place) continue;
        const ViewPlace* const own = viewPlaceAlong(made, axis);
        if (own == nullptr)
          made.push_back(*place);
        else
          compare(posted, {pair.operand, *place}, {op.result, *own}, fmt::format("axis {}", axis));
      }
    }
  }

  // In elements of the result's axis; nothing where chunks of a reshape have sizes that are not known here.
  std::optional<ViewPlace> inResult(ViewPlace place, const PartAxisPair& pair) const {
    place.axis = pair.result_axis;
    if (pair.isSameIndex()) return place;
    const auto from = valueOf(pair.operand_elements);
    const auto to = valueOf(pair.result_elements);
    if (!from || !to || *to == 0 || place.start * *from % *to != 0 || place.end * *from % *to != 0) return std::nullopt;
    place.start = place.start * *from / *to;
    place.end = place.end * *from / *to;
    return place;
  }

  void reduced(const Expr& posted, const OpAxes& op, ViewPlaces& made) {
    for (const TensorView* operand : op.operands) {
      if (root(operand) == root(op.result)) continue;
      const ViewPlace* const place = viewPlaceAlong(placesOf(operand), ViewPlace::kReduced);
      if (place != nullptr) addReduced(made, *place);
    }
    for (const auto& reads : op.reduced) {
      const ViewPlace* first = nullptr;
      const TensorView* first_operand = nullptr;
      for (const auto& [operand, axis] : reads) {
        const ViewPlace* const place = viewPlaceAlong(placesOf(operand), axis);
        if (place == nullptr) continue;
        if (first == nullptr) {
          first = place;
          first_operand = operand;
          continue;
        }
        compare(posted, {operand, *place}, {first_operand, *first}, "the axis that is reduced");
      }
      if (first != nullptr) addReduced(made, *first);
    }
  }

  // Which dropped axes go along with one another is not known: an index of an operand is one of the result, and one of
  // the result is one of an operand, if any has some.
  template <class IsOther>
  void dropped(const Expr& posted, const OpAxes& op, ViewPlaces& made, const IsOther& is_other) {
    std::vector<PlacedTensor> reads;
    for (const TensorView* operand : op.operands)
      if (is_other(operand)) addDropped(operand, placesOf(operand), reads);
    std::vector<PlacedTensor> writes;
    addDropped(op.result, made, writes);
    if (!writes.empty()) return compareDropped(posted, reads, writes);
    for (const PlacedTensor& read : reads) {
      const auto isKnown = [&](const ViewPlace& place) {
        return place.axis == ViewPlace::kDropped && place.isAt(read.place);
      };
      if (std::ranges::none_of(made, isKnown)) made.push_back(read.place);
    }
  }

  static void addDropped(const TensorView* tensor, const ViewPlaces& places, std::vector<PlacedTensor>& list) {
    for (const ViewPlace& place : places)
      if (place.axis == ViewPlace::kDropped) list.push_back({tensor, place});
  }

  void compareDropped(const Expr& posted, const std::vector<PlacedTensor>& reads,
                      const std::vector<PlacedTensor>& writes) {
    if (reads.empty() || writes.empty()) return;
    const auto requireIn = [&](const std::vector<PlacedTensor>& some, const std::vector<PlacedTensor>& others) {
      for (const PlacedTensor& one : some) {
        const auto isAt = [&](const PlacedTensor& other) { return one.place.isAt(other.place); };
        if (one.place.is_of_rank && std::ranges::none_of(others, isAt)) {
          const bool is_read = &some == &reads;
          return tell(posted, is_read ? one : others[0], is_read ? others[0] : one, "an axis that views select of");
        }
      }
    };
    requireIn(reads, writes);
    requireIn(writes, reads);
  }

  void compare(const Expr& posted, const PlacedTensor& a, const PlacedTensor& b, std::string_view along) {
    if (!a.place.is_of_rank && !b.place.is_of_rank) return;
    if (a.place.isEmpty() || b.place.isEmpty() || a.place.isAt(b.place)) return;
    tell(posted, a, b, along);
  }

  void tell(const Expr& posted, const PlacedTensor& a, const PlacedTensor& b, std::string_view along) {
    add(posted, rank_,
        fmt::format("rank {}: {} of {}: along {} it puts together {} {} and {} {}; places that are computed of the "
                    "rank have to be the same: take the same part of both",
                    rank_, callName(posted), nameOf(*tensorsOf(posted.outputs())[0]), along, nameOf(*a.tensor),
                    a.place.inWords(), nameOf(*b.tensor), b.place.inWords()));
  }

  void add(const Expr& statement, int64_t other, std::string message) {
    if (isFull() || !told_.insert(&statement).second) return;
    findings_.push_back({.kind = RankFinding::Kind::Part,
                         .first_rank = std::min(rank_, other),
                         .second_rank = std::max(rank_, other),
                         .message = std::move(message)});
  }

  // An output without parts and terms is the same on all ranks.
  void compareOutputs() {
    for (const TensorView* output : analysis_.program().outputs()) {
      const TensorView* const tensor = root(output);
      const auto written = written_.find(tensor);
      if (written == written_.end() || !trueTerms(*output).empty() || isDealtOut(*output)) continue;
      const ViewPlaces& places = placesOf(output);
      if (hasReceived(places)) continue;
      const auto [known, is_new] = first_.try_emplace(tensor, rank_, places);
      const auto& [first_rank, first] = known->second;
      if (is_new || !isOfRank(first, places)) continue;
      for (size_t i = 0; i < std::min(first.size(), places.size()); ++i) {
        if (first[i].isAt(places[i])) continue;
        const std::string what =
            first[i].axis == ViewPlace::kReduced
                ? fmt::format("rank {} and rank {} reduce different parts to it", first_rank, rank_)
                : fmt::format("rank {} computes it of the part {}, and rank {} of that {}", first_rank,
                              first[i].inWords(), rank_, places[i].inWords());
        add(*written->second, first_rank,
            fmt::format("rank {}: {} of {}: {}, and by its mesh all ranks have the same: write each part where it "
                        "belongs",
                        rank_, callName(*written->second), nameOf(*output), what));
        break;
      }
    }
  }

  static bool isOfRank(const ViewPlaces& a, const ViewPlaces& b) {
    return std::ranges::any_of(a, &ViewPlace::is_of_rank) || std::ranges::any_of(b, &ViewPlace::is_of_rank);
  }

  // --- transfers: the n-th one from a rank to another has two sides ---

  enum class Way : uint8_t { Transfer, Permutation };
  using Pair = std::tuple<int64_t, int64_t, Way>;
  struct Open {
    std::vector<TransferSide> sides;
    size_t next = 0;
    bool are_sent = false;
  };

  void transfer(const Expr& expr, const P2pCommunication& op) {
    const auto peer = valueOf(op.peer);
    if (!peer) return;
    const bool is_sent = op.type == P2pType::Send;
    meet(expr, op.buffer, is_sent, *peer, Way::Transfer);
    if (!is_sent) receive(op.buffer);
  }

  void permutation(const Expr& expr, const CollectivePermute& op) {
    const auto to = valueOf(op.send_peer);
    const auto from = valueOf(op.recv_peer);
    if (to) meet(expr, op.in, true, *to, Way::Permutation);
    receive(op.out);
    if (from) meet(expr, op.out, false, *from, Way::Permutation);
  }

  // What has one size on both sides is the same part. (Along the axis that is dealt out sizes differ.)
  void collective(const Expr& expr, const Communication& op) {
    if (op.in == nullptr || op.out == nullptr) return;
    forget(op.out);
    const ViewPlaces& sent = placesOf(op.in);
    const ViewPlaces& received = placesOf(op.out);
    std::vector<PlacedTensor> reads;
    std::vector<PlacedTensor> writes;
    addDropped(op.in, sent, reads);
    addDropped(op.out, received, writes);
    compareDropped(expr, reads, writes);
    if (shapeOf(*op.in).size() != shapeOf(*op.out).size()) return;
    for (const ViewPlace& place : sent) {
      if (place.axis == ViewPlace::kDropped) continue;
      const ViewPlace* const other = viewPlaceAlong(received, place.axis);
      if (other == nullptr || place.end - place.start != other->end - other->start) continue;
      compare(expr, {op.in, place}, {op.out, *other}, fmt::format("axis {}", place.axis));
    }
  }

  void meet(const Expr& expr, const TensorView* buffer, bool is_sent, int64_t peer, Way way) {
    const Pair pair = is_sent ? Pair(rank_, peer, way) : Pair(peer, rank_, way);
    TransferSide own = {.buffer = buffer};
    if (is_sent || isView(root(buffer))) own.places = placesOf(buffer);
    Open& open = open_[pair];
    if (open.next == open.sides.size() || open.are_sent == is_sent) {
      open.are_sent = is_sent;
      open.sides.push_back(std::move(own));
      return;
    }
    const TransferSide other = std::move(open.sides[open.next++]);
    if (open.next == open.sides.size()) open_.erase(pair);
    compareSides(expr, is_sent ? own : other, is_sent ? other : own, pair);
  }

  void compareSides(const Expr& expr, const TransferSide& sent, const TransferSide& received, const Pair& pair) {
    const TensorView* const from = wholeOf(root(sent.buffer));
    if (from != wholeOf(root(received.buffer)) && !isDealtOut(*from)) return;
    if (shapeOf(*sent.buffer).size() != shapeOf(*received.buffer).size()) return;
    const auto [sender, receiver, way] = pair;
    const auto differ = [&](const ViewPlace& a, const ViewPlace& b) {
      add(expr, rank_ == sender ? receiver : sender,
          fmt::format("rank {} sends rank {} {} {}, which receives it as {} {}; places that are computed of the rank "
                      "have to be the same: receive a part where it was",
                      sender, receiver, nameOf(*sent.buffer), a.inWords(), nameOf(*received.buffer), b.inWords()));
    };
    for (const ViewPlace& place : sent.places) {
      const ViewPlace* const other = viewPlaceAlong(received.places, place.axis);
      if (other == nullptr || place.isEmpty() || other->isEmpty()) continue;
      if (!place.is_of_rank && !other->is_of_rank) continue;
      const bool is_dropped = place.axis == ViewPlace::kDropped;
      const auto isThere = [&](const ViewPlace& one) { return one.axis == place.axis && one.isAt(place); };
      if (is_dropped ? std::ranges::none_of(received.places, isThere) : !place.isAt(*other))
        return differ(place, *other);
    }
  }

  RankDependence& analysis_;
  const int64_t ranks_;
  const int64_t limit_;
  int64_t rank_ = 0;
  bool has_places_of_rank_ = false;
  int64_t around_ = 1;  // iterations of all loops around together
  ScalarBindings scalars_;
  std::unordered_map<const TensorView*, const TensorView*> source_of_;  // of views
  std::unordered_map<const TensorView*, ViewPlaces> places_;            // at present
  std::unordered_map<const Expr*, std::unique_ptr<OpAxes>> axes_of_;
  std::unordered_map<const TensorView*, const Expr*> written_;         // by which statement last
  std::map<const TensorView*, std::pair<int64_t, ViewPlaces>> first_;  // of outputs, on the first rank that has them
  std::map<Pair, Open> open_;
  std::set<const Expr*> told_;
  std::vector<RankFinding> findings_;
};

}  // namespace

std::vector<RankFinding> checkRankParts(RankDependence& analysis, int64_t ranks, int64_t limit) {
  return PartCheck(analysis, ranks, limit).check();
}

}  // namespace tokamak
