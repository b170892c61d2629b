// How a matmul or linear op, alone or with an activation, becomes work: a call of the library, or generated kernels
// where the library has none.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "device/work.h"
#include "graph/product_group.h"
#include "ir/expr.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_products.h"
#include "runtime/cuda/matrix_programs.h"
#include "runtime/cuda/product_work.h"

namespace tokamak {

namespace {

std::string workName(const Expr& expr, const GemmProblem& problem, ProductActivation activation) {
  const std::string_view behind = activationName(activation);
  return fmt::format("{}{}{} {}x{}x{}", expr.info().name, behind.empty() ? "" : "+", behind, problem.m, problem.n,
                     problem.k);
}

bool isEmpty(const GemmProblem& problem) { return problem.m == 0 || problem.n == 0 || problem.batchCount() == 0; }

// Row-major and dense.
OperandDesc denseLike(const OperandDesc& operand) {
  OperandDesc dense{.dtype = operand.dtype, .sizes = operand.sizes, .strides = operand.strides, .alignment = 256};
  int64_t stride = 1;
  for (size_t i = dense.sizes.size(); i-- > 0;) {
    dense.strides[i] = stride;
    stride *= dense.sizes[i];
  }
  return dense;
}

int64_t bytesOf(const OperandDesc& operand) {
  int64_t bytes = sizeOf(operand.dtype);
  for (const int64_t size : operand.sizes) bytes *= size;
  return bytes;
}

// The operands of a group's product, its result last, and which operands of the segment they are.
struct GroupOperands {
  std::vector<OperandDesc> descs;
  std::vector<size_t> numbers;
};

GroupOperands operandsOf(const ProductGroup& group, std::span<const OperandDesc> of_segment) {
  const std::vector<TensorView*> inputs = tensorsOf(group.product->fusion().inputs());
  TK_CHECK(of_segment.size() == inputs.size() + 1, "a product group with {} inputs has {} operands", inputs.size(),
           of_segment.size());
  GroupOperands operands;
  const auto add = [&](size_t number) {
    operands.descs.push_back(of_segment[number]);
    operands.numbers.push_back(number);
  };
  for (const TensorView* operand : tensorsOf(group.product->inputs())) {
    const auto found = std::ranges::find(inputs, operand);
    TK_CHECK(found != inputs.end(), "{} is no input of its product group", toString(*operand));
    add(static_cast<size_t>(found - inputs.begin()));
  }
  add(inputs.size());
  return operands;
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
  if (isEmpty(*problem)) return work;
  const auto addKernel = [&](const MatrixProgram& program) {
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

// What the library does not give with the activation is given without it, into memory of the work's own, and a kernel
// does the rest.
std::shared_ptr<const CudaWork> CudaDevice::prepareProductGroup(const WorkRequest& request, const ProductGroup& group) {
  auto [operands, numbers] = operandsOf(group, request.operands);
  const std::optional<GemmProblem> problem = gemmProblemOf(*group.product, operands);
  TK_CHECK(problem, "{} is no matrix product", group.product->info().name);
  const std::string name = workName(*group.product, *problem, group.activation);
  if (isEmpty(*problem)) return std::make_shared<ProductWork>(name);
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
