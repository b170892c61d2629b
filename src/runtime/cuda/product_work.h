// ProductWork: the pieces of work that a matrix product is made of, one after the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/cuda_work.h"
#include "runtime/cuda/stream_memory.h"

namespace tokamak {

/// Each piece takes some of the op's operands, and perhaps memory in which an earlier one leaves something for it.
class ProductWork final : public CudaWork {
 public:
  static constexpr size_t kMostOperands = 8;
  static constexpr size_t kBetween = SIZE_MAX;  ///< the number of the memory between pieces

  /// `between` may be null, where no piece takes it.
  explicit ProductWork(std::string name, std::unique_ptr<StreamMemory> between = nullptr)
      : name_(std::move(name)), between_(std::move(between)) {}

  /// `numbers`: which operands of the op the piece takes.
  void add(std::shared_ptr<const CudaWork> work, std::vector<size_t> numbers);

  /// 0: there is nothing to compute; 1: one call or kernel does it all.
  size_t pieceCount() const { return pieces_.size(); }

  std::string_view name() const override { return name_; }
  void waitUntilReady() const override;
  void addCompilations(std::vector<std::shared_ptr<Compilation>>& compilations) const override;
  void makeReadyOn(DriverContext& context, driver::Stream stream) const override;
  void enqueue(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const override;

 private:
  struct Piece {
    std::shared_ptr<const CudaWork> work;
    std::vector<size_t> numbers;
  };
  std::string name_;
  std::unique_ptr<StreamMemory> between_;
  std::vector<Piece> pieces_;
};

}  // namespace tokamak
