// What cuBLASLt chose is kept on disk: later devices take it, after the library has looked at it; what is damaged,
// refused or of another version is asked for again.
#include "runtime/cuda/recorded_choices.h"
#include "device/work.h"

#include <array>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/temporary_folder.h"
#include "define/structured.h"
#include "fake_cuda.h"
#include "program_of.h"
#include "unit/products.h"

namespace tokamak {
namespace {

// How often the library was asked for a kernel, and whether it can run one.
struct Asked {
  int64_t questions = 0;
  int64_t examinations = 0;
  bool operator==(const Asked&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Asked& asked) {
  return out << asked.questions << " questions, " << asked.examinations << " examinations";
}

constexpr Asked kAsked = {.questions = 1, .examinations = 0};
constexpr Asked kTaken = {.questions = 0, .examinations = 1};
constexpr Asked kRefused = {.questions = 1, .examinations = 1};

OperandDesc matrix(int64_t rows, int64_t columns) {
  return {.dtype = DataType::F32, .sizes = {rows, columns}, .strides = {columns, 1}, .alignment = 256};
}

// Prepares a product of matrices of twos on a new device, which gives what it should, and says what the library was
// asked.
Asked askedOnANewDevice(int64_t rows = 8) {
  const auto device = openFakeDevice({.products_library = TOKAMAK_FAKE_DRIVER});
  const Asked before = {libraryQuestions(), libraryExaminations()};
  Fusion fusion;
  const TensorView* out = defineProduct(fusion, {{rows, 16}, {16, 24}}, DataType::F32);
  const std::vector<OperandDesc> operands = {matrix(rows, 16), matrix(16, 24), matrix(rows, 24)};
  const auto work = device->prepare({.expr = *out->definition(), .operands = operands, .bindings = {}});
  const Asked after = {libraryQuestions() - before.questions, libraryExaminations() - before.examinations};
  const auto stream = device->createStream();
  std::array<void*, 3> blocks = {};
  std::vector<float> numbers(16 * 24, 2.0F);
  for (void*& block : blocks) {
    block = device->allocate(4096, MemoryKind::Device, *stream);
    device->copy(*stream, block, numbers.data(), std::ssize(numbers) * 4);
    device->synchronize(*stream);
  }
  device->launch(*stream, *work, blocks);
  std::vector<float> result(static_cast<size_t>(rows) * 24);
  device->copy(*stream, result.data(), blocks[2], std::ssize(result) * 4);
  device->synchronize(*stream);
  EXPECT_EQ(result, std::vector<float>(result.size(), 64.0F));
  for (void* block : blocks) device->release(block, 4096, MemoryKind::Device, *stream);
  return after;
}

class RecordedChoicesTest : public testing::Test {
 protected:
  // The one entry that is there.
  std::string entryFile() const {
    const auto entries = KernelCache(folder_.path()).list();
    EXPECT_EQ(entries.size(), 1U);
    return folder_ / entries.at(0).file.name;
  }

