// Files that open and then fail: full disks, and files that are shorter than they say.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/trace.h"
#include "error_of.h"
#include "interop/npy.h"
#include "runtime/cpu/cpu_device.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

// A device file to which every write says that the disk is full.
constexpr const char* kFullDisk = "/dev/full";

class FileErrors : public testing::Test {
 protected:
  FileErrors() : folder_(std::filesystem::temp_directory_path() / ("tokamak_file_errors_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~FileErrors() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  CpuDevice device_{{.threads = 1}};
  std::shared_ptr<Stream> stream_ = device_.createStream();
};

TEST_F(FileErrors, AFullDiskLeavesNoHalfArray) {
  if (!std::filesystem::exists(kFullDisk)) GTEST_SKIP() << "there is no " << kFullDisk;
  const std::filesystem::path path = folder_ / "x.npy";
  // The file under which the array is written before it gets its name.
  const std::filesystem::path part = path.string() + "." + std::to_string(getpid()) + ".part";
  // A small file fails when it is closed, a large one while it is written.
  for (const int64_t size : {4, 1 << 20}) {
    std::filesystem::create_symlink(kFullDisk, part);
    const int64_t sizes[] = {size};
    const Tensor tensor = Tensor::emptyOnHost(device_, stream_, DataType::F32, sizes);
    const Error error = errorOf([&] { writeNpy(path, tensor); });
    EXPECT_EQ(error.code(), ErrorCode::Io);
    EXPECT_THAT(error.message(), HasSubstr("cannot be written: No space left on device"));
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
  }
}

TEST_F(FileErrors, AFolderIsNotReplacedByAnArray) {
  const std::filesystem::path path = folder_ / "x.npy";
  std::filesystem::create_directories(path / "full");
  const int64_t sizes[] = {4};
  const Tensor tensor = Tensor::emptyOnHost(device_, stream_, DataType::F32, sizes);
  const Error error = errorOf([&] { writeNpy(path, tensor); });
  EXPECT_EQ(error.code(), ErrorCode::Io);
  EXPECT_THAT(error.message(), HasSubstr("cannot be written: "));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FileErrors, AFullDiskTakesNoTimeline) {
  if (!std::filesystem::exists(kFullDisk)) GTEST_SKIP() << "there is no " << kFullDisk;
  const Error error = errorOf([] { Timeline().write(kFullDisk); });
  EXPECT_EQ(error.code(), ErrorCode::Io);
  EXPECT_EQ(error.message(), "trace: '/dev/full' cannot be written: No space left on device");
}

TEST_F(FileErrors, AFileThatIsShorterThanItSaysIsNoArray) {
  // A file of the kernel's says that it has a whole page.
  constexpr const char* kShort = "/sys/devices/system/cpu/online";
  if (!std::filesystem::exists(kShort)) GTEST_SKIP() << "there is no " << kShort;
  const Error error = errorOf([&] { readNpy(kShort, device_, stream_); });
  EXPECT_EQ(error.code(), ErrorCode::Io);
  EXPECT_THAT(error.message(), HasSubstr("cannot be read to its end"));
}

TEST_F(FileErrors, AHeaderOfWhichThereIsOnlyAPart) {
  const std::string start("\x93NUMPY\x01\x00\x76\x00{'descr'", 18);
  for (const size_t length : {8, 9, 10, 18}) {
    const std::span<const unsigned char> bytes(reinterpret_cast<const unsigned char*>(start.data()), length);
    const Error error = errorOf([&] { parseNpyHeader(bytes, 4096, "x.npy", NpyHalf::Refuse); });
    EXPECT_EQ(error.code(), ErrorCode::Io);
    EXPECT_EQ(error.message(), "npy: 'x.npy': it ends inside its header") << length;
  }
}

}  // namespace
}  // namespace tokamak
