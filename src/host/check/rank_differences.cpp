#include "host/check/rank_differences.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "host/check/rank_dependence.h"
#include "host/ir/loop_limit.h"
#include "host/ir/restrict_op.h"
#include "host/ir/text/host_printer.h"
#include "ir/ops/host/collective_permute.h"
#include "ir/ops/host/communication.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/if_then_else.h"
#include "ir/ops/host/p2p_communication.h"
#include "ir/ops/math/load_store_op.h"

namespace tokamak {

namespace {

// Lists of many numbers, as meshes and teams are, by the first ones and the last one.
std::string withShortLists(std::string_view line) {
  constexpr size_t kShown = 8;
  const auto isOfList = [](char c) { return isDigit(c) || c == ' '; };
  std::string text;
  for (size_t at = 0; at < line.size();) {
    size_t end = at;
    while (end < line.size() && isOfList(line[end])) ++end;
    const std::string_view list = line.substr(at, end - at);
    size_t shown = 0;
    for (size_t i = 0; i < kShown && shown != std::string_view::npos; ++i) shown = list.find(' ', shown + 1);
    const size_t last = list.rfind(' ');
    if (shown == std::string_view::npos || shown >= last)
      text += list;
    else
      text.append(list.substr(0, shown)).append(" ...").append(list.substr(last));
    if (end < line.size()) text += line[end];
    at = end + 1;
  }
  return text;
}

}  // namespace

// One rank's way through the program.
class RankDifferences::Walk {
 public:
  Walk(RankDependence& analysis, int64_t rank, const RankFrame& frame)
      : analysis_(analysis), rank_(rank), frame_(frame), scalars_(analysis.bindings()) {
    if (analysis.rankSymbol() != nullptr) scalars_[analysis.rankSymbol()] = rank;
  }

  std::vector<int64_t> signature() {
    analysis_.addPlaces(rank_, signature_);
    walk(analysis_.program().topLevel());
    return std::move(signature_);
  }
  std::vector<RankVisit> visits() {
    wants_visits_ = true;
    walk(analysis_.program().topLevel());
    return std::move(visits_);
  }

 private:
  // A part of a tensor: whose slices are numbered along one axis, by where they start.
  struct Slices {
    int64_t axis = 0;
    std::map<int64_t, std::pair<int64_t, int64_t>> by_start;  // end, number of the slice
  };

  void emit(int64_t value) { signature_.push_back(value); }
  // This rank is like no other one.
  void emitAlone() { emit(std::numeric_limits<int64_t>::min() + rank_); }
  // What is the same on ranks where the scalar does not mention the rank is not told.
  void emitIfOfRank(const Scalar* scalar) {
    if (!analysis_.isOfRank(scalar)) return;
    const auto value = evaluate(*scalar, scalars_);
    value ? emit(asInt(*value)) : emitAlone();
  }
  bool has(const TensorView* tensor) const { return analysis_.has(*tensor, rank_); }

  void walk(const Block& block) {
    for (const Expr* expr : block.exprs) statement(*expr);
  }

  void statement(const Expr& expr) {
    if (const auto* op = expr.as<ForLoop>()) return loop(*op);
    if (const auto* op = expr.as<IfThenElse>()) return choice(*op);
    if (const auto* op = expr.as<Communication>()) return collective(expr, *op);
    if (const auto* op = expr.as<CollectivePermute>()) return permutation(expr, *op);
    if (const auto* op = expr.as<P2pCommunication>()) return transfer(expr, *op);
    if (wants_visits_) return;
    if (const auto* op = expr.as<HirAliasSelect>()) {
      if (!has(op->out) || !analysis_.isRankSliced(op->out)) return;
      const auto index = evaluate(*op->index, scalars_);
      if (!index) return emitAlone();
      return slice(op->out, op->in, op->axis, {.start = asInt(*index), .extent = 1});
    }
    if (const auto* op = expr.as<HirAliasSlice>()) {
      if (!has(op->out) || !analysis_.isRankSliced(op->out)) return;
      const auto start = evaluate(*op->start, scalars_);
      const auto stop = evaluate(*op->stop, scalars_);
      if (!start || !stop) return emitAlone();
      return slice(op->out, op->in, op->axis, {.start = asInt(*start), .extent = asInt(*stop) - asInt(*start)});
    }
    if (const auto* op = expr.as<LoadStoreOp>()) return set(*op);
    if (analysis_.mentionsRank(expr)) other(expr);
  }

