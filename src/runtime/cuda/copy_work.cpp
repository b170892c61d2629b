#include "runtime/cuda/copy_work.h"

#include "base/require.h"
#include "device/work.h"
#include "ir/expr_summary.h"
#include "ir/ops/math/load_store_op.h"

namespace tokamak {

namespace {

// Neighbouring bytes on both sides.
struct Piece {
  int64_t to = 0;
  int64_t from = 0;
};

class CopyWork final : public CudaWork {
 public:
  CopyWork(std::vector<Piece> pieces, int64_t bytes, std::string name)
      : pieces_(std::move(pieces)), bytes_(bytes), name_(std::move(name)) {}

  std::string_view name() const override { return name_; }
  void enqueue(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const override {
    for (const Piece& piece : pieces_) {
      context.check(context.driver().copy_async(addressOf(addresses[1]) + static_cast<driver::Address>(piece.to),
                                                addressOf(addresses[0]) + static_cast<driver::Address>(piece.from),
                                                static_cast<size_t>(bytes_), stream),
                    "{}: copying {} bytes for {}", context.name(), bytes_, name_);
    }
  }

 private:
  std::vector<Piece> pieces_;
  int64_t bytes_;
  std::string name_;
};

}  // namespace

std::shared_ptr<const CudaWork> prepareCopy(const WorkRequest& request) {
  const auto* copy = request.expr.as<LoadStoreOp>();
  TK_REQUIRE(copy != nullptr && request.operands.size() == 2, Unsupported,
             "{}: it reads or writes memory of the host, which kernels of a CUDA device do not reach; legal is set, "
             "which copies",
             summaryOf(request.expr));
  const OperandDesc& from = request.operands[0];
  const OperandDesc& to = request.operands[1];
  // The axes from the last on along which both sides are dense are one piece.
  int64_t bytes = sizeOf(from.dtype);
  size_t outer = from.sizes.size();
  int64_t dense = 1;
  while (outer > 0) {
    const size_t axis = outer - 1;
    const bool is_dense = from.strides[axis] == dense && to.strides[axis] == dense;
    if (from.sizes[axis] != 1 && !is_dense) break;
    dense *= from.sizes[axis];
    outer = axis;
  }
  bytes *= dense;
  constexpr int64_t kMostPieces = 1 << 16;
  int64_t count = bytes > 0 ? 1 : 0;
  for (size_t axis = 0; axis < outer; ++axis) {
    count *= from.sizes[axis];
    TK_REQUIRE(count <= kMostPieces, Unsupported,
               "{}: neighbours on one side are so few on the other that it would be more than {} copies; legal are "
               "memories of like order",
               summaryOf(request.expr), kMostPieces);
  }
  std::vector<Piece> pieces;
  for (int64_t i = 0; i < count; ++i) {
    Piece piece;
    int64_t rest = i;
    for (size_t axis = outer; axis-- > 0;) {
      const int64_t at = rest % from.sizes[axis];
      rest /= from.sizes[axis];
      piece.to += at * to.strides[axis] * sizeOf(to.dtype);
      piece.from += at * from.strides[axis] * sizeOf(from.dtype);
    }
    pieces.push_back(piece);
  }
  return std::make_shared<CopyWork>(std::move(pieces), bytes, summaryOf(request.expr));
}

}  // namespace tokamak
