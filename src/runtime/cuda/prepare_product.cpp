// How a matmul or linear op becomes work: a call of the library, or a generated kernel where the library has none.
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "ir/expr.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_products.h"
#include "runtime/cuda/matrix_programs.h"

namespace tokamak {

namespace {

// Works one after the other, each with some of the op's operands.
class ProductWork final : public CudaWork {
 public:
  static constexpr size_t kMostOperands = 8;

  explicit ProductWork(std::string name) : name_(std::move(name)) {}

  void add(std::shared_ptr<const CudaWork> work, std::vector<size_t> numbers) {
    TK_CHECK(numbers.size() <= kMostOperands, "a matrix product has {} operands", numbers.size());
    parts_.push_back({std::move(work), std::move(numbers)});
  }

  std::string_view name() const override { return name_; }
  void waitUntilReady() const override {
    for (const Part& part : parts_) part.work->waitUntilReady();
  }
  void makeReadyOn(DriverContext& context, driver::Stream stream) const override {
    for (const Part& part : parts_) part.work->makeReadyOn(context, stream);
  }
  void enqueue(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const override {
    for (const Part& part : parts_) {
      std::array<void*, kMostOperands> own = {};
      for (size_t i = 0; i < part.numbers.size(); ++i) own[i] = addresses[part.numbers[i]];
      part.work->enqueue(context, stream, {own.data(), part.numbers.size()});
    }
  }

 private:
  struct Part {
    std::shared_ptr<const CudaWork> work;
    std::vector<size_t> numbers;
  };
  std::string name_;
  std::vector<Part> parts_;
};

}  // namespace

CudaProducts& CudaDevice::products() {
  const std::lock_guard lock(kernels_mutex_);
  if (products_ == nullptr) {
    const CudaProperties& gpu = cuda_properties_;
    products_ =
        std::make_shared<CudaProducts>(context_, device_memory_, options_.products_library,
                                       fmt::format("{}, sm_{}{}, {} multiprocessors", properties_.description,
                                                   gpu.capability_major, gpu.capability_minor, gpu.multiprocessors),
                                       KernelCache::openDefault());
  }
  return *products_;
}

std::shared_ptr<const CudaWork> CudaDevice::prepareProduct(const WorkRequest& request) {
  const std::optional<GemmProblem> problem = gemmProblemOf(request.expr, request.operands);
  TK_CHECK(problem, "{} is no matrix product", request.expr.info().name);
  auto work = std::make_shared<ProductWork>(
      fmt::format("{} {}x{}x{}", request.expr.info().name, problem->m, problem->n, problem->k));
  if (problem->m == 0 || problem->n == 0 || problem->batchCount() == 0) return work;
  const auto addKernel = [&](const MatrixProgram& program) {
    work->add(prepareKernel(program.request()), program.numbers);
  };
  if (std::optional<LibraryProduct> product = libraryProductOf(*problem, request.operands)) {
    const std::string name(work->name());
    std::shared_ptr<const CudaWork> call = products().make(*product, name);
    if (call == nullptr && product->bias == LibraryProduct::Bias::Epilogue) {
      product->bias = LibraryProduct::Bias::Before;
      call = products().make(*product, name);
    }
    if (call != nullptr && product->bias != LibraryProduct::Bias::Before) return call;
    if (call != nullptr) {
      addKernel(biasProgram(*problem, request.operands));
      std::vector<size_t> all(request.operands.size());
      for (size_t i = 0; i < all.size(); ++i) all[i] = i;
      work->add(std::move(call), std::move(all));
      return work;
    }
  }
  addKernel(productProgram(*problem, request.operands));
  return work;
}

}  // namespace tokamak
