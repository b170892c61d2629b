// Exported programs on GPUs: their files have cubins, which the driver is given as they are.
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "compile/exported_file.h"
#include "compile/exported_program.h"
#include "device/tensor_copies.h"
#include "error_of.h"
#include "fake_cuda.h"
#include "jit/open_device.h"
#include "kernel/parse_kernel.h"
#include "nvrtc_search.h"

namespace tokamak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using ExportSizes = std::map<std::string, ExportedExtent>;

std::string exportedFor(const std::string& gpu, const std::string& text, const ExportSizes& sizes) {
  return exportProgram(*readFusion(text), {.sizes = sizes, .processors = {}, .gpus = {gpu}});
}

bool isElf(std::string_view image) {
  return image.starts_with(
      "\x7f"
      "ELF");
}

TEST(ExportedForGpu, FilesHaveCubinsAndTheDriverGetsThem) {
  if (const std::string reason = reasonForNoNvrtc(); !reason.empty()) GTEST_SKIP() << reason;
  const std::string bytes =
      exportedFor("sm_90a", "fusion increased(x: f64[n]) -> y { y = x + 1 }", {{"n", ExportedExtent::range(1, 64)}});
  ExportedFile file = readExportedFile(bytes, "increased.tk");
  ASSERT_EQ(file.targets.size(), 1);
  EXPECT_EQ(file.targets[0].needs, "sm_90a");
  ASSERT_FALSE(file.targets[0].images.empty());
  for (const std::string_view image : file.targets[0].images) EXPECT_TRUE(isElf(image));
  // The fake driver takes no cubins, but texts that say what it computes.
  std::vector<std::string> fakes;
  for (const std::string_view text : file.targets[0].kernels)
    fakes.push_back(fmt::format("fake module\n{} add_one 8 8 8\n", kir::parseKernel(text, "kernel").name));
  file.targets[0].images.assign(fakes.begin(), fakes.end());
  const auto device = openFakeDevice();
  Program program = loadProgram(writeExportedFile(file), "increased.tk", *device);
  Program with_cubins = loadProgram(bytes, "increased.tk", *device);
  const std::shared_ptr<Stream> stream = device->createStream();
  const std::vector<double> numbers = {1, 2.5, -3};
  const Tensor x = toDevice(Tensor::wrap(*device, numbers, {3}), *device, stream, MemoryKind::Device);
  EXPECT_THAT(toHost(program.run({x})[0], stream).read<double>(), ElementsAre(2, 3.5, -2));
  EXPECT_EQ(errorOf([&] { with_cubins.run({x})[0].waitReady(); }).code(), ErrorCode::Compile);
}

