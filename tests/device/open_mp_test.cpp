// The threads of an OpenMP runtime in place of the pool's own.
#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/spin_lock.h"
#include "runtime/cpu/block_pool.h"
#include "runtime/cpu/open_mp.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {
namespace {

// GNU's, which gcc brings. The thread sanitizer does not know how its threads wait for one another.
const OpenMp* runtime() {
  constexpr const char* kLibrary = "libgomp.so.1";
  static void* const library = kThreadSanitizer ? nullptr : dlopen(kLibrary, RTLD_NOW);
  return library == nullptr ? nullptr : OpenMp::usedBy(kLibrary);
}

TEST(OpenMp, OfALibraryThatIsNotLoadedIsNone) { EXPECT_EQ(OpenMp::usedBy("libof_nobody.so"), nullptr); }

TEST(OpenMp, OfALibraryWithoutOneIsNone) {
  ASSERT_NE(dlopen("libm.so.6", RTLD_NOW), nullptr);
  EXPECT_EQ(OpenMp::usedBy("libm.so.6"), nullptr);
}

TEST(OpenMp, RunsEachBlockOnceOnItsThreads) {
  if (runtime() == nullptr) GTEST_SKIP() << "there is no libgomp.so.1 here";
  BlockPool pool(4);
  const OnOpenMp scope(runtime());
  for (const int64_t blocks : {0, 1, 2, 5, 32, 33, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<size_t>(blocks));
    pool.parallelFor(blocks, [&](int64_t block) { ++runs[static_cast<size_t>(block)]; });
    for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1) << blocks;
  }
}

TEST(OpenMp, CarriesWhatBlocksRaise) {
  if (runtime() == nullptr) GTEST_SKIP() << "there is no libgomp.so.1 here";
  BlockPool pool(4);
  const OnOpenMp scope(runtime());
  const auto raises = [&] {
    pool.parallelFor(100, [](int64_t block) {
      if (block == 50) throw std::runtime_error("block 50");
    });
  };
  EXPECT_THROW(raises(), std::runtime_error);
  std::atomic<int> runs = 0;
  pool.parallelFor(100, [&](int64_t) { ++runs; });
  EXPECT_EQ(runs, 100);
}

TEST(OpenMp, HasAsManyThreadsAsTheCallerSays) {
  if (runtime() == nullptr) GTEST_SKIP() << "there is no libgomp.so.1 here";
  const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  const auto set_here = set != nullptr ? set
                                       : reinterpret_cast<void (*)(int)>(dlsym(
                                             dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD), "omp_set_num_threads"));
  std::thread([&] {  // whose number it is alone
    BlockPool pool(8);
    const OnOpenMp scope(runtime());
    for (const int threads : {1, 3}) {
      set_here(threads);
      EXPECT_EQ(runtime()->threads(), threads);
      SpinLock lock;
      std::set<std::thread::id> seen;
      pool.parallelFor(200, [&](int64_t) {
        lock.lock();
        seen.insert(std::this_thread::get_id());
        lock.unlock();
      });
      EXPECT_LE(seen.size(), static_cast<size_t>(threads));
    }
  })
      .join();
}

TEST(OpenMp, IsNotUsedInAForkedProcess) {
  if (runtime() == nullptr) GTEST_SKIP() << "there is no libgomp.so.1 here";
  BlockPool pool(2);
  const OnOpenMp scope(runtime());
  pool.parallelFor(100, [](int64_t) {});
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> runs = 0;
    pool.parallelFor(100, [&](int64_t) { ++runs; });
    _exit(runs == 100 && runtime()->threads() == 1 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(OpenMp, IsLeftWithItsScope) {
  if (runtime() == nullptr) GTEST_SKIP() << "there is no libgomp.so.1 here";
  {
    const OnOpenMp outer(runtime());
    {
      const OnOpenMp inner(nullptr);
      EXPECT_EQ(OnOpenMp::current(), nullptr);
    }
    EXPECT_EQ(OnOpenMp::current(), runtime());
  }
  EXPECT_EQ(OnOpenMp::current(), nullptr);
}

}  // namespace
}  // namespace tokamak