  void loop(const ForLoop& op) {
    for (const Scalar* bound : {op.start, op.stop, op.step}) emitIfOfRank(bound);
    const auto start = evaluate(*op.start, scalars_);
    const auto step = evaluate(*op.step, scalars_);
    const std::optional<int64_t> iterations = iterationsOf(op, scalars_);
    if (!start || !step || !iterations || *iterations > analysis_.mostIterations() / around_)
      return emitAlone();  // refused when it is run
    if (*iterations == 0 && collapsed_ == 0) return;
    const bool is_unrolled = wants_visits_ ? RankDependence::communicates(op.body) : analysis_.isUnrolled(op);
    if (!is_unrolled) return wants_visits_ ? void() : collapsed(op, asInt(*start));
    const int64_t around = std::exchange(around_, around_ * std::max<int64_t>(*iterations, 1));
    for (int64_t i = 0; i < *iterations; ++i) {
      scalars_[op.index] = asInt(*start) + i * asInt(*step);
      walk(op.body);
    }
    scalars_.erase(op.index);
    around_ = around;
  }

  // Nothing in the loop is computed of the rank: all that there is in it is told once, whatever iterations do.
  void collapsed(const ForLoop& op, int64_t start) {
    ++collapsed_;
    scalars_[op.index] = start;
    walk(op.body);
    scalars_.erase(op.index);
    --collapsed_;
  }

  void choice(const IfThenElse& op) {
    const auto holds = evaluate(*op.predicate, scalars_);
    if (!holds) return emitAlone();
    if (analysis_.isOfRank(op.predicate)) emit(asInt(*holds));
    if (asInt(*holds) != 0 || collapsed_ > 0) walk(op.then_body);
    if (asInt(*holds) == 0 || collapsed_ > 0) walk(op.else_body);
  }

  void collective(const Expr& expr, const Communication& op) {
    const int32_t map = analysis_.teamMapOf(expr);
    const int32_t team = analysis_.teamMaps()[static_cast<size_t>(map)][static_cast<size_t>(rank_)];
    emit(team < 0 ? -1 : labelOf(teams_, team));
    if (team < 0) return;
    if (op.root != nullptr) {
      const auto root = evaluate(*op.root, scalars_);
      if (!root) emitAlone();
      const int64_t position = std::ranges::find(op.team, root ? asInt(*root) : -1) - op.team.begin();
      const std::vector<int64_t>& own = analysis_.teams()[static_cast<size_t>(team)];
      // (Roots of the others of a class follow from one of them, by their places.)
      if (analysis_.isOfRank(op.root)) emit(position);
      const bool is_member = position < static_cast<int64_t>(std::min(op.team.size(), own.size()));
      emit(is_member && own[static_cast<size_t>(position)] == rank_ ? 1 : 0);
    }
    if (wants_visits_) visits_.push_back({.statement = analysis_.numberOf(expr), .team_map = map});
  }

  void permutation(const Expr& expr, const CollectivePermute& op) {
    const int32_t map = analysis_.teamMapOf(expr);
    const int32_t team = analysis_.teamMaps()[static_cast<size_t>(map)][static_cast<size_t>(rank_)];
    emit(team < 0 ? -1 : labelOf(teams_, team));
    if (team < 0 || !has(op.out)) return;
    const RankPeer send_to = peer(op.send_peer);
    const RankPeer receive_from = peer(op.recv_peer);
    if (wants_visits_)
      visits_.push_back(
          {.statement = analysis_.numberOf(expr), .team_map = map, .send_to = send_to, .receive_from = receive_from});
  }

  void transfer(const Expr& expr, const P2pCommunication& op) {
    if (!has(op.buffer)) return;
    const bool sends = op.type == P2pType::Send;
    const RankPeer other = peer(op.peer);
    if (!wants_visits_) return;
    RankVisit visit = {.statement = analysis_.numberOf(expr)};
    (sends ? visit.send_to : visit.receive_from) = other;
    visits_.push_back(visit);
  }

  RankPeer peer(const Scalar* scalar) {
    const auto value = evaluate(*scalar, scalars_);
    if (!value) {
      emitAlone();
      return {};
    }
    const int64_t rank = asInt(*value);
    RankPeer made = {.form = RankPeer::Form::Absolute, .value = rank};
    const int64_t offset = frame_.offset(rank_, rank);
    if (analysis_.isOfRank(scalar) && offset >= 0) made = {.form = RankPeer::Form::Relative, .value = offset};
    if (wants_visits_) return made;
    emit(static_cast<int64_t>(made.form));
    emit(made.value);
    emit(labelOf(peers_, rank));
    emit(rank == rank_ ? 1 : 0);
    return made;
  }

  // The n-th one that was seen, for equal values.
  static int64_t labelOf(std::unordered_map<int64_t, int64_t>& labels, int64_t value) {
    return labels.emplace(value, static_cast<int64_t>(labels.size())).first->second;
  }

  // --- slices: what matters is which of them are the same; all others are apart ---

