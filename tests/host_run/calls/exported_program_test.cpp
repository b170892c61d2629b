// Exported programs: loaded files run as compiled programs do; what does not fit, is damaged or is somebody else's is
// refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/export_for_c.h"
#include "compile/exported_file.h"
#include "compile/exported_program.h"
#include "compile/temporary_folder.h"
#include "error_of.h"
#include "interop/tar.h"
#include "jit/cpu_jit.h"
#include "jit/exported_kernels.h"
#include "jit/jit_device.h"
#include "toolchain/processor_features.h"
#include "toolchain/sha256.h"

namespace tokamak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kSoftmax = "fusion softmax_rows(x: f32[n, m]) -> y { y = softmax(x, axis=1) }";

std::string exported(const std::string& text, const std::map<std::string, ExportedExtent>& sizes) {
  return exportProgram(*readFusion(text), {.sizes = sizes});
}

Program loaded(const std::string& bytes, Device& device, const LoadOptions& options = {}) {
  return loadProgram(bytes, "test.tk", device, options);
}

std::vector<float> numbersOf(int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.125F * static_cast<float>(i * 11 % 37) - 2;
  return numbers;
}

std::vector<float> elementsOf(const Tensor& tensor) {
  const std::span<const float> read = tensor.read<float>();
  return {read.begin(), read.end()};
}

TEST(ExportedProgram, GivesTheBitsOfTheCompiledOne) {
  const std::string bytes = exported(kSoftmax, {{"n", ExportedExtent::range(0, 64)}, {"m", {96, 5}}});
  JitCpuDevice device;
  Program compiled = compile(*readFusion(kSoftmax), device);
  Program program = loaded(bytes, device);
  EXPECT_EQ(program.name(), "softmax_rows");
  EXPECT_THAT(program.inputNames(), ElementsAre("x"));
  EXPECT_THAT(program.outputNames(), ElementsAre("y"));
  const auto compiled_before = kernelCompileCounts().compiled + kernelCompileCounts().from_disk;
  for (const int64_t columns : {96, 5}) {
    for (const int64_t rows : {0, 1, 7, 64}) {
      const std::vector<float> x = numbersOf(rows * columns);
      const std::vector<Tensor> y = program.run({Tensor::wrap(device, x, {rows, columns})});
      EXPECT_EQ(kernelCompileCounts().compiled + kernelCompileCounts().from_disk, compiled_before);
      (void)elementsOf(y[0]);
    }
  }
  const std::vector<float> x = numbersOf(7 * 96);
  const Tensor in = Tensor::wrap(device, x, {7, 96});
  EXPECT_EQ(elementsOf(program.run({in})[0]), elementsOf(compiled.run({in})[0]));
}

TEST(ExportedProgram, TakesSlicesAndGivenOutputs) {
  const std::string text = "fusion softmax_rows(x: f32[n, m] strided) -> y { y = softmax(x, axis=1) }";
  const std::string bytes = exported(text, {{"n", ExportedExtent::range(1, 64)}, {"m", {5}}});
  JitCpuDevice device;
  Program compiled = compile(*readFusion(text), device);
  Program program = loaded(bytes, device);
  std::vector<float> x = numbersOf(9 * 8);
  std::vector<float> y(x.size(), -1);
  const Tensor in = Tensor::wrap(device, x, {9, 8}).slice(1, 2, 7).slice(0, 1, 6);
  const Tensor out = Tensor::wrap(device, y, {9, 8}).slice(1, 1, 6).slice(0, 0, 5);
  program.run({in}, {out});
  EXPECT_EQ(y[0], -1);
  const std::vector<float> expected = elementsOf(compiled.run({in})[0]);
  for (size_t row = 0; row < 5; ++row) {
    for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(y[row * 8 + 1 + i], expected[row * 5 + i], 1e-6F) << row << ", " << i;
  }
}

