// exit() while threads compile: nobody waits for compilers, and nothing but Cancelled is told.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "compile/temporary_folder.h"
#include "toolchain/program_search.h"

namespace tokamak {
namespace {

// What the program prints, how it ends and what it leaves behind. `then`: what the compiler does with the kernels, once
// it has left its mark.
void expectQuietExit(const std::string& then) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "temporary");
  const std::string compiler = findProgram("cc").value();
  // Asked about itself it answers.
  const std::string script = writeScript(
      folder / "cc", "for last; do :; done\ncase \"$last\" in */k*.c)\n  if grep -q exp \"$last\"; then touch " +
                         folder / "begun" + "\n    " + then + "\n  fi;;\nesac\nexec " + compiler + " \"$@\"");
  const ScopedVariable program("TOKAMAK_CC", script);
  const ScopedVariable cache("TOKAMAK_CACHE_DIR", folder / "cache");
  const ScopedVariable temporary("TMPDIR", folder / "temporary");
  const auto begin = std::chrono::steady_clock::now();
  const int status =
      std::system((TOKAMAK_COMPILE_AT_EXIT " " + folder / "begun" + " >" + folder / "said 2>&1").c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(readFile(folder / "said"), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "temporary"));
  EXPECT_TRUE(std::filesystem::exists(folder / "begun"));
}

TEST(CompileAtExit, EndsCompilersThatNeverEnd) {
  const TemporaryFolder folder;
  expectQuietExit("(sleep 1; touch " + folder / "survivor" + ") & sleep 100");
  // They are killed with all that they started.
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_FALSE(std::filesystem::exists(folder / "survivor"));
}

// Threads are anywhere then: in the lowering, in a compiler, in a loader.
TEST(CompileAtExit, EndsThreadsThatAreAnywhere) {
  for (int i = 0; i < 8; ++i) expectQuietExit("sleep 0.0" + std::to_string(i));
}

}  // namespace
}  // namespace tokamak
