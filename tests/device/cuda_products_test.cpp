// Matrix products on the CUDA device: by the fake library on the fake driver, and, where there is a GPU, by cuBLASLt
// and generated kernels.
#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "define/structured.h"
#include "device/matrix_programs.h"
#include "device/replay.h"
#include "device/work.h"
#include "error_of.h"
#include "fake_cuda.h"
#include "jit/jit_device.h"
#include "jit/open_device.h"
#include "program_of.h"
#include "runtime/cpu/gemm.h"
#include "runtime/cuda/cublas_library.h"
#include "runtime/cuda/library_product.h"
#include "unit/op_by_op.h"
#include "unit/products.h"

namespace tokamak {

namespace {

const std::vector<Product> kProducts = {
    {{3, 4}, {4, 5}},
    {{1, 7}, {7, 1}},
    {{64, 48}, {48, 80}},
    {{5, 1100}, {1100, 3}},
    {{2, 3, 4, 5}, {5, 6}},
    {{2, 1, 4, 5}, {3, 5, 6}},
    {{2, 3, 4, 5}, {2, 3, 5, 6}},
    {{7}, {7}},
    {{7}, {3, 7, 2}},
    {{2, 4, 7}, {7}},
    {{0, 4}, {4, 5}},
    {{3, 0}, {0, 5}},
    {{1, 3, 4}, {2, 4, 1}},
    {{3, 4}, {5, 4}, true},
    {{2, 3, 4}, {5, 4}, true, true},
    {{32, 40}, {72, 40}, true, true},
    {{3, 0}, {5, 0}, true, true},
    {{4}, {5, 4}, true, true},
    {{2, 0, 4}, {5, 4}, true, true},
};

// The bytes that a tensor's elements span: before its first one, and from there on.
struct ByteSpan {
  int64_t before = 0;
  int64_t after = 0;
};

ByteSpan spanOf(const OperandDesc& operand) {
  ByteSpan span{.before = 0, .after = sizeOf(operand.dtype)};
  for (size_t i = 0; i < operand.sizes.size(); ++i) {
    if (operand.sizes[i] == 0) return {};
    const int64_t reach = (operand.sizes[i] - 1) * operand.strides[i] * sizeOf(operand.dtype);
    (reach < 0 ? span.before : span.after) += reach < 0 ? -reach : reach;
  }
  return span;
}

// Work of a GPU for operands in host memory: they are copied there, with what lies between their elements, and back.
class CopiedWork final : public CpuWork {
 public:
  CopiedWork(CudaDevice& device, std::shared_ptr<const Work> work, std::span<const OperandDesc> operands)
      : device_(device), work_(std::move(work)), operands_(operands.begin(), operands.end()) {}

  void run(void* const* addresses, BlockPool& /*pool*/) const override {
    const auto stream = device_.createStream();
    std::vector<void*> blocks;
    std::vector<void*> passed;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const ByteSpan span = spanOf(operands_[i]);
      blocks.push_back(device_.allocate(span.before + span.after, MemoryKind::Device, *stream));
      passed.push_back(static_cast<std::byte*>(blocks[i]) + span.before);
      device_.copy(*stream, blocks[i], static_cast<std::byte*>(addresses[i]) - span.before, span.before + span.after);
    }
    device_.launch(*stream, *work_, passed);
    const size_t result = operands_.size() - 1;
    const ByteSpan span = spanOf(operands_[result]);
    device_.copy(*stream, static_cast<std::byte*>(addresses[result]) - span.before, blocks[result],
                 span.before + span.after);
    device_.synchronize(*stream);
    for (size_t i = 0; i < operands_.size(); ++i)
      device_.release(blocks[i], spanOf(operands_[i]).before + spanOf(operands_[i]).after, MemoryKind::Device, *stream);
  }

