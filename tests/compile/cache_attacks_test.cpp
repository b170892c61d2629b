// Attacks on the kernel cache: damage, dead writers, many writers, foreign folders, full and read-only disks. Whatever
// happens to its files, it gives the value that was stored with the key, or none, and raises nothing.
#include <csignal>
#include <random>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache_folder.h"
#include "device/work.h"
#include "error_of.h"
#include "toolchain/kernel_cache.h"

namespace tokamak {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// The status of a process that does `work`.
template <class Work>
int statusOfProcess(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(CacheAttacks, tenThousandFlippedBitsNeverGiveAWrongValue) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  std::mt19937_64 random(20);
  int misses = 0;
  for (int entry = 0; entry < 10; ++entry) {
    cache.store(keyNumber(entry), valueNumber(entry));
    const std::string path = folder.fileOf(keyNumber(entry));
    const std::string bytes = readFile(path);
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    for (int i = 0; i < 1000; ++i) {
      // Half of the flips hit the header and the key, which are a small part of the file.
      const size_t range = 8 * (i % 2 == 0 ? bytes.size() : size_t{200});
      const size_t bit = std::uniform_int_distribution<size_t>(0, range - 1)(random);
      const char damaged = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      ASSERT_EQ(pwrite(file, &damaged, 1, static_cast<off_t>(bit / 8)), 1);
      const std::optional<std::string> found = cache.find(keyNumber(entry));
      ASSERT_EQ(found, std::nullopt) << "entry " << entry << ", bit " << bit;
      ++misses;
      ASSERT_EQ(pwrite(file, &bytes[bit / 8], 1, static_cast<off_t>(bit / 8)), 1);
    }
    close(file);
    ASSERT_EQ(cache.find(keyNumber(entry)), valueNumber(entry)) << "undamaged again";
  }
  EXPECT_EQ(misses, 10'000);
}

TEST(CacheAttacks, everyTruncationIsAMiss) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  cache.store(keyNumber(1), valueNumber(1, 4000));
  const std::string path = folder.fileOf(keyNumber(1));
  for (uintmax_t length = fs::file_size(path); length-- > 0;) {
    fs::resize_file(path, length);
    ASSERT_EQ(cache.find(keyNumber(1)), std::nullopt) << "cut to " << length;
  }
  EXPECT_TRUE(cache.store(keyNumber(1), "again"));
  EXPECT_EQ(cache.find(keyNumber(1)), "again");
}

TEST(CacheAttacks, pagesOfZerosAndForeignBytesAreMisses) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  cache.store(keyNumber(1), valueNumber(1));
  const std::string path = folder.fileOf(keyNumber(1));
  const std::string bytes = readFile(path);
  std::mt19937_64 random(3);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = bytes;
    const size_t begin = std::uniform_int_distribution<size_t>(0, bytes.size() - 1)(random);
    const size_t end = std::uniform_int_distribution<size_t>(begin + 1, bytes.size())(random);
    for (size_t at = begin; at < end; ++at) damaged[at] = i % 2 == 0 ? '\0' : static_cast<char>(random());
    writeFile(path, damaged);
    const std::optional<std::string> found = cache.find(keyNumber(1));
    ASSERT_TRUE(!found || (damaged == bytes && *found == valueNumber(1))) << begin << " to " << end;
  }
}

