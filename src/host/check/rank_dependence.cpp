#include "host/check/rank_dependence.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "host/ir/restrict_op.h"
#include "host/local/rank_team.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/p2p_communication.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/host/set_current_stream.h"
#include "ir/ops/host/synchronize.h"
#include "ir/ops/math/load_store_op.h"

namespace tokamak {

namespace {

// As local programs know it.
constexpr std::string_view kRankSymbol = "rank";

}  // namespace

RankDependence::RankDependence(const HostIrContainer& program, const ScalarBindings& bindings, RankLimits limits)
    : program_(program), bindings_(bindings), ranks_(limits.ranks), most_iterations_(limits.most_iterations) {
  for (const Scalar* symbol : program.allSymbols()) {
    if (symbol->name() == kRankSymbol && !program.isInput(symbol)) rank_ = symbol;
  }
  std::vector<int64_t> all(static_cast<size_t>(ranks_));
  std::iota(all.begin(), all.end(), int64_t{0});
  const int64_t shape[] = {ranks_};
  frames_.emplace_back(all, shape, ranks_);
  for (TensorView* input : tensorsOf(program.inputs())) addTensor(input);
  for (TensorView* output : program.outputs()) addTensor(output);
  forEachStatement(program.topLevel(), [&](const Expr& expr) { addStatement(expr); });
  for (const auto& [alias, original] : program.aliases()) unite(alias, original);
  for (const auto& [view, source] : program.views()) unite(view, source);
  for (const auto& [view, source] : program.views()) viewed_.insert(groupOf(view));
  for (const TensorView* tensor : rank_sliced_tensors_) rank_sliced_.insert(groupOf(tensor));
}

bool RankDependence::has(const TensorView& tensor, int64_t rank) const {
  const auto mesh = mesh_of_.find(&tensor);
  return mesh == mesh_of_.end() || !meshes_[mesh->second].coordinates[static_cast<size_t>(rank)].empty();
}

bool RankDependence::isOfRank(const Scalar* scalar) {
  if (scalar == nullptr || rank_ == nullptr) return false;
  if (scalar == rank_) return true;
  if (const auto known = is_of_rank_.find(scalar); known != is_of_rank_.end()) return known->second;
  const std::span<Scalar* const> operands = scalar->operands();
  const bool is_any = std::ranges::any_of(operands, [&](const Scalar* operand) { return isOfRank(operand); });
  is_of_rank_[scalar] = is_any;
  return is_any;
}

bool RankDependence::mentionsRank(const Expr& expr) {
  if (rank_ == nullptr || expr.list() == OpList::Math || expr.is<PostOnStream>()) return false;
  const auto [known, is_new] = mentions_rank_.try_emplace(&expr, false);
  if (!is_new) return known->second;
  const StreamVal* const stream = streamOf(expr);
  bool is_any = stream != nullptr && isOfRank(stream->index());
  for (const Field& field : fieldsOf(expr)) {
    if (const auto* scalar = std::get_if<Scalar*>(&field.value)) is_any = is_any || isOfRank(*scalar);
    if (const auto* scalars = std::get_if<std::vector<Scalar*>>(&field.value))
      for (const Scalar* one : *scalars) is_any = is_any || isOfRank(one);
  }
  mentions_rank_[&expr] = is_any;
  return is_any;
}

bool RankDependence::isUnrolled(const ForLoop& loop) {
  const auto [known, is_new] = is_unrolled_.try_emplace(&loop, false);
  if (!is_new) return known->second;
  bool is_any = false;
  forEachStatement(loop.body, [&](const Expr& expr) {
    const bool is_view = expr.is<HirAliasSelect>() || expr.is<HirAliasSlice>();
    const auto* collective = expr.as<Communication>();
    const bool has_roots = collective != nullptr && collective->root != nullptr && !collective->root->isConstant();
    is_any = is_any || has_roots || expr.is<P2pCommunication>() || expr.is<CollectivePermute>() || mentionsRank(expr) ||
             (is_view && isRankSliced(asTensor(expr.output(0)))) ||
             (expr.is<LoadStoreOp>() && !slicedBySet(*expr.as<LoadStoreOp>()).empty());
  });
  is_unrolled_[&loop] = is_any;
  return is_any;
}

bool RankDependence::communicates(const Block& block) {
  bool is_any = false;
  forEachStatement(block, [&](const Expr& expr) { is_any = is_any || expr.info().is_communication; });
  return is_any;
}

const StreamVal* RankDependence::streamOf(const Expr& expr) {
  if (const auto* op = expr.as<SetCurrentStream>()) return op->stream;
  if (const auto* op = expr.as<Synchronize>()) return op->stream;
  return nullptr;
}

void RankDependence::addPlaces(int64_t rank, std::vector<int64_t>& signature) const {
  for (const Mesh& mesh : meshes_) signature.push_back(mesh.coordinates[static_cast<size_t>(rank)].empty() ? 0 : 1);
  for (size_t i = 0; i < parts_.size(); ++i) signature.push_back(rangeOf(i, rank).extent);
}

// Where a size is not known each coordinate has another extent, which no other one has.
IndexRange RankDependence::rangeOf(size_t part, int64_t rank) const {
  const Part& of = parts_[part];
  const std::vector<int64_t>& at = meshes_[of.mesh].coordinates[static_cast<size_t>(rank)];
  if (at.empty()) return {.start = 0, .extent = -1};
  if (!of.n || !of.chunk) return {.start = 0, .extent = -2 - at[of.dimension]};
  return shardRange(*of.n, *of.chunk, at[of.dimension]);
}

std::vector<RankDependence::SlicedAxis> RankDependence::slicedBySet(const LoadStoreOp& op) const {
  std::vector<SlicedAxis> sliced;
  const auto own = parts_of_.find(op.out);
  if (own == parts_of_.end()) return sliced;
  const auto other = parts_of_.find(op.in);
  for (const SlicedAxis& axis : own->second) {
    const bool is_part = other != parts_of_.end() &&
                         std::ranges::find(other->second, axis.axis, &SlicedAxis::axis) != other->second.end();
    if (!is_part) sliced.push_back(axis);
  }
  return sliced;
}

size_t RankDependence::meshNumber(const DeviceMesh& mesh) {
  const auto known = std::ranges::find(meshes_, mesh, &Mesh::mesh);
  if (known != meshes_.end()) return static_cast<size_t>(known - meshes_.begin());
  Mesh made = {.mesh = mesh, .coordinates = std::vector<std::vector<int64_t>>(static_cast<size_t>(ranks_))};
  if (mesh.isFilled()) {
    for (size_t place = 0; place < mesh.devices.size(); ++place) {
      if (mesh.devices[place] < 0 || mesh.devices[place] >= ranks_) continue;
      std::vector<int64_t> at(mesh.shape.size());
      auto rest = static_cast<int64_t>(place);
      for (size_t i = mesh.shape.size(); i-- > 0; rest /= mesh.shape[i]) at[i] = rest % mesh.shape[i];
      made.coordinates[static_cast<size_t>(mesh.devices[place])] = std::move(at);
    }
    if (mesh.shape.size() > 1) frames_.emplace_back(mesh.devices, mesh.shape, ranks_);
  }
  meshes_.push_back(std::move(made));
  return meshes_.size() - 1;
}

void RankDependence::addTensor(TensorView* tensor) {
  if (tensor->mesh().empty() || mesh_of_.contains(tensor)) return;
  const size_t mesh = meshNumber(tensor->mesh());
  mesh_of_[tensor] = mesh;
  const auto known = [&](const Scalar& scalar) -> std::optional<int64_t> {
    const auto value = evaluate(scalar, bindings_);
    return value ? std::optional(asInt(*value)) : std::nullopt;
  };
  for (const Shard& shard : shardsOf(*tensor)) {
    const Part part = {.mesh = mesh,
                       .dimension = shard.dimension,
                       .n = known(*shard.logical->visibleExtent()),
                       .chunk = known(*shard.chunk)};
    const auto place = std::ranges::find(parts_, part);
    const auto number = static_cast<size_t>(place - parts_.begin());
    if (place == parts_.end()) parts_.push_back(part);
    parts_of_[tensor].push_back({.axis = visibleAxisNumber(*tensor, *shard.logical), .part = number});
  }
}

void RankDependence::addStatement(const Expr& expr) {
  for (TensorView* tensor : tensorsOf(expr.inputs())) addTensor(tensor);
  for (TensorView* tensor : tensorsOf(expr.outputs())) addTensor(tensor);
  if (expr.info().is_communication) number_of_.emplace(&expr, static_cast<int32_t>(number_of_.size()));
  if (const auto* op = expr.as<Communication>()) {
    const bool is_between_meshes = op->in != nullptr && op->out != nullptr && op->in->mesh() != op->out->mesh();
    const TensorView* const side = op->in != nullptr ? op->in : op->out;
    addTeamMap(expr, is_between_meshes || side == nullptr ? nullptr : &side->mesh(),
               [&](int64_t rank) { return teamOfRank(*op, rank); });
  }
  if (const auto* op = expr.as<CollectivePermute>())
    addTeamMap(expr, &op->in->mesh(), [&](int64_t rank) { return teamOfRank(*op, rank); });
  if (const auto* op = expr.as<HirAliasSelect>()) addView(op->out, op->in, isOfRank(op->index));
  if (const auto* op = expr.as<HirAliasSlice>()) addView(op->out, op->in, isOfRank(op->start) || isOfRank(op->stop));
  if (const auto* op = expr.as<LoadStoreOp>()) {
    if (!slicedBySet(*op).empty()) rank_sliced_tensors_.push_back(op->in);
  }
}

void RankDependence::addView(const TensorView* out, const TensorView* in, bool is_of_rank) {
  unite(out, in);
  if (is_of_rank) rank_sliced_tensors_.push_back(out);
}

template <class TeamOf>
void RankDependence::addTeamMap(const Expr& expr, const DeviceMesh* mesh, const TeamOf& team_of) {
  constexpr int32_t kUnknown = -2;
  TeamMap map(static_cast<size_t>(ranks_), kUnknown);
  for (int64_t rank = 0; rank < ranks_; ++rank) {
    if (map[static_cast<size_t>(rank)] != kUnknown) continue;
    const std::vector<int64_t> team = team_of(rank);
    const bool is_in = std::ranges::find(team, rank) != team.end();
    map[static_cast<size_t>(rank)] = is_in ? teamNumber(team) : -1;
    if (!is_in) continue;
    // The others of the row have it, too, or all that are named.
    const std::vector<std::vector<int64_t>>* const coordinates =
        mesh == nullptr ? nullptr : &meshes_[meshNumber(*mesh)].coordinates;
    for (const int64_t other : team) {
      if (other < 0 || other >= ranks_) continue;
      const auto place = static_cast<size_t>(other);
      if (coordinates == nullptr || !(*coordinates)[place].empty()) map[place] = map[static_cast<size_t>(rank)];
    }
  }
  map_of_.emplace(&expr, static_cast<int32_t>(team_maps_.size()));
  team_maps_.push_back(std::move(map));
}

int32_t RankDependence::teamNumber(const std::vector<int64_t>& team) {
  const auto [known, is_new] = number_of_team_.emplace(team, static_cast<int32_t>(teams_.size()));
  if (is_new) teams_.push_back(team);
  return known->second;
}

const TensorView* RankDependence::groupOf(const TensorView* tensor) const {
  for (auto above = above_.find(tensor); above != above_.end(); above = above_.find(tensor)) tensor = above->second;
  return tensor;
}

void RankDependence::unite(const TensorView* a, const TensorView* b) {
  a = groupOf(a);
  b = groupOf(b);
  if (a != b) above_[a] = b;
}

}  // namespace tokamak