 private:
  CudaDevice& device_;
  std::shared_ptr<const Work> work_;
  std::vector<OperandDesc> operands_;
};

using Prepare = decltype(OpByOpOptions::prepare);

enum class Pairs : uint8_t { All, Some };  // of layouts

void expectProductsAsOracle(std::span<const ProductType> types, Pairs pairs, const Prepare& prepare) {
  for (const ProductType& type : types) {
    for (size_t number = 0; number < kProducts.size(); ++number) {
      for (const Layout in : kAllLayouts) {
        for (const Layout out : kAllLayouts) {
          const bool is_plain = in <= Layout::Permuted && out <= Layout::Permuted;
          if (pairs == Pairs::Some && !is_plain && in != out) continue;
          const Values values = number % 2 == 0 ? Values::Normal : Values::Exact;
          SCOPED_TRACE(fmt::format("{} product {} in={} out={}", toString(type), number, static_cast<int>(in),
                                   static_cast<int>(out)));
          Fusion fusion;
          fusion.addOutput(defineProduct(fusion, kProducts[number], type));
          static_cast<void>(expectAsOracle(fusion, {}, {.in = in, .out = out, .values = values, .prepare = prepare}));
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

std::unique_ptr<CudaDevice> openFakeDeviceWithLibrary() {
  return openFakeDevice({.products_library = TOKAMAK_FAKE_DRIVER});
}

// Whether the fake library does all of it.
bool isFakeLibrarys(const Expr& expr, std::span<const OperandDesc> operands) {
  const auto problem = gemmProblemOf(expr, operands);
  if (problem->m == 0 || problem->n == 0 || problem->batchCount() == 0) return true;
  const auto product = libraryProductOf(*problem, operands);
  return product && product->bias != LibraryProduct::Bias::Before &&
         !(product->bias == LibraryProduct::Bias::Epilogue && product->dtype == DataType::F64);
}

TEST(CudaProducts, OfAllShapesAndLayoutsThatTheLibraryTakesAreTheOracles) {
  const auto device = openFakeDeviceWithLibrary();
  int64_t by_library = 0;
  int64_t others = 0;
  const std::array<ProductType, 4> types = {DataType::F32, DataType::F64, DataType::BF16,
                                            ProductType(DataType::BF16, DataType::F32)};
  expectProductsAsOracle(types, Pairs::All,
                         [&](const Expr& expr, std::span<const OperandDesc> operands,
                             const ScalarBindings& bindings) -> std::shared_ptr<const CpuWork> {
                           if (!isFakeLibrarys(expr, operands)) {
                             ++others;
                             return prepareMatmulWork(expr, operands, bindings);
                           }
                           ++by_library;
                           return std::make_shared<CopiedWork>(
                               *device, device->prepare({.expr = expr, .operands = operands, .bindings = bindings}),
                               operands);
                         });
  EXPECT_GT(by_library, 400);
  EXPECT_GT(others, 400);
}

TEST(CudaProducts, WhatTheLibraryHasNotIsAProgramOfItsOwn) {
  JitCpuDevice device({.threads = 2});
  const std::array<size_t, 7> numbers = {0, 4, 5, 9, 11, 14, 17};
  const std::array<ProductType, 4> types = {DataType::F32, DataType::BF16, DataType::I64,
                                            ProductType(DataType::BF16, DataType::F32)};
  for (const ProductType& type : types) {
    for (const size_t number : numbers) {
      for (const Layout layout : {Layout::Dense, Layout::Reversed}) {
        SCOPED_TRACE(fmt::format("{} product {} layout {}", toString(type), number, static_cast<int>(layout)));
        Fusion fusion;
        fusion.addOutput(defineProduct(fusion, kProducts[number], type));
        const auto prepare = [&](const Expr& expr, std::span<const OperandDesc> operands,
                                 const ScalarBindings&) -> std::shared_ptr<const CpuWork> {
          const MatrixProgram program = productProgram(*gemmProblemOf(expr, operands), operands);
          class Renumbered final : public CpuWork {
           public:
            Renumbered(std::shared_ptr<const Work> work, std::vector<size_t> taken)
                : work_(std::move(work)), taken_(std::move(taken)) {}
            void run(void* const* addresses, BlockPool& pool) const override {
              std::vector<void*> own;
              for (const size_t i : taken_) own.push_back(addresses[i]);
              static_cast<const CpuWork&>(*work_).run(own.data(), pool);
            }

           private:
            std::shared_ptr<const Work> work_;
            std::vector<size_t> taken_;
          };
          return std::make_shared<Renumbered>(device.prepare(program.request()), program.numbers);
        };
        static_cast<void>(
            expectAsOracle(fusion, {}, {.in = layout, .out = layout, .values = Values::Exact, .prepare = prepare}));
        if (HasFailure()) return;
      }
    }
  }
}

// The library takes a bias of the result's type only: a kernel stores it before the product is added.
TEST(CudaProducts, ABiasOfHalvesIsWidenedBeforeAProductThatGivesSingles) {
  Fusion fusion;
  const TensorView* out = defineProduct(fusion, {{2, 3}, {4, 3}, true, true}, {DataType::BF16, DataType::F32});
  const auto dense = [](DataType dtype, const std::vector<int64_t>& sizes) {
    std::vector<int64_t> strides(sizes.size(), 1);
    if (sizes.size() == 2) strides[0] = sizes[1];
    return OperandDesc{.dtype = dtype, .sizes = sizes, .strides = strides, .alignment = 64};
  };
  const std::vector<OperandDesc> operands = {dense(DataType::BF16, {2, 3}), dense(DataType::BF16, {4, 3}),
                                             dense(DataType::BF16, {4}), dense(DataType::F32, {2, 4})};
  const GemmProblem problem = *gemmProblemOf(*out->definition(), operands);
  const auto product = libraryProductOf(problem, operands);
  ASSERT_TRUE(product);
  EXPECT_EQ(product->bias, LibraryProduct::Bias::Before);
  EXPECT_THAT(product->toString(), testing::HasSubstr("bf16 4x2x3"));
  EXPECT_THAT(product->toString(), testing::HasSubstr(", giving f32"));
  const MatrixProgram program = biasProgram(problem, operands);
  EXPECT_THAT(program.numbers, testing::ElementsAre(2, 3));
  JitCpuDevice device({.threads = 1});
  const auto stream = device.createStream();
  const auto work = device.prepare(program.request());
  alignas(64) std::array<uint16_t, 4> bias = {0x3F80, 0x4000, 0xC040, 0x3F00};  // 1, 2, -3, 0.5
  alignas(64) std::array<float, 8> result = {};
  const std::array<void*, 2> addresses = {bias.data(), result.data()};
  device.launch(*stream, *work, addresses);
  device.synchronize(*stream);
  EXPECT_THAT(result, testing::ElementsAre(1, 2, -3, 0.5, 1, 2, -3, 0.5));
}

TEST(CudaProducts, TheLibraryIsAskedOncePerProduct) {
  const TemporaryFolder folder;
  const ScopedVariable records("TOKAMAK_CACHE_DIR", folder.path());
  const auto device = openFakeDeviceWithLibrary();
  Fusion fusion;
  const TensorView* out = defineProduct(fusion, {{8, 16}, {16, 24}}, DataType::F32);
  const auto matrix = [](int64_t rows, int64_t columns, int64_t alignment) {
    return OperandDesc{
        .dtype = DataType::F32, .sizes = {rows, columns}, .strides = {columns, 1}, .alignment = alignment};
  };
  const auto prepare = [&](int64_t alignment) {
    const std::vector<OperandDesc> operands = {matrix(8, 16, alignment), matrix(16, 24, 256), matrix(8, 24, 256)};
    return device->prepare({.expr = *out->definition(), .operands = operands, .bindings = {}});
  };
  const int64_t before = libraryQuestions();
  const auto first = prepare(256);
  const auto second = prepare(256);
  EXPECT_EQ(libraryQuestions() - before, 1);
  const auto misaligned = prepare(4);
  EXPECT_EQ(libraryQuestions() - before, 2);
  EXPECT_EQ(first->name(), "matmul 8x24x16");
}

TEST(CudaProducts, ThatRunBesideOthersGetTheirShareOfTheDeviceUnlessTheyFillIt) {
  const auto share = [](int64_t rows, int64_t columns, int64_t batches, int64_t concurrency) {
    LibraryProduct product;
    product.d = {.rows = rows, .columns = columns};
    product.batch_count = batches;
    return multiprocessorsFor(product, concurrency, 132);
  };
  EXPECT_EQ(share(4096, 256, 1, 1), 0);
  EXPECT_EQ(share(4096, 256, 1, 2), 88);
  EXPECT_EQ(share(4096, 256, 1, 4), 44);
  EXPECT_EQ(share(1024, 256, 1, 8), 22);
  EXPECT_EQ(share(4096, 256, 1, 8), 32);  // its tiles
  EXPECT_EQ(share(1, 1, 1, 1000), 1);
  EXPECT_EQ(share(4096, 1024, 1, 8), 128);
  EXPECT_EQ(share(4096, 1024, 2, 8), 0);
  EXPECT_EQ(share(INT32_MAX, INT32_MAX, INT32_MAX, 8), 0);
}

TEST(CudaProducts, ALibraryThatFailsIsQuotedAndTheNextCallWorks) {
  const FakeSettings asked("fail=cublasLtMatmul:13 fail=cublasLtMatmul:3:2");
  const auto device = openFakeDeviceWithLibrary();
  const auto stream = device->createStream();
  Fusion fusion;
  const TensorView* out = defineProduct(fusion, {{8, 16}, {16, 24}}, DataType::F32);
  const auto matrix = [](int64_t rows, int64_t columns) {
    return OperandDesc{.dtype = DataType::F32, .sizes = {rows, columns}, .strides = {columns, 1}, .alignment = 256};
  };
  const std::vector<OperandDesc> operands = {matrix(8, 16), matrix(16, 24), matrix(8, 24)};
  const auto work = device->prepare({.expr = *out->definition(), .operands = operands, .bindings = {}});
  void* const memory = device->allocate(4096, MemoryKind::Device, *stream);
  device->fill(*stream, memory, 0, 4096);
  auto* const bytes = static_cast<std::byte*>(memory);
  const std::array<void*, 3> addresses = {bytes, bytes + 1024, bytes + 3072};
  const Error error = errorOf([&] { device->launch(*stream, *work, addresses); });
  EXPECT_EQ(error.code(), ErrorCode::Device);
  EXPECT_EQ(error.message(),
            "cuda:0: cuBLASLt, launching matmul 8x24x16: it reports CUBLAS_STATUS_EXECUTION_FAILED (13)");
  EXPECT_EQ(errorOf([&] { device->launch(*stream, *work, addresses); }).code(), ErrorCode::OutOfMemory);
  device->launch(*stream, *work, addresses);
  device->synchronize(*stream);
  device->release(memory, 4096, MemoryKind::Device, *stream);
}

TEST(CudaProducts, ALibraryThatIsNotThereIsNamed) {
  const auto device = openFakeDevice({.products_library = "/none/libcublasLt.so"});
  Fusion fusion;
  const TensorView* out = defineProduct(fusion, {{8, 16}, {16, 24}}, DataType::F32);
  const auto matrix = [](int64_t rows, int64_t columns) {
    return OperandDesc{.dtype = DataType::F32, .sizes = {rows, columns}, .strides = {columns, 1}};
  };
  const std::vector<OperandDesc> operands = {matrix(8, 16), matrix(16, 24), matrix(8, 24)};
  const Error error = errorOf(
      [&] { static_cast<void>(device->prepare({.expr = *out->definition(), .operands = operands, .bindings = {}})); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), testing::StartsWith("cuBLASLt: '/none/libcublasLt.so' cannot be used: "));
}

TEST(CudaProducts, TheReasonSaysWhatWasSearched) {
  const std::vector<std::string> candidates = cublasCandidates();
  EXPECT_THAT(candidates, testing::Contains("libcublasLt.so.13"));
  EXPECT_THAT(candidates, testing::Contains("libcublasLt.so.12"));
  const ScopedVariable named("TOKAMAK_CUBLASLT", "/none/named.so");
  const Error error = errorOf([] { static_cast<void>(CublasLibrary::load()); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(),
              testing::StartsWith("cuBLASLt: no library that multiplies matrices on CUDA devices was found; "
                                  "TOKAMAK_CUBLASLT may name one. Tried:\n    /none/named.so: "));
}

// Two products in a row, as a plan: c = a b, e = c d; 16 x 16 floats each.
class ProductChain {
 public:
  explicit ProductChain(CudaDevice& device) : device_(device), stream_(device.createStream()) {
    const TensorView* out = defineProduct(fusion_, {{kSize, kSize}, {kSize, kSize}}, DataType::F32);
    const OperandDesc matrix = {
        .dtype = DataType::F32, .sizes = {kSize, kSize}, .strides = {kSize, 1}, .alignment = 256};
    const std::vector<OperandDesc> operands(3, matrix);
    work_ = device.prepare({.expr = *out->definition(), .operands = operands, .bindings = {}});
    replay_ = device.prepareReplay({.steps = {{.first_slot = 0, .slot_count = 3, .work = work_.get()},
                                              {.first_slot = 3, .slot_count = 3, .work = work_.get()}},
                                    .slots = {{0, 0}, {1, 0}, {2, 0}, {2, 0}, {1, 0}, {3, 0}},
                                    .base_count = 4});
  }
  ProductChain(const ProductChain&) = delete;
  ProductChain& operator=(const ProductChain&) = delete;
  ~ProductChain() {
    device_.synchronize(*stream_);
    for (void* block : blocks_) device_.release(block, kBytes, MemoryKind::Device, *stream_);
  }

  // The identity, times a number.
  void* matrix(float diagonal) {
    blocks_.push_back(device_.allocate(kBytes, MemoryKind::Device, *stream_));
    std::vector<float> values(kSize * kSize, 0.0F);
    for (size_t i = 0; i < kSize; ++i) values[i * kSize + i] = diagonal;
    device_.copy(*stream_, blocks_.back(), values.data(), kBytes);
    device_.synchronize(*stream_);
    return blocks_.back();
  }
  float diagonal(const void* address) {
    std::vector<float> values(kSize * kSize);
    device_.copy(*stream_, values.data(), address, kBytes);
    device_.synchronize(*stream_);
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], i % (kSize + 1) == 0 ? values[0] : 0.0F);
    return values[0];
  }
  void call(void* a, void* b, void* c, void* e) {
    replay_->run(std::array<Stream*, 1>{stream_.get()}, std::array{a, b, c, e}, {});
  }

 private:
  static constexpr int64_t kSize = 16;
  static constexpr int64_t kBytes = kSize * kSize * 4;
  CudaDevice& device_;
  std::shared_ptr<Stream> stream_;
  Fusion fusion_;
  std::shared_ptr<const Work> work_;
  std::unique_ptr<Replay> replay_;
  std::vector<void*> blocks_;
};

void expectChainsRight(CudaDevice& device) {
  ProductChain chain(device);
  void* const two = chain.matrix(2);
  void* const three = chain.matrix(3);
  void* const between = chain.matrix(0);
  std::array<void*, 8> results = {};
  for (void*& result : results) result = chain.matrix(0);
  for (size_t i = 0; i < results.size(); ++i) {
    // Addresses come two and three times in a row.
    chain.call(i % 3 == 0 ? two : three, three, between, results[i / 2 * 2]);
    if (i % 2 == 0) chain.call(two, three, between, results[i + 1]);
  }
  EXPECT_EQ(chain.diagonal(results[0]), 27.0F);  // written again by the second round
  EXPECT_EQ(chain.diagonal(results[1]), 18.0F);
  EXPECT_EQ(chain.diagonal(results[2]), 18.0F);
  EXPECT_EQ(chain.diagonal(results[3]), 18.0F);
  for (int i = 0; i < 4; ++i) chain.call(two, two, between, results[0]);
  chain.call(three, two, between, results[1]);
  chain.call(two, two, between, results[2]);
  EXPECT_EQ(chain.diagonal(results[0]), 8.0F);
  EXPECT_EQ(chain.diagonal(results[1]), 12.0F);
  EXPECT_EQ(chain.diagonal(results[2]), 8.0F);
}

TEST(CudaProducts, InAGraphAreCapturedAgainWhenAddressesRepeat) {
  const auto device = openFakeDeviceWithLibrary();
  expectChainsRight(*device);
  ProductChain chain(*device);
  void* const two = chain.matrix(2);
  void* const three = chain.matrix(3);
  void* const between = chain.matrix(0);
  void* const result = chain.matrix(0);
  const int64_t before = graphLaunches();
  for (int i = 0; i < 3; ++i) chain.call(two, two, between, result);
  EXPECT_EQ(graphLaunches() - before, 2);
  EXPECT_EQ(chain.diagonal(result), 8.0F);
  chain.call(three, two, between, result);  // other addresses: step by step
  EXPECT_EQ(graphLaunches() - before, 2);
  EXPECT_EQ(chain.diagonal(result), 12.0F);
  chain.call(three, two, between, result);  // again: a graph of them
  chain.call(three, two, between, result);
  EXPECT_EQ(graphLaunches() - before, 4);
  EXPECT_EQ(chain.diagonal(result), 12.0F);
}

TEST(CudaProductsGpu, InAGraphAreThoseOfTheCall) {
  if (const std::string reason = reasonForNoCuda(); !reason.empty()) GTEST_SKIP() << reason;
  JitCudaDevice device(0);
  expectChainsRight(device);
}

TEST(CudaProductsGpu, OfAllShapesLayoutsAndTypesAreTheOracles) {
  if (const std::string reason = reasonForNoCuda(); !reason.empty()) GTEST_SKIP() << reason;
  JitCudaDevice device(0);
  const std::array<ProductType, 7> types = {DataType::F32,
                                            DataType::F64,
                                            DataType::F16,
                                            DataType::BF16,
                                            DataType::I64,
                                            ProductType(DataType::BF16, DataType::F32),
                                            ProductType(DataType::F16, DataType::F32)};
  expectProductsAsOracle(types, Pairs::Some,
                         [&](const Expr& expr, std::span<const OperandDesc> operands,
                             const ScalarBindings& bindings) -> std::shared_ptr<const CpuWork> {
                           return std::make_shared<CopiedWork>(
                               device, device.prepare({.expr = expr, .operands = operands, .bindings = bindings}),
                               operands);
                         });
}

}  // namespace

}  // namespace tokamak