// A writer is killed before each of its steps in turn: an earlier value stays, or the new one is there.
TEST(CacheAttacks, aWriterKilledAtAnyStepLeavesTheOldOrTheNewValue) {
  int steps_seen = 0;
  for (int killed_at = 0; killed_at < 100; ++killed_at) {
    const CacheFolder folder;
    KernelCache(folder.path()).store(keyNumber(1), "old");
    const int status = statusOfProcess([&] {
      int step = 0;
      KernelCache writer(folder.path(), {.before_step = [&](CacheStep) {
                           if (step++ == killed_at) kill(getpid(), SIGKILL);
                           return 0;
                         }});
      writer.store(keyNumber(1), valueNumber(1, 200'000));
      writer.store(keyNumber(2), valueNumber(2));
    });
    KernelCache cache(folder.path());
    const std::optional<std::string> found = cache.find(keyNumber(1));
    ASSERT_TRUE(found == "old" || found == valueNumber(1, 200'000)) << "killed before step " << killed_at;
    const std::optional<std::string> other = cache.find(keyNumber(2));
    ASSERT_TRUE(!other || *other == valueNumber(2)) << "killed before step " << killed_at;
    for (const CacheListing& listing : cache.list()) ASSERT_EQ(listing.fault, "");
    ASSERT_TRUE(cache.store(keyNumber(2), "after"));
    ASSERT_EQ(cache.find(keyNumber(2)), "after");
    if (WIFEXITED(status)) {
      steps_seen = killed_at;
      break;
    }
  }
  EXPECT_GE(steps_seen, 10);
}

// The same at times that nobody chose.
TEST(CacheAttacks, writersKilledAtRandomTimesLeaveWholeEntries) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      KernelCache writer(folder.path());
      for (int i = 0;; ++i) writer.store(keyNumber(i % 4), valueNumber(i % 4, 300'000));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<int>(0, 8000)(random)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (int i = 0; i < 4; ++i) {
      const std::optional<std::string> found = cache.find(keyNumber(i));
      ASSERT_TRUE(!found || *found == valueNumber(i, 300'000));
    }
  }
  for (const CacheListing& listing : cache.list()) EXPECT_EQ(listing.fault, "");
}

TEST(CacheAttacks, twentyWritersOfTheSameAndOfOtherKeysNeverShowHalfAValue) {
  const CacheFolder folder;
  KernelCache reader(folder.path());
  constexpr int kWriters = 20;
  std::vector<pid_t> writers;
  for (int w = 0; w < kWriters; ++w) {
    const pid_t child = fork();
    if (child == 0) {
      KernelCache cache(folder.path(), {.limit_bytes = 2 << 20, .before_step = {}});
      int wrong = 0;
      for (int i = 0; i < 100; ++i) {
        // Even rounds: a key that all write, with two values; odd rounds: a key of this writer.
        const int key = i % 2 == 0 ? i % 8 : 1000 + w;
        cache.store(keyNumber(key), valueNumber(key, w % 2 == 0 ? 20'000 : 30'000));
        const std::optional<std::string> found = cache.find(keyNumber(key));
        if (found && *found != valueNumber(key, 20'000) && *found != valueNumber(key, 30'000)) ++wrong;
      }
      _exit(wrong == 0 ? 0 : 1);
    }
    writers.push_back(child);
  }
  for (int round = 0; round < 300; ++round) {
    const int key = (round % 4) * 2;
    const std::optional<std::string> found = reader.find(keyNumber(key));
    ASSERT_TRUE(!found || *found == valueNumber(key, 20'000) || *found == valueNumber(key, 30'000));
  }
  for (const pid_t writer : writers) {
    int status = 0;
    waitpid(writer, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const CacheListing& listing : reader.list()) EXPECT_EQ(listing.fault, "");
  for (const auto& file : fs::directory_iterator(folder.path()))
    EXPECT_TRUE(isEntryFileName(file.path().filename().string())) << file.path();
}

TEST(CacheAttacks, aCollectionDuringUseNeverShowsHalfAValue) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  std::atomic<bool> is_done{false};
  std::jthread collector([&] {
    while (!is_done) cache.collect(100'000);
  });
  std::vector<std::jthread> users;
  std::atomic<int> wrong{0};
  for (int u = 0; u < 4; ++u)
    users.emplace_back([&, u] {
      for (int i = 0; i < 200; ++i) {
        const int key = (i + u) % 16;
        cache.store(keyNumber(key), valueNumber(key));
        const std::optional<std::string> found = cache.find(keyNumber(key));
        if (found && *found != valueNumber(key)) ++wrong;
      }
    });
  users.clear();
  is_done = true;
  EXPECT_EQ(wrong, 0);
}

TEST(CacheAttacks, everyFailingStepMeansNotKeptAndLeavesNothing) {
  for (const CacheStep failing : {CacheStep::Create, CacheStep::Write, CacheStep::Close, CacheStep::Rename}) {
    const CacheFolder folder;
    KernelCache cache(folder.path(), {.before_step = [&](CacheStep step) { return step == failing ? ENOSPC : 0; }});
    EXPECT_FALSE(cache.store(keyNumber(1), valueNumber(1)));
    EXPECT_EQ(cache.find(keyNumber(1)), std::nullopt);
    EXPECT_EQ(folder.numberOfFiles(), size_t{0});
  }
}

TEST(CacheAttacks, aFileSizeLimitMeansNotKept) {
  const CacheFolder folder;
  KernelCache(folder.path()).store(keyNumber(1), "small");
  const int status = statusOfProcess([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {10'000, 10'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    KernelCache cache(folder.path());
    const bool is_right = !cache.store(keyNumber(2), valueNumber(2)) && !cache.find(keyNumber(2)) &&
                          cache.find(keyNumber(1)) == "small" && cache.store(keyNumber(3), "small, too");
    _exit(is_right ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(folder.numberOfFiles(), size_t{2});
}

// A disk of 64 KiB; needs the right to mount one.
TEST(CacheAttacks, aFullDiskMeansNotKept) {
  const TemporaryFolder folder;
  if (mount("tokamak-test", folder.path().c_str(), "tmpfs", 0, "size=65536,mode=0700") != 0)
    GTEST_SKIP() << "no right to mount a small disk";
  {
    KernelCache cache(folder.path());
    int kept = 0;
    for (int i = 0; i < 10; ++i) kept += cache.store(keyNumber(i), valueNumber(i)) ? 1 : 0;
    EXPECT_GE(kept, 1);
    EXPECT_LE(kept, 4);
    for (int i = 0; i < 10; ++i) {
      const std::optional<std::string> found = cache.find(keyNumber(i));
      EXPECT_TRUE(!found || *found == valueNumber(i));
    }
    for (const CacheListing& listing : cache.list()) EXPECT_EQ(listing.fault, "");
  }
  umount2(folder.path().c_str(), MNT_DETACH);
}

// As a user who is not root; root may write everywhere.
TEST(CacheAttacks, aReadOnlyFolderStillGivesWhatItHas) {
  const CacheFolder folder;
  KernelCache(folder.path()).store(keyNumber(1), "kept");
  fs::permissions(folder.parent().path(), fs::perms::all);
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0) {
    ASSERT_EQ(chown(folder.path().c_str(), kNobody, kNobody), 0);
    ASSERT_EQ(chown(folder.fileOf(keyNumber(1)).c_str(), kNobody, kNobody), 0);
  }
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const int status = statusOfProcess([&] {
    if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
    KernelCache cache(folder.path());
    const bool is_right = cache.find(keyNumber(1)) == "kept" && !cache.store(keyNumber(2), "value") &&
                          !cache.find(keyNumber(2)) && cache.collect(0).files == 0;
    _exit(is_right ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(CacheAttacks, aFolderThatVanishesMeansNotKept) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  cache.store(keyNumber(1), "value");
  fs::remove_all(folder.path());
  EXPECT_FALSE(cache.store(keyNumber(1), "value"));
  EXPECT_EQ(cache.find(keyNumber(1)), std::nullopt);
  EXPECT_TRUE(cache.list().empty());
}

std::string refusal(const std::string& path) {
  const Error error = errorOf([&] { KernelCache cache(path); });
  EXPECT_EQ(error.code(), ErrorCode::Io);
  return error.message();
}

TEST(CacheAttacks, aFolderThatOthersMayWriteToIsRefused) {
  const CacheFolder folder;
  fs::create_directory(folder.path());
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(folder.path(), fs::perms::owner_all | others);
    EXPECT_THAT(refusal(folder.path()), HasSubstr("is refused: others may write to it"));
  }
}

TEST(CacheAttacks, aFolderOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const CacheFolder folder;
  fs::create_directory(folder.path());
  fs::permissions(folder.path(), fs::perms::owner_all);
  ASSERT_EQ(chown(folder.path().c_str(), 12345, 12345), 0);
  EXPECT_THAT(refusal(folder.path()), HasSubstr("is refused: it belongs to user 12345, this is user 0"));
}

TEST(CacheAttacks, aLinkedFolderIsRefused) {
  const CacheFolder folder;
  const std::string target = folder.parent() / "target";
  fs::create_directory(target);
  fs::permissions(target, fs::perms::owner_all);
  fs::create_directory_symlink(target, folder.path());
  EXPECT_THAT(refusal(folder.path()), HasSubstr("it is a symbolic link or no folder"));
  EXPECT_THAT(refusal(folder.path() + "/"), HasSubstr("it is a symbolic link or no folder"));
  EXPECT_THAT(refusal(folder.path() + "//"), HasSubstr("it is a symbolic link or no folder"));
  EXPECT_TRUE(fs::is_empty(target));
}

TEST(CacheAttacks, aFileInPlaceOfTheFolderIsRefused) {
  const CacheFolder folder;
  writeFile(folder.path(), "file");
  EXPECT_THAT(refusal(folder.path()), HasSubstr("it is a symbolic link or no folder"));
  EXPECT_THAT(refusal(folder.path() + "/below"), HasSubstr("cannot be made"));
}

TEST(CacheAttacks, aLinkedEntryIsAMiss) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  cache.store(keyNumber(1), "value");
  const std::string path = folder.fileOf(keyNumber(1));
  const std::string elsewhere = folder.parent() / "elsewhere";
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  EXPECT_EQ(cache.find(keyNumber(1)), std::nullopt);
  // Storing replaces the link and leaves what it names alone.
  const std::string before = readFile(elsewhere);
  EXPECT_TRUE(cache.store(keyNumber(1), "new"));
  EXPECT_EQ(cache.find(keyNumber(1)), "new");
  EXPECT_EQ(readFile(elsewhere), before);
}

TEST(CacheAttacks, anEntryThatOthersMayWriteToIsAMiss) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  cache.store(keyNumber(1), "value");
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(folder.fileOf(keyNumber(1)), fs::perms::owner_read | fs::perms::owner_write | others);
    EXPECT_EQ(cache.find(keyNumber(1)), std::nullopt);
  }
  EXPECT_THAT(cache.list().at(0).fault, HasSubstr("others may write to it (mode 0602)"));
}

TEST(CacheAttacks, anEntryOfAnotherUserIsAMiss) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const CacheFolder folder;
  KernelCache cache(folder.path());
  cache.store(keyNumber(1), "value");
  ASSERT_EQ(chown(folder.fileOf(keyNumber(1)).c_str(), 12345, 12345), 0);
  EXPECT_EQ(cache.find(keyNumber(1)), std::nullopt);
}

TEST(CacheAttacks, aPipeAFolderAndAHugeFileInPlaceOfAnEntryAreMisses) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  ASSERT_EQ(mkfifo(folder.fileOf(keyNumber(1)).c_str(), 0600), 0);
  EXPECT_EQ(cache.find(keyNumber(1)), std::nullopt);
  fs::create_directory(folder.fileOf(keyNumber(2)));
  EXPECT_EQ(cache.find(keyNumber(2)), std::nullopt);
  EXPECT_FALSE(cache.store(keyNumber(2), "value"));
  cache.store(keyNumber(3), "value");
  fs::resize_file(folder.fileOf(keyNumber(3)), uintmax_t{1} << 40);
  EXPECT_EQ(cache.find(keyNumber(3)), std::nullopt);
}

TEST(CacheAttacks, aRefusedDefaultFolderIsSaidOnceAndKeepsNothing) {
  const CacheFolder folder;
  fs::create_directory(folder.path());
  fs::permissions(folder.path(), fs::perms::all);
  const ScopedVariable variable("TOKAMAK_CACHE_DIR", folder.path());
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    const std::shared_ptr<KernelCache> cache = KernelCache::openDefault();
    EXPECT_FALSE(cache->isOn());
    EXPECT_FALSE(cache->store(keyNumber(1), "value"));
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said,
              HasSubstr("tokamak: compiled kernels are not kept: kernel cache: '" + folder.path() + "' is refused"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

}  // namespace
}  // namespace tokamak
