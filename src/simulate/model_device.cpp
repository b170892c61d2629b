#include "simulate/model_device.h"

#include "analysis/op_counts.h"
#include "base/require.h"
#include "device/kernel_target.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/math/linear_op.h"
#include "ir/ops/math/matmul_op.h"

namespace tokamak {

namespace {

void addArithmetic(const Expr& expr, const ScalarBindings& sizes, ModelWork& work) {
  const double count = arithmeticOf(expr, sizes);
  if (!expr.is<MatmulOp>() && !expr.is<LinearOp>()) {
    work.functions += count;
    return;
  }
  work.products += count;
  work.product_type = tensorsOf(expr.inputs())[0]->dtype();
}

class ModelTeam final : public TeamCommunicator {
 public:
  ModelTeam(Device& device, int64_t rank, std::span<const int64_t> ranks)
      : device_(device),
        rank_(rank),
        ranks_(std::make_shared<std::vector<int64_t>>(ranks.begin(), ranks.end())),
        stream_(device.createStream()) {}

  std::span<const int64_t> ranks() const override { return *ranks_; }
  int64_t rank() const override { return rank_; }
  int64_t epoch() const override { return 0; }

  std::shared_ptr<const Work> prepare(std::span<const CommunicationRequest> group) override {
    for (const CommunicationRequest& request : group) requireLegal(request, *ranks_, rank_);
    auto work = std::make_shared<ModelWork>();
    work->group.assign(group.begin(), group.end());
    work->team = ranks_;
    return work;
  }

  Stream& stream() override { return *stream_; }
  Stream& stream(P2pType type, int64_t peer) override {
    std::shared_ptr<Stream>& stream = to_peers_[{type, peer}];
    if (stream == nullptr) stream = device_.createStream();
    return *stream;
  }
  void leave(const std::exception_ptr&) override {}
  void requireWhole() const override {}

 private:
  Device& device_;
  const int64_t rank_;
  const std::shared_ptr<const std::vector<int64_t>> ranks_;
  const std::shared_ptr<Stream> stream_;
  std::map<std::pair<P2pType, int64_t>, std::shared_ptr<Stream>> to_peers_;
};

}  // namespace

ModelDevice::ModelDevice()
    : PlanningDevice(hopperTarget(),
                     {.name = "model", .description = "says what its works would do", .activates_products = true}) {}

std::shared_ptr<const Work> ModelDevice::prepare(const WorkRequest& request) {
  auto work = std::make_shared<ModelWork>();
  if (const auto* post = request.expr.as<PostOnStream>()) {
    for (const Expr* expr : post->segment->fusion->exprs()) addArithmetic(*expr, request.bindings, *work);
  } else {
    addArithmetic(request.expr, request.bindings, *work);
  }
  return work;
}

std::vector<std::vector<std::byte>> ModelCommunicator::exchange(std::string_view tag, std::span<const int64_t>,
                                                                std::span<const std::byte>) {
  TK_RAISE(Unsupported, "model: ranks of a model have nothing to exchange, and {} was to be", tag);
}

std::shared_ptr<TeamCommunicator> ModelCommunicator::team(std::span<const int64_t> ranks) {
  return std::make_shared<ModelTeam>(*device_, rank_, ranks);
}

}  // namespace tokamak
