// How a matmul or linear op, alone or with an activation, becomes work: a call of the library, or generated kernels
// where the library has none.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "device/matrix_programs.h"
#include "device/work.h"
#include "graph/product_group.h"
#include "ir/expr.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_products.h"
#include "runtime/cuda/product_work.h"

namespace tokamak {

namespace {

std::string workName(const Expr& expr, const GemmProblem& problem, ProductActivation activation) {
  const std::string_view behind = activationName(activation);
  return fmt::format("{}{}{} {}x{}x{}", expr.info().name, behind.empty() ? "" : "+", behind, problem.m, problem.n,
                     problem.k);
}

int64_t bytesOf(const OperandDesc& operand) {
  int64_t bytes = sizeOf(operand.dtype);
  for (const int64_t size : operand.sizes) bytes *= size;
  return bytes;
}

std::optional<LibraryProduct> libraryProductFor(const GemmProblem& problem, std::span<const OperandDesc> operands,
                                                int64_t concurrency, int64_t multiprocessors) {
  std::optional<LibraryProduct> product = libraryProductOf(problem, operands);
  if (product) product->multiprocessors = multiprocessorsFor(*product, concurrency, multiprocessors);
  return product;
}

}  // namespace

CudaProducts& CudaDevice::products() {
  const std::lock_guard lock(products_mutex_);
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
  auto work = std::make_shared<ProductWork>(workName(request.expr, *problem, ProductActivation::None));
  if (problem->isEmpty()) return work;
  using ProgramOf = MatrixProgram (*)(const GemmProblem&, std::span<const OperandDesc>);
  const auto addKernel = [&](ProgramOf programOf) {
    const MatrixProgram program = programOf(*plainProblemOf(request.expr, request.operands), request.operands);
    work->add(prepareKernel(program.request(request.kernels)), program.numbers);
  };
  if (auto product =
          libraryProductFor(*problem, request.operands, request.concurrency, cuda_properties_.multiprocessors)) {
    const std::string name(work->name());
    std::shared_ptr<const CudaWork> call = products().make(*product, name);
    if (call == nullptr && product->bias == LibraryProduct::Bias::Epilogue) {
      product->bias = LibraryProduct::Bias::Before;
      call = products().make(*product, name);
    }
    if (call != nullptr && product->bias != LibraryProduct::Bias::Before) return call;
    if (call != nullptr) {
      addKernel(biasProgram);
      std::vector<size_t> all(request.operands.size());
      for (size_t i = 0; i < all.size(); ++i) all[i] = i;
      work->add(std::move(call), std::move(all));
      return work;
    }
  }
  addKernel(productProgram);
  return work;
}

// What the library does not give with the activation is given without it, into memory of the work's own, and a kernel
// does the rest.
std::shared_ptr<const CudaWork> CudaDevice::prepareProductGroup(const WorkRequest& request, const ProductGroup& group) {
  auto [operands, numbers] = operandsOf(group, request.operands);
  const std::optional<GemmProblem> problem = gemmProblemOf(*group.product, operands);
  TK_CHECK(problem, "{} is no matrix product", group.product->info().name);
  const std::string name = workName(*group.product, *problem, group.activation);
  if (problem->isEmpty()) return std::make_shared<ProductWork>(name);
  auto product = libraryProductFor(*problem, operands, request.concurrency, cuda_properties_.multiprocessors);
  if (product && product->bias != LibraryProduct::Bias::Before) {
    product->activation = group.activation;
    if (auto call = products().make(*product, name)) {
      auto work = std::make_shared<ProductWork>(name);
      work->add(std::move(call), std::move(numbers));
      return work;
    }
  }
  const OperandDesc result = operands.back();
  const OperandDesc between = denseLike(result);
  operands.back() = between;
  auto work = std::make_shared<ProductWork>(name, std::make_unique<StreamMemory>(context_, bytesOf(between)));
  const size_t result_number = std::exchange(numbers.back(), ProductWork::kBetween);
  work->add(prepareProduct({.expr = *group.product,
                            .operands = operands,
                            .bindings = request.bindings,
                            .concurrency = request.concurrency,
                            .kernels = request.kernels}),
            std::move(numbers));
  work->add(prepareKernel(activationProgram(group, between, result, request.bindings).request(request.kernels)),
            {ProductWork::kBetween, result_number});
  return work;
}

}  // namespace tokamak