TEST(ExportedProgram, UpdatesInputsAndTakesScalars) {
  const std::string text =
      "fusion step(w: f32[n], g: f32[n], rate: f32) -> (u aliases w hidden, norm) {\n"
      "  u = w - g * rate\n  norm = sum(u * u, axes=[0])\n}";
  JitCpuDevice device;
  Program compiled = compile(*readFusion(text), device);
  Program program = loaded(exported(text, {{"n", ExportedExtent::range(1, 1000)}}), device);
  EXPECT_EQ(program.outputNames(), compiled.outputNames());
  std::vector<float> w = numbersOf(100);
  std::vector<float> same = w;
  const std::vector<float> g(100, 0.5F);
  const std::vector<Tensor> norm = program.run({Tensor::wrap(device, w, {100}), Tensor::wrap(device, g, {100}), 0.25});
  const std::vector<Tensor> known =
      compiled.run({Tensor::wrap(device, same, {100}), Tensor::wrap(device, g, {100}), 0.25});
  ASSERT_EQ(norm.size(), 1U);
  EXPECT_NEAR(norm[0].read<float>()[0], known[0].read<float>()[0], 1e-3F);
  EXPECT_EQ(w, same);
  EXPECT_EQ(w[3], numbersOf(100)[3] - 0.125F);
}

// One element of the output stands for three; a caller's memory has all of them.
TEST(ExportedProgram, TakesMemoryForAllElementsOfExpandedOutputs) {
  const std::string bytes = exported(
      "fusion repeated(x: f32[n, m]) -> y { y = broadcast_in_dim(exp(x) + 1.0, shape=[3, n, m], axes=[1, 2]) }",
      {{"n", ExportedExtent::range(1, 9)}, {"m", {2}}});
  JitCpuDevice device;
  Program program = loaded(bytes, device);
  const std::vector<float> x = {0, 0, 0, 0};
  std::vector<float> memory(12, -1);
  const Tensor y = Tensor::wrap(device, memory, {3, 2, 2});
  program.run({Tensor::wrap(device, x, {2, 2})}, {y});
  EXPECT_EQ(memory, std::vector<float>(12, 2));
  EXPECT_EQ(program.run({Tensor::wrap(device, x, {2, 2})})[0].strides()[0], 0);
}

// Extents that no input has alone, scalars that shapes depend on, and quotes in the name.
TEST(ExportedProgram, SymbolsMayBePartsOfExtents) {
  JitCpuDevice device;
  Program program = loaded(exported("fusion \"say \\\"hi\\\"\"(x: f32[batch, 4 * part]) -> y { y = x + 1.0 }",
                                    {{"batch", {2}}, {"part", ExportedExtent::range(1, 3)}}),
                           device);
  EXPECT_EQ(program.name(), "say \"hi\"");
  const std::vector<float> x(16, 2);
  EXPECT_EQ(elementsOf(program.run({Tensor::wrap(device, x, {2, 8})})[0]), std::vector<float>(16, 3));

  const std::string padding = "fusion padding(x: f32[n], k: i64) -> y { y = pad(x, widths=[k, 0]) }";
  EXPECT_THAT(errorOf([&] { exported(padding, {{"n", {2}}}); }).message(),
              HasSubstr("export: k has no sizes, which shapes depend on"));
  Program padded = loaded(exported(padding, {{"n", {2}}, {"k", ExportedExtent::range(0, 4)}}), device);
  const std::vector<float> two = {5, 6};
  EXPECT_THAT(elementsOf(padded.run({Tensor::wrap(device, two, {2}), int64_t{1}})[0]), ElementsAre(0, 5, 6));
  EXPECT_THAT(elementsOf(padded.run({Tensor::wrap(device, two, {2}), int64_t{3}})[0]), ElementsAre(0, 0, 0, 5, 6));
}

// No call tells a and b, whose product is all that an input has.
TEST(ExportedProgram, SymbolsThatNoInputTellsHaveOneSize) {
  const std::string text = "fusion both(x: f32[a * b]) -> y { y = reshape(x + 1.0, shape=[a, b]) }";
  EXPECT_THAT(errorOf([&] { exported(text, {{"a", {2, 3}}, {"b", ExportedExtent::range(1, 9)}}); }).message(),
              HasSubstr("export: no input tells a, which is only a part of extents"));
  JitCpuDevice device;
  Program program = loaded(exported(text, {{"a", {2}}, {"b", {3}}}), device);
  const std::vector<float> x(6, 1);
  const Tensor y = program.run({Tensor::wrap(device, x, {6})})[0];
  EXPECT_THAT(y.sizes(), ElementsAre(2, 3));
  EXPECT_EQ(elementsOf(y), std::vector<float>(6, 2));
}

