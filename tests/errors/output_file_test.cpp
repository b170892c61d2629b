// Files that callers name: whole or not at all, links followed, devices and FIFOs written directly, the rest refused.
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/output_file.h"
#include "compile/temporary_folder.h"
#include "error_of.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

std::string contentsOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

void write(const std::string& path, std::string_view text) {
  OutputFile file("test", path);
  file.write({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
  file.finish();
}

std::ptrdiff_t filesIn(const std::string& folder) {
  const std::filesystem::directory_iterator files(folder);
  return std::distance(begin(files), end(files));
}

TEST(OutputFile, appearsWhole) {
  const TemporaryFolder folder;
  write(folder / "a", "new");
  EXPECT_EQ(contentsOf(folder / "a"), "new");
  EXPECT_EQ(filesIn(folder / ""), 1);
}

TEST(OutputFile, thatIsNotFinishedLeavesWhatWasThere) {
  const TemporaryFolder folder;
  put(folder / "a", "old");
  {
    const OutputFile file("test", folder / "a");
  }
  EXPECT_EQ(contentsOf(folder / "a"), "old");
  EXPECT_EQ(filesIn(folder / ""), 1);
}

TEST(OutputFile, keepsTheModeOfTheFileThatWasThere) {
  const TemporaryFolder folder;
  put(folder / "a", "old");
  chmod((folder / "a").c_str(), 0600);
  write(folder / "a", "new");
  struct stat status = {};
  ASSERT_EQ(stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(OutputFile, followsLinks) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "there");
  put(folder / "there/a", "old");
  std::filesystem::create_symlink("there/a", folder / "near");
  std::filesystem::create_symlink(folder / "near", folder / "far");
  write(folder / "far", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "far"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "near"));
  EXPECT_EQ(contentsOf(folder / "there/a"), "new");
}

TEST(OutputFile, followsALinkToWhatIsNotThereYet) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("a", folder / "link");
  write(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(contentsOf(folder / "a"), "new");
}

TEST(OutputFile, refusesLinksThatLeadNowhere) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("self", folder / "self");
  for (const auto& fails : {std::function<void()>([&] { write(folder / "self", "new"); }),
                            std::function<void()>([&] { OutputFile::requireWritable("test", folder / "self"); })})
    EXPECT_THAT(errorOf(fails).message(), HasSubstr("self' cannot be written: Too many levels of symbolic links"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "self"));
  EXPECT_EQ(filesIn(folder / ""), 1);
}

TEST(OutputFile, writesFifosDirectly) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  OutputFile::requireWritable("test", folder / "fifo");  // without a reader
  std::string read;
  std::thread reader([&] { read = contentsOf(folder / "fifo"); });
  write(folder / "fifo", "new");
  reader.join();
  EXPECT_EQ(read, "new");
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "fifo"));
}

TEST(OutputFile, writesDevicesDirectly) {
  write("/dev/null", "new");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_THAT(errorOf([] { write("/dev/full", "new"); }).message(),
              HasSubstr("test: '/dev/full' cannot be written: No space left on device"));
}

TEST(OutputFile, writesWhatTheProcessHasOpen) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe(ends.data()), 0);
  write("/proc/self/fd/" + std::to_string(ends[1]), "new");
  std::array<char, 3> read = {};
  EXPECT_EQ(::read(ends[0], read.data(), read.size()), 3);
  for (const int end : ends) close(end);
}

TEST(OutputFile, refusesFoldersSocketsAndReadOnlyFiles) {
  const TemporaryFolder folder;
  const auto messageFor = [](const std::string& path) {
    const std::string once = errorOf([&] { OutputFile::requireWritable("test", path); }).message();
    EXPECT_EQ(errorOf([&] { write(path, "new"); }).message(), once);
    return once;
  };
  EXPECT_THAT(messageFor(folder / ""), HasSubstr("cannot be written: it is a folder or a socket"));
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = folder / "socket";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(messageFor(path), HasSubstr("cannot be written: it is a folder or a socket"));
  close(server);
  put(folder / "a", "old");
  chmod((folder / "a").c_str(), 0444);
  EXPECT_THAT(messageFor(folder / "a"), HasSubstr("cannot be written: it is read-only; name another file"));
  EXPECT_EQ(contentsOf(folder / "a"), "old");
  EXPECT_THAT(messageFor(folder / "none/a"), HasSubstr("cannot be written: No such file or directory"));
  EXPECT_EQ(filesIn(folder / ""), 2);
}

}  // namespace
}  // namespace tokamak