  void slice(const TensorView* out, const TensorView* in, int64_t logical_axis, IndexRange range) {
    numbers_[root(out)] = numberOfSlice(in, logical_axis, range);
  }

  void set(const LoadStoreOp& op) {
    if (!has(op.out)) return;
    const Axes shape = shapeOf(*op.in);
    for (const RankDependence::SlicedAxis& sliced : analysis_.slicedBySet(op)) {
      const IterDomain& axis = *shape[static_cast<size_t>(sliced.axis)];
      numberOfSlice(op.in, logicalAxisNumber(*op.in, axis), analysis_.rangeOf(sliced.part, rank_));
    }
  }

  int64_t numberOfSlice(const TensorView* in, int64_t axis, IndexRange range) {
    const int64_t end = range.start + range.extent;
    const auto size = evaluate(*in->logical()[static_cast<size_t>(axis)]->visibleExtent(), scalars_);
    const bool is_inside = size && range.start >= 0 && range.extent >= 0 && end <= asInt(*size);
    Slices& slices = slices_[numberOf(in)];
    const bool is_first = slices.by_start.empty();
    if (is_first) slices.axis = axis;
    if (!is_inside || slices.axis != axis || analysis_.isViewed(in)) {
      emitAlone();
      return next_number_++;
    }
    const auto after = slices.by_start.lower_bound(range.start);
    const bool is_known = after != slices.by_start.end() && after->first == range.start && after->second.first == end;
    const bool meets_after = after != slices.by_start.end() && after->first < end;
    const bool meets_before = after != slices.by_start.begin() && std::prev(after)->second.first > range.start;
    if (!is_known && (meets_after || meets_before)) emitAlone();
    const int64_t number = is_known ? after->second.second : next_number_++;
    if (!is_known) slices.by_start.insert_or_assign(range.start, std::pair(end, number));
    emit(number);
    emit(range.extent);
    return number;
  }

  int64_t numberOf(const TensorView* tensor) {
    const auto [known, is_new] = numbers_.try_emplace(root(tensor), next_number_);
    if (is_new) ++next_number_;
    return known->second;
  }
  const TensorView* root(const TensorView* tensor) const {
    return analysis_.program().resolveAlias(const_cast<TensorView*>(tensor));
  }

  void other(const Expr& expr) {
    if (const StreamVal* stream = RankDependence::streamOf(expr)) emitIfOfRank(stream->index());
    for (const Field& field : fieldsOf(expr)) {
      if (const auto* scalar = std::get_if<Scalar*>(&field.value)) emitIfOfRank(*scalar);
      if (const auto* scalars = std::get_if<std::vector<Scalar*>>(&field.value))
        for (const Scalar* one : *scalars) emitIfOfRank(one);
    }
  }

  RankDependence& analysis_;
  const int64_t rank_;
  const RankFrame& frame_;
  ScalarBindings scalars_;
  bool wants_visits_ = false;
  int64_t around_ = 1;     // iterations of all loops around together
  int64_t collapsed_ = 0;  // loops around that are told once
  std::vector<int64_t> signature_;
  std::vector<RankVisit> visits_;
  std::unordered_map<int64_t, int64_t> teams_;
  std::unordered_map<int64_t, int64_t> peers_;
  std::unordered_map<const TensorView*, int64_t> numbers_;  // of tensors and of the slices that they are at present
  std::unordered_map<int64_t, Slices> slices_;
  int64_t next_number_ = 0;
};

RankDifferences::RankDifferences(const HostIrContainer& program, const ScalarBindings& bindings, RankLimits limits)
    : analysis_(std::make_unique<RankDependence>(program, bindings, limits)) {}

RankDifferences::~RankDifferences() = default;

const std::vector<RankFrame>& RankDifferences::frames() const { return analysis_->frames(); }
const std::vector<std::vector<int64_t>>& RankDifferences::teams() const { return analysis_->teams(); }
const std::vector<TeamMap>& RankDifferences::teamMaps() const { return analysis_->teamMaps(); }

std::vector<int64_t> RankDifferences::signatureOf(int64_t rank, const RankFrame& frame) {
  return Walk(*analysis_, rank, frame).signature();
}

std::vector<RankVisit> RankDifferences::visitsOf(int64_t rank, const RankFrame& frame) {
  return Walk(*analysis_, rank, frame).visits();
}

std::vector<std::string> RankDifferences::statements() const {
  std::vector<std::string> statements;
  const std::string text = printHostProgram(analysis_->program());
  for (std::string_view line : linesOf(text)) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const bool is_one = line.starts_with("Communication ") || line.starts_with("P2PCommunication ") ||
                        line.starts_with("CollectivePermute ");
    if (is_one) statements.push_back(withShortLists(line));
  }
  return statements;
}

}  // namespace tokamak