TEST(ExportedProgram, EndsOfRangesNeedNotFitEachOther) {
  const std::string bytes = exported("fusion tail(x: f32[n], k: i64) -> y { y = x[k:n] + 1.0 }",
                                     {{"n", ExportedExtent::range(1, 20)}, {"k", ExportedExtent::range(0, 9)}});
  JitCpuDevice device;
  Program program = loaded(bytes, device);
  for (const int64_t from : {0, 2, 4}) {
    const std::vector<float> x = {1, 2, 3, 4, 5};
    const std::vector<float> y = elementsOf(program.run({Tensor::wrap(device, x, {5}), from})[0]);
    ASSERT_EQ(std::ssize(y), 5 - from);
    EXPECT_EQ(y.back(), 6);
  }
}

// The sizes of the last one are in the way of each other: registers would hold n sums.
TEST(ExportedProgram, RangesWithoutAKernelAreRefusedByName) {
  const std::string text =
      "fusion r(x: f32[n, m]) -> (v, w) { t = transpose(x) u = t + 1.0 v = softmax(u, axis=1) "
      "w = var(t * u, axes=[0], correction=0.0, keepdim=true) }";
  for (const int64_t columns : {1, 2}) {
    const Error error = errorOf([&] { exported(text, {{"n", ExportedExtent::range(1, 8)}, {"m", {columns}}}); });
    EXPECT_EQ(error.code(), ErrorCode::Unsupported) << error.message();
    EXPECT_THAT(error.message(), HasSubstr(columns == 1 ? "no kernel takes all sizes of n" : "the extent n has to be"));
  }
}

TEST(ExportedProgram, LargeRangesAreNoOverlap) {
  const std::string text = "fusion r(x: f32[n, n], y: f32[m]) -> (z aliases y, w) { z = y * 2.0 w = x * 3.0 }";
  const std::string bytes = exported(text, {{"n", ExportedExtent::range(1, 1 << 20)}, {"m", {1}}});
  JitCpuDevice device;
  Program program = loaded(bytes, device);
  std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y = {5};
  const std::vector<Tensor> results = program.run({Tensor::wrap(device, x, {2, 2}), Tensor::wrap(device, y, {1})});
  EXPECT_THAT(elementsOf(results.back()), ElementsAre(3, 6, 9, 12));
  EXPECT_THAT(y, ElementsAre(10));
}

int64_t openFiles() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

TEST(ExportedProgram, LoadedCodeKeepsNoFileOpen) {
  const std::string bytes = exported(kSoftmax, {{"n", {1, 2, 3, 4}}, {"m", {5, 6}}});
  JitCpuDevice device;
  Program program = loaded(bytes, device);
  const std::vector<float> x = numbersOf(24);
  const int64_t before = openFiles();
  for (const int64_t rows : {1, 2, 3, 4}) {
    for (const int64_t columns : {5, 6}) {
      const std::vector<float> part(x.begin(), x.begin() + rows * columns);
      (void)elementsOf(program.run({Tensor::wrap(device, part, {rows, columns})})[0]);
    }
  }
  EXPECT_EQ(openFiles(), before);
}

TEST(ExportedProgram, TheSameProgramIsTheSameBytes) {
  const auto freshly = [] {
    const TemporaryFolder cache;
    const ScopedVariable variable("TOKAMAK_CACHE_DIR", cache.path());
    return exported(kSoftmax, {{"n", {7}}, {"m", {11}}});
  };
  EXPECT_EQ(freshly(), freshly());
}

TEST(ExportedProgram, RefusesSizesThatItHasNoKernelFor) {
  const std::string bytes = exported(kSoftmax, {{"n", ExportedExtent::range(1, 64)}, {"m", {5, 8}}});
  JitCpuDevice device;
  Program program = loaded(bytes, device);
  const auto run = [&](Program& asked, int64_t rows, int64_t columns) {
    const std::vector<float> x = numbersOf(rows * columns);
    return elementsOf(asked.run({Tensor::wrap(device, x, {rows, columns})})[0]);
  };
  const Error error = errorOf([&] { run(program, 65, 5); });
  EXPECT_EQ(error.code(), ErrorCode::Bind);
  EXPECT_THAT(error.message(), HasSubstr("test.tk"));
  EXPECT_THAT(error.message(), HasSubstr("n is 65, not 0 to 64"));
  EXPECT_THAT(error.message(), HasSubstr("exported for m = 5 or 8, n = 1..64"));
  EXPECT_THAT(errorOf([&] { run(program, 3, 6); }).message(), HasSubstr("m is 6, not "));
  Program compiling = loaded(bytes, device, {.compiles = true});
  EXPECT_EQ(run(compiling, 65, 6).size(), 65U * 6U);
}

