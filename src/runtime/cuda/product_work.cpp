#include "runtime/cuda/product_work.h"

#include <array>

#include "base/require.h"

namespace tokamak {

void ProductWork::add(std::shared_ptr<const CudaWork> work, std::vector<size_t> numbers) {
  TK_CHECK(numbers.size() <= kMostOperands, "a matrix product has {} operands", numbers.size());
  pieces_.push_back({std::move(work), std::move(numbers)});
}

void ProductWork::waitUntilReady() const {
  for (const Piece& piece : pieces_) piece.work->waitUntilReady();
}

void ProductWork::addCompilations(std::vector<std::shared_ptr<Compilation>>& compilations) const {
  for (const Piece& piece : pieces_) piece.work->addCompilations(compilations);
}

void ProductWork::makeReadyOn(DriverContext& context, driver::Stream stream) const {
  if (between_ != nullptr) between_->on(stream, name_);
  for (const Piece& piece : pieces_) piece.work->makeReadyOn(context, stream);
}

void ProductWork::enqueue(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const {
  void* const between = between_ == nullptr ? nullptr : between_->on(stream, name_);
  for (const Piece& piece : pieces_) {
    std::array<void*, kMostOperands> own = {};
    for (size_t i = 0; i < piece.numbers.size(); ++i)
      own[i] = piece.numbers[i] == kBetween ? between : addresses[piece.numbers[i]];
    piece.work->enqueue(context, stream, {own.data(), piece.numbers.size()});
  }
}

}  // namespace tokamak
