// Loading compiled code: under names never used again, unloaded with its last user; damaged images are refused.
#include "toolchain/shared_object.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answer.h"
#include "error_of.h"
#include "temporary_folder.h"
#include "toolchain/c_compiler.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

const CCompiler& compiler() {
  static const CCompiler compiler;
  return compiler;
}

std::string imageReturning(int number) {
  return compiler().compile("int answer(void) { return " + std::to_string(number) + "; }\n");
}

std::string refusalOf(std::string_view image) {
  PrivateDirectory folder;
  const Error error = errorOf([&] { SharedObject::load(image, folder); });
  EXPECT_EQ(error.code(), ErrorCode::Compile);
  return error.message();
}

TEST(SharedObject, objectsWithEqualSymbolsLiveSideBySide) {
  PrivateDirectory folder;
  const auto one = SharedObject::load(imageReturning(1), folder);
  const auto two = SharedObject::load(imageReturning(2), folder);
  EXPECT_EQ(answerOf(*one), 1);
  EXPECT_EQ(answerOf(*two), 2);
}

TEST(SharedObject, aLaterObjectIsNeverTheEarlierOne) {
  PrivateDirectory folder;
  const std::vector<std::string> images = {imageReturning(0), imageReturning(1), imageReturning(2)};
  std::vector<std::shared_ptr<const SharedObject>> kept;
  for (int i = 0; i < 60; ++i) {
    const auto object = SharedObject::load(images[static_cast<size_t>(i % 3)], folder);
    ASSERT_EQ(answerOf(*object), i % 3);
    if (i % 7 == 0) kept.push_back(object);
  }
}

TEST(SharedObject, noFileOfItIsLeft) {
  PrivateDirectory folder;
  const auto object = SharedObject::load(imageReturning(1), folder);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SharedObject, isUnloadedWithItsLastUser) {
  PrivateDirectory folder;
  // The destructor of the object writes to what its user gave it.
  const std::string image = compiler().compile(
      "static int* at;\nvoid watch(int* flag) { at = flag; }\n"
      "__attribute__((destructor)) static void leave(void) { if (at) *at = 1; }\n");
  int is_unloaded = 0;
  auto one = SharedObject::load(image, folder);
  reinterpret_cast<void (*)(int*)>(one->symbol("watch"))(&is_unloaded);
  auto other = one;
  one.reset();
  EXPECT_EQ(is_unloaded, 0);
  other.reset();
  EXPECT_EQ(is_unloaded, 1);
}

TEST(SharedObject, aMissingSymbolIsNamed) {
  PrivateDirectory folder;
  const auto object = SharedObject::load(imageReturning(1), folder);
  const Error error = errorOf([&] { object->symbol("question"); });
  EXPECT_EQ(error.code(), ErrorCode::Compile);
  EXPECT_THAT(error.message(), HasSubstr("compiled code has no symbol 'question'"));
}

TEST(SharedObject, anImageThatNeedsWhatIsNotThereIsRefused) {
  const std::string image =
      compiler().compile("int nowhere_to_be_found(int); int answer(void) { return nowhere_to_be_found(1); }\n");
  EXPECT_THAT(refusalOf(image), HasSubstr("nowhere_to_be_found"));
}

TEST(SharedObject, everyTruncationOfAnImageIsRefusedOrWhole) {
  const std::string image = imageReturning(1);
  PrivateDirectory folder;
  int refused = 0;
  for (size_t length = 0; length < image.size(); length += length < 4096 ? 61 : 509) {
    // Behind the last loaded part stand section headers, which the loader does not read.
    try {
      EXPECT_EQ(answerOf(*SharedObject::load(image.substr(0, length), folder)), 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Compile);
      ++refused;
    }
  }
  EXPECT_GT(refused, 50);
}

TEST(SharedObject, faultsOfImagesAreSaid) {
  const std::string image = imageReturning(1);
  EXPECT_THAT(refusalOf("x"), HasSubstr("loading compiled code of 1 bytes: it has 1 bytes, fewer than an ELF header"));
  EXPECT_THAT(refusalOf(std::string(1000, 'x')), HasSubstr("does not start like an ELF file"));
  const auto changed = [&](size_t at, char byte) {
    std::string other = image;
    other[at] = byte;
    return refusalOf(other);
  };
  EXPECT_THAT(changed(EI_CLASS, ELFCLASS32), HasSubstr("no 64-bit shared object"));
  EXPECT_THAT(changed(offsetof(Elf64_Ehdr, e_type), ET_EXEC), HasSubstr("no 64-bit shared object"));
  EXPECT_THAT(changed(offsetof(Elf64_Ehdr, e_machine), EM_S390), HasSubstr("it is for machine type 22"));
  EXPECT_THAT(changed(offsetof(Elf64_Ehdr, e_phnum), 0), HasSubstr("no program headers"));
  EXPECT_THAT(changed(offsetof(Elf64_Ehdr, e_phoff) + 4, 1), HasSubstr("its program headers are cut off"));
  EXPECT_THAT(refusalOf(std::string_view(image).substr(0, 1024)), HasSubstr("is cut off"));
}

TEST(PrivateDirectory, isForItsOwnerAndGoesWithIt) {
  std::string path;
  {
    PrivateDirectory folder;
    path = folder.path();
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
    writePrivateFile(folder.freshPath(".c"), "text");
    EXPECT_NE(folder.freshPath(".c"), folder.freshPath(".c"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(PrivateDirectory, failuresAreErrors) {
  const ScopedVariable variable("TMPDIR", "/nonexistent");
  EXPECT_THAT(errorOf([] { PrivateDirectory folder; }).message(),
              HasSubstr("no private folder can be made in '/nonexistent': No such file or directory"));
  EXPECT_THAT(errorOf([] { writePrivateFile("/nonexistent/file", "text"); }).message(),
              HasSubstr("'/nonexistent/file' cannot be written: No such file or directory"));
}

}  // namespace
}  // namespace tokamak