TEST(ExportedForGpu, OtherGpusAndProcessorsRefuseTheFile) {
  if (const std::string reason = reasonForNoNvrtc(); !reason.empty()) GTEST_SKIP() << reason;
  const std::string bytes =
      exportedFor("sm_80", "fusion increased(x: f64[n]) -> y { y = x + 1 }", {{"n", ExportedExtent{4}}});
  const auto gpu = openFakeDevice();
  const Error error = errorOf([&] { loadProgram(bytes, "increased.tk", *gpu); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("sm_80: it is for sm_80, this GPU is sm_90a"));
  const auto processor = openCpuDevice();
  EXPECT_THAT(errorOf([&] { loadProgram(bytes, "increased.tk", *processor); }).message(),
              HasSubstr("sm_80: it is for a GPU"));
  // The interpreter runs the kernels of any.
  const auto interpreter = openCpuDevice({.runner = KernelRunner::Interpreted});
  const std::vector<double> numbers = {1, 2.5, -3, 0};
  EXPECT_THAT(loadProgram(bytes, "increased.tk", *interpreter)
                  .run({Tensor::wrap(*interpreter, numbers, {4})})[0]
                  .read<double>(),
              ElementsAre(2, 3.5, -2, 1));
  EXPECT_THAT(errorOf([&] {
                exportedFor("sm_1", "fusion increased(x: f64[n]) -> y { y = x + 1 }", {{"n", ExportedExtent{4}}});
              }).message(),
              HasSubstr("the GPU sm_1: kernels are made for sm_80 and later"));
}

// What the library of products does not have, or does in two steps, needs kernels of the file.
TEST(ExportedForGpu, KernelsBesideProductsAreThere) {
  const auto kernelsOf = [](const std::string& text, const ExportSizes& sizes) {
    const std::string bytes = exportedFor("sm_90a", text, sizes);
    return readExportedFile(bytes, "product.tk").targets[0].kernels.size();
  };
  if (const std::string reason = reasonForNoNvrtc(); !reason.empty()) GTEST_SKIP() << reason;
  const ExportSizes sizes = {{"m", ExportedExtent{8}}, {"n", ExportedExtent{16}}, {"k", ExportedExtent{32}}};
  // Each for dense memory, and for any: the product, the bias, the activation.
  EXPECT_EQ(kernelsOf("fusion p(x: f32[m, k], w: f32[n, k]) -> y { y = linear(x, w) }", sizes), 2);
  EXPECT_EQ(kernelsOf("fusion p(x: f32[m, k], w: f32[n, k], b: f32[n]) -> y { y = linear(x, w, b) }", sizes), 4);
  EXPECT_EQ(kernelsOf("fusion p(x: f32[m, k], w: f32[n, k], b: f32[n]) -> y { y = relu(linear(x, w, b)) }", sizes), 6);
  // A sum along an extent that is not known is no kernel; the library does it.
  EXPECT_EQ(kernelsOf("fusion p(x: f32[m, k], w: f32[n, k]) -> y { y = linear(x, w) }",
                      {{"m", ExportedExtent{8}}, {"n", ExportedExtent{16}}, {"k", ExportedExtent::range(1, 64)}}),
            2);
}

template <class T>
std::vector<T> smallIntegers(int64_t count, int64_t step) {
  std::vector<T> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(static_cast<int64_t>(i) * step % 7 - 3);
  return numbers;
}

// Of small integers, so that no sum is rounded.
template <class T>
std::vector<T> productOn(Device& device, const std::string& bytes, int64_t rows) {
  const std::shared_ptr<Stream> stream = device.createStream();
  const std::vector<std::vector<int64_t>> sizes = {{rows, 32}, {16, 32}, {16}};
  std::vector<std::vector<T>> numbers;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t count = 1;
    for (const int64_t size : sizes[i]) count *= size;
    numbers.push_back(smallIntegers<T>(count, static_cast<int64_t>(i) * 2 + 3));
    const Tensor host = Tensor::wrap(device, numbers.back(), std::span<const int64_t>(sizes[i]));
    inputs.push_back(toDevice(host, device, stream, MemoryKind::Device));
  }
  Program program = loadProgram(bytes, "product.tk", device);
  const Tensor result = toHost(program.run(inputs)[0], stream);
  const std::span<const T> elements = result.template read<T>();
  return {elements.begin(), elements.end()};
}

template <class T>
void expectProductsRun(CudaDevice& device, Device& interpreter, const std::string& type) {
  const ExportSizes sizes = {{"m", ExportedExtent::range(1, 64)}, {"n", ExportedExtent{16}}, {"k", ExportedExtent{32}}};
  for (const char* op : {"linear(x, w, b)", "relu(linear(x, w, b))"}) {
    const std::string text =
        fmt::format("fusion product(x: {0}[m, k], w: {0}[n, k], b: {0}[n]) -> y {{ y = {1} }}", type, op);
    SCOPED_TRACE(text);
    const std::string bytes = exportedFor(device.properties().architecture, text, sizes);
    for (const int64_t rows : {1, 7, 64})
      EXPECT_EQ(productOn<T>(device, bytes, rows), productOn<T>(interpreter, bytes, rows)) << rows << " rows";
  }
}

// A device that makes no kernels: products, whatever the library leaves to kernels.
TEST(ExportedForGpu, ProductsRunWhereNothingCompiles) {
  if (const std::string reason = reasonForNoCuda(); !reason.empty()) GTEST_SKIP() << reason;
  CudaDevice device(0);
  const auto interpreter = openCpuDevice({.runner = KernelRunner::Interpreted});
  expectProductsRun<float>(device, *interpreter, "f32");
  expectProductsRun<double>(device, *interpreter, "f64");
}

}  // namespace
}  // namespace tokamak