  TemporaryFolder folder_;
  ScopedVariable cache_{"TOKAMAK_CACHE_DIR", folder_.path()};
};

TEST_F(RecordedChoicesTest, AreTakenByLaterDevices) {
  EXPECT_EQ(askedOnANewDevice(), kAsked);
  EXPECT_EQ(askedOnANewDevice(), kTaken);
  EXPECT_EQ(askedOnANewDevice(9), kAsked);  // another product
  EXPECT_EQ(askedOnANewDevice(), kTaken);
  EXPECT_EQ(askedOnANewDevice(9), kTaken);
}

TEST_F(RecordedChoicesTest, SayWhatTheyDependOn) {
  askedOnANewDevice();
  const auto entries = KernelCache(folder_.path()).list();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].fault, "");
  EXPECT_EQ(entries[0].value_bytes, 64);
  const CacheKey& key = entries[0].key;
  EXPECT_EQ(key.part("kind"), "cuBLASLt choice");
  EXPECT_EQ(key.part("library"), "cuBLASLt 130000");
  EXPECT_THAT(std::string(key.part("target")), testing::HasSubstr("multiprocessors"));
  EXPECT_EQ(key.part("preference"), "33554432 bytes of workspace, no sums in the order of blocks");
  EXPECT_THAT(std::string(key.part("product")), testing::StartsWith("f32 24x8x16 times 1, a 24x16 leading 24"));
}

TEST_F(RecordedChoicesTest, OfAnotherVersionOfTheLibraryAreNotTaken) {
  EXPECT_EQ(askedOnANewDevice(), kAsked);
  {
    const FakeSettings later("cublas=130100");
    EXPECT_EQ(askedOnANewDevice(), kAsked);
    EXPECT_EQ(askedOnANewDevice(), kTaken);
  }
  EXPECT_EQ(askedOnANewDevice(), kTaken);
}

TEST_F(RecordedChoicesTest, ThatAreDamagedAreAskedForAgainAndReplaced) {
  EXPECT_EQ(askedOnANewDevice(), kAsked);
  const std::string file = entryFile();
  std::string bytes = readFile(file);
  bytes.back() = static_cast<char>(~bytes.back());
  writeFile(file, bytes);
  EXPECT_EQ(askedOnANewDevice(), kAsked);
  EXPECT_EQ(askedOnANewDevice(), kTaken);
  writeFile(file, bytes.substr(0, 40));
  EXPECT_EQ(askedOnANewDevice(), kAsked);
  EXPECT_EQ(askedOnANewDevice(), kTaken);
}

TEST_F(RecordedChoicesTest, ThatTheLibraryDoesNotTakeAreAskedForAgainAndReplaced) {
  EXPECT_EQ(askedOnANewDevice(), kAsked);
  KernelCache cache(folder_.path());
  const CacheKey key = cache.list().at(0).key;
  ASSERT_TRUE(cache.store(key, std::string(64, '\1')));  // no algorithm of the library's
  EXPECT_EQ(askedOnANewDevice(), kRefused);
  EXPECT_EQ(askedOnANewDevice(), kTaken);
  ASSERT_TRUE(cache.store(key, "too short"));
  EXPECT_EQ(askedOnANewDevice(), kAsked);
  EXPECT_EQ(askedOnANewDevice(), kTaken);
}

TEST_F(RecordedChoicesTest, ThatTheLibraryCannotLookAtAreAskedForAgain) {
  EXPECT_EQ(askedOnANewDevice(), kAsked);
  const FakeSettings asked("fail=cublasLtMatmulAlgoCheck:15");
  EXPECT_EQ(askedOnANewDevice(), kRefused);
}

TEST_F(RecordedChoicesTest, AreNotNeeded) {
  const ScopedVariable nowhere("TOKAMAK_CACHE_DIR", "/dev/null/cache");
  EXPECT_EQ(askedOnANewDevice(), kAsked);
  EXPECT_EQ(askedOnANewDevice(), kAsked);
}

TEST_F(RecordedChoicesTest, DifferInEveryCondition) {
  const auto cache = std::make_shared<KernelCache>(folder_.path());
  const ChoiceConditions conditions = {.library = "l", .target = "t", .preference = "p"};
  cublas::Algorithm algorithm;
  algorithm.data[7] = 42;
  RecordedChoices(cache, conditions).store("product", algorithm);
  const auto found = RecordedChoices(cache, conditions).find("product");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->data[7], 42U);
  EXPECT_FALSE(RecordedChoices(cache, conditions).find("another"));
  for (std::string ChoiceConditions::* part :
       {&ChoiceConditions::library, &ChoiceConditions::target, &ChoiceConditions::preference}) {
    ChoiceConditions others = conditions;
    others.*part = "other";
    EXPECT_FALSE(RecordedChoices(cache, others).find("product"));
  }
}

}  // namespace
}  // namespace tokamak