TEST(ExportedProgram, SizesAreAskedFor) {
  const auto messageOf = [](const std::map<std::string, ExportedExtent>& sizes) {
    return errorOf([&] { exported(kSoftmax, sizes); }).message();
  };
  EXPECT_THAT(messageOf({{"n", {4}}}), HasSubstr("m"));
  EXPECT_THAT(messageOf({{"n", {4}}, {"m", {0}}}), HasSubstr("m is 0; listed sizes are positive"));
  EXPECT_THAT(messageOf({{"n", {4}}, {"m", ExportedExtent(std::vector<int64_t>())}}), HasSubstr("no size of"));
  EXPECT_THAT(messageOf({{"n", {4}}, {"m", {4}}, {"k", {4}}}), HasSubstr("no extent 'k'"));
  EXPECT_THAT(messageOf({{"n", {4}}, {"m", ExportedExtent::range(8, 4)}}), HasSubstr("8..4"));
  std::vector<int64_t> many(65);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int64_t>(i) + 1;
  EXPECT_THAT(messageOf({{"n", {4}}, {"m", ExportedExtent(many)}}), HasSubstr("more than 64 combinations"));
  const auto processorMessage = [](const std::string& processor) {
    return errorOf([&] {
             exportProgram(*readFusion(kSoftmax), {.sizes = {{"n", {4}}, {"m", {4}}}, .processors = {processor}});
           })
        .message();
  };
  EXPECT_THAT(processorMessage("x86-64-v9"), HasSubstr("does not know it"));
  EXPECT_THAT(processorMessage("../native"), HasSubstr("no name of a processor"));
}

TEST(ExportedProgram, AnExtentThatRegistersDependOnIsNoRange) {
  const std::string text =
      "fusion norms(x: f32[n, m]) -> (y, s) {\n"
      "  y = x / sum(x * x, axes=[1], keepdim=true)\n  s = sum(y, axes=[0])\n}";
  const Error error =
      errorOf([&] { exported(text, {{"n", ExportedExtent::range(1, 4096)}, {"m", ExportedExtent::range(1, 512)}}); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("has to be a constant"));
  JitCpuDevice device;
  Program program = loaded(exported(text, {{"n", {100}}, {"m", {12}}}), device);
  const std::vector<float> x = numbersOf(100 * 12);
  EXPECT_EQ(program.run({Tensor::wrap(device, x, {100, 12})}).size(), 2U);
}

TEST(ExportedProgram, DamageIsSeen) {
  const std::string bytes = exported("fusion tiny(x: f32[n]) -> y { y = x + 1 }", {{"n", {4}}});
  JitCpuDevice device;
  const auto codeOf = [&](const std::string& damaged) { return errorOf([&] { loaded(damaged, device); }).code(); };
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x11);
    const ErrorCode code = codeOf(damaged);
    ASSERT_TRUE(code == ErrorCode::Io || code == ErrorCode::Unsupported) << "byte " << i;
  }
  for (size_t size = 0; size < bytes.size(); size += size < 4096 ? 7 : 511)
    ASSERT_EQ(codeOf(bytes.substr(0, size)), ErrorCode::Io) << size;
  EXPECT_EQ(codeOf(bytes + '\0'), ErrorCode::Io);
}

TEST(ExportedProgram, OthersFilesAreRefused) {
  JitCpuDevice device;
  const std::string bytes = exported(kSoftmax, {{"n", {4}}, {"m", {4}}});
  const std::string folder = std::filesystem::temp_directory_path() / fmt::format("tokamak_exported_{}", getpid());
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/softmax.tk";
  std::ofstream(path, std::ios::binary) << bytes;
  chmod(path.c_str(), 0644);
  EXPECT_EQ(loadProgram(path, device).name(), "softmax_rows");
  chmod(path.c_str(), 0666);
  EXPECT_THAT(errorOf([&] { loadProgram(path, device); }).message(), HasSubstr("others may write to it (mode 0666)"));
  EXPECT_EQ(loadProgram(path, device, {.trusts_any_owner = true}).name(), "softmax_rows");
  chmod(path.c_str(), 0644);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
    EXPECT_THAT(errorOf([&] { loadProgram(path, device); }).message(), HasSubstr("belongs to user 12345"));
    EXPECT_EQ(loadProgram(path, device, {.trusts_any_owner = true}).name(), "softmax_rows");
  }
  const std::string link = folder + "/link.tk";
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  EXPECT_THAT(errorOf([&] { loadProgram(link, device); }).message(), HasSubstr("symbolic link"));
  const std::string fifo = folder + "/fifo.tk";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(errorOf([&] { loadProgram(fifo, device); }).message(), HasSubstr("no regular file"));
  EXPECT_THAT(errorOf([&] { loadProgram(folder + "/none.tk", device); }).message(), HasSubstr("No such file"));
  std::filesystem::remove_all(folder);
}

// What no damage makes, as the hash is right: a file that was written wrongly.
TEST(ExportedProgram, PartsThatDoNotFitEachOtherAreRefused) {
  JitCpuDevice device;
  const std::string bytes = exported(kSoftmax, {{"n", {4}}, {"m", {4}}});
  const std::vector<float> x = numbersOf(16);
  const auto messageOf = [&](const std::function<void(ExportedFile&)>& change) {
    ExportedFile file = readExportedFile(bytes, "test.tk");
    change(file);
    const std::string wrong = writeExportedFile(file);
    return errorOf([&] { loaded(wrong, device).run({Tensor::wrap(device, x, {4, 4})}); }).message();
  };
  EXPECT_THAT(messageOf([](ExportedFile& file) { file.given = {7}; }), HasSubstr("it gives output 7 of 1"));
  EXPECT_THAT(messageOf([](ExportedFile& file) { file.in_place = {{0, 5}}; }), HasSubstr("output 0 updates input 5"));
  EXPECT_THAT(messageOf([](ExportedFile& file) { file.names.inputs.clear(); }), HasSubstr("0, 2 and 1 names"));
  const auto messageOfLaunches = [&](const std::function<void(ExportedLaunch&)>& change) {
    std::string text;
    return messageOf([&](ExportedFile& file) {
      std::vector<ExportedLaunch> launches = parseLaunches(file.targets[0].launches, "test.tk");
      for (ExportedLaunch& launch : launches) change(launch);
      text = printLaunches(launches);
      file.targets[0].launches = text;
    });
  };
  EXPECT_THAT(messageOfLaunches([](ExportedLaunch& launch) { launch.program = "none"; }),
              HasSubstr("test.tk has no kernel of it"));
  EXPECT_THAT(messageOfLaunches([](ExportedLaunch& launch) { launch.shape.layouts.pop_back(); }),
              HasSubstr("has 2 symbols and 1 operands instead of 2 and 2"));
  EXPECT_THAT(messageOfLaunches([](ExportedLaunch& launch) { launch.code = 9; }), HasSubstr("a launch is of kernel 9"));
  EXPECT_THAT(messageOfLaunches([](ExportedLaunch& launch) { launch.symbols.clear(); }), HasSubstr("a launch of it 0"));
  EXPECT_THAT(messageOfLaunches([](ExportedLaunch& launch) {
                for (std::optional<SymbolSource>& symbol : launch.symbols) symbol = SymbolSource{.from = 8};
              }),
              HasSubstr("takes symbol 8 of 2"));
  EXPECT_THAT(messageOfLaunches([](ExportedLaunch& launch) { launch.parameters = {9}; }),
              HasSubstr("a parameter that is none of its 2 symbols"));
}

TEST(ExportedProgram, ArchivesOfOthersAreRefused) {
  JitCpuDevice device;
  const auto messageOf = [&](const std::vector<TarEntry>& entries) {
    return errorOf([&] { loaded(writeTar(entries), device); }).message();
  };
  EXPECT_THAT(messageOf({{"readme", "text"}}), HasSubstr("its first entry is no manifest"));
  EXPECT_THAT(messageOf({{"manifest", "tokamak_program 1 hash \"\""}}), HasSubstr("its hash is missing"));
  EXPECT_THAT(errorOf([] { writeTar({{std::string(101, 'x'), ""}}); }).message(), HasSubstr("has 101 bytes"));
  // The right hash, of an archive that has an entry too many, or too few.
  const std::string bytes = exported("fusion tiny(x: f32[n]) -> y { y = x + 1 }", {{"n", {4}}});
  const auto messageWith = [&](const std::function<void(std::vector<TarEntry>&)>& change) {
    TarContents contents = readTar(bytes);
    change(contents.entries);
    const std::string manifest(contents.entries[0].bytes);
    const size_t at = manifest.find("hash \"") + 6;
    std::string blank = manifest;
    blank.replace(at, 64, std::string(64, '0'));
    contents.entries[0].bytes = blank;
    std::string hashed = manifest;
    hashed.replace(at, 64, hexOf(sha256(writeTar(contents.entries))));
    contents.entries[0].bytes = hashed;
    return messageOf(contents.entries);
  };
  EXPECT_THAT(messageWith([](std::vector<TarEntry>& entries) { entries.pop_back(); }), HasSubstr(" is missing"));
  EXPECT_THAT(messageWith([](std::vector<TarEntry>& entries) { entries.push_back({"more", ""}); }),
              HasSubstr("more is no part of it"));
}

TEST(ExportedProgram, CodeThatCannotBeLoadedIsToldOfByTheCall) {
  JitCpuDevice device;
  const std::string whole = exported(kSoftmax, {{"n", {4}}, {"m", {4}}});
  ExportedFile file = readExportedFile(whole, "test.tk");
  for (std::string_view& image : file.targets[0].images) image = "no shared object";
  const std::string bytes = writeExportedFile(file);
  Program program = loaded(bytes, device);
  const std::vector<float> x = numbersOf(16);
  EXPECT_THAT(errorOf([&] { program.run({Tensor::wrap(device, x, {4, 4})}); }).message(),
              HasSubstr("loading compiled code of 16 bytes: it has 16 bytes"));
}

TEST(ExportedProgram, ProcessorsAndNamesAreChecked) {
  const auto messageOf = [](const std::vector<std::string>& processors) {
    return errorOf([&] {
             exportProgram(*readFusion(kSoftmax), {.sizes = {{"n", {4}}, {"m", {4}}}, .processors = processors});
           })
        .message();
  };
  EXPECT_THAT(messageOf({}), HasSubstr("neither a processor nor a GPU is named"));
  EXPECT_THAT(messageOf({"x86-64", "x86-64"}), HasSubstr("x86-64 is named twice"));
  EXPECT_THAT(messageOf({"x86 64"}), HasSubstr("'x86 64' is no name of a processor; native"));
  EXPECT_THAT(errorOf([] { exportForC(*readFusion(kSoftmax), "bytes", "2softmax"); }).message(),
              HasSubstr("'2softmax' is no name"));
  EXPECT_EQ(featuresNeeded({.features = "__AVX2__ __FLT_EVAL_METHOD__=16 __XSAVE__"}), "avx2");
  EXPECT_THAT(errorOf([] { featuresNeeded({.features = "__AVX2__ __NOVEL__"}); }).message(),
              HasSubstr("says __NOVEL__ of the processor"));
  EXPECT_EQ(featuresLacking("sse3"), "");
}

TEST(ExportedProgram, CodeThatCannotRunHereIsRefused) {
  JitCpuDevice device;
  const std::string bytes = exported(kSoftmax, {{"n", {4}}, {"m", {4}}});
  ExportedFile file = readExportedFile(bytes, "test.tk");
  file.targets[0].needs = "sse3 avx4096";
  EXPECT_EQ(errorOf([&] { loaded(writeExportedFile(file), device); }).message(),
            "test.tk: it has no code for the device cpu: native: this processor lacks avx4096");
  file.targets[0].kind = TargetKind::Cuda;
  EXPECT_THAT(errorOf([&] { loaded(writeExportedFile(file), device); }).message(),
              HasSubstr("native: it is for a GPU"));
  std::string newer = writeExportedFile(readExportedFile(bytes, "test.tk"));
  newer.replace(newer.find("tokamak_program 1"), 17, "tokamak_program 2");
  const Error error = errorOf([&] { loaded(newer, device); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("version 2"));
}

}  // namespace
}  // namespace tokamak
