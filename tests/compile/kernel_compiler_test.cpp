// The front: what is in use is found, what is kept is loaded, the rest is compiled, each source once.
#include "toolchain/kernel_compiler.h"

#include <chrono>
#include <stop_token>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answer.h"
#include "cache_folder.h"
#include "error_of.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

std::string sourceReturning(int number) { return "int answer(void) { return " + std::to_string(number) + "; }\n"; }

KernelCompilerOptions optionsFor(const CacheFolder& folder) {
  return {.compiler = {}, .cache = std::make_shared<KernelCache>(folder.path())};
}

TEST(KernelCompiler, compilesThenLoadsFromDiskAndSharesWhatIsInUse) {
  const CacheFolder folder;
  KernelCompiler compiler(optionsFor(folder));
  auto object = compiler.compile(sourceReturning(1));
  EXPECT_EQ(answerOf(*object), 1);
  EXPECT_EQ(compiler.compile(sourceReturning(1)), object);
  EXPECT_EQ(compiler.counts().compiled, 1);
  EXPECT_EQ(compiler.counts().from_disk, 0);
  object.reset();
  EXPECT_EQ(answerOf(*compiler.compile(sourceReturning(1))), 1);
  EXPECT_EQ(compiler.counts().compiled, 1);
  EXPECT_EQ(compiler.counts().from_disk, 1);
  KernelCompiler other(optionsFor(folder));
  EXPECT_EQ(answerOf(*other.compile(sourceReturning(1))), 1);
  EXPECT_EQ(other.counts().compiled, 0);
}

TEST(KernelCompiler, concurrentRequestsForOneSourceCompileItOnce) {
  const CacheFolder folder;
  KernelCompiler compiler(optionsFor(folder));
  std::vector<std::shared_ptr<const SharedObject>> objects(16);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < objects.size(); ++i)
      threads.emplace_back([&, i] { objects[i] = compiler.compile(sourceReturning(i < 8 ? 1 : 2)); });
  }
  for (size_t i = 0; i < objects.size(); ++i) EXPECT_EQ(answerOf(*objects[i]), i < 8 ? 1 : 2);
  EXPECT_EQ(compiler.counts().compiled, 2);
}

TEST(KernelCompiler, severalSourcesAreCompiledSideBySide) {
  const CacheFolder folder;
  KernelCompiler compiler(optionsFor(folder));
  const std::vector<std::string> sources = {sourceReturning(0), sourceReturning(1), sourceReturning(2),
                                            sourceReturning(1)};
  const auto objects = compiler.compileAll(sources);
  EXPECT_EQ(answerOf(*objects[0]), 0);
  EXPECT_EQ(answerOf(*objects[1]), 1);
  EXPECT_EQ(answerOf(*objects[2]), 2);
  EXPECT_EQ(objects[1], objects[3]);
  EXPECT_EQ(compiler.counts().compiled, 3);
}

TEST(KernelCompiler, theFirstOfSeveralFailuresIsRaised) {
  KernelCompiler compiler({.compiler = {}, .cache = std::make_shared<KernelCache>()});
  const std::vector<std::string> sources = {sourceReturning(0), "int first_mistake = x;", "int second_mistake = y;"};
  const Error error = errorOf([&] { compiler.compileAll(sources); });
  EXPECT_EQ(error.code(), ErrorCode::Compile);
  EXPECT_THAT(error.message(), HasSubstr("first_mistake"));
  std::filesystem::remove_all(compiler.compiler().folder().path());
}

// The first one compiles for both. When it gives up, the second one compiles.
TEST(KernelCompiler, whoGivesUpKillsTheCompilerAndOthersCompileAgain) {
  const TemporaryFolder folder;
  const std::string program = writeScript(folder / "cc", "exec cc \"$@\"");
  KernelCompiler compiler(
      {.compiler = {.program = program, .extra_flags = {}, .limits = {}}, .cache = std::make_shared<KernelCache>()});
  writeScript(program,
              "[ -e " + folder / "begun" + " ] && exec cc \"$@\"; touch " + folder / "begun" + "; exec sleep 60");
  std::stop_source stop;
  std::atomic<ErrorCode> first = ErrorCode::Internal;
  std::shared_ptr<const SharedObject> second;
  const auto begin = std::chrono::steady_clock::now();
  {
    std::jthread gives_up(
        [&] { first = errorOf([&] { compiler.compile(sourceReturning(5), "answer", stop.get_token()); }).code(); });
    while (!std::filesystem::exists(folder / "begun")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::jthread waits([&] { second = compiler.compile(sourceReturning(5)); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  }
  EXPECT_EQ(first, ErrorCode::Cancelled);
  EXPECT_EQ(answerOf(*second), 5);
  EXPECT_EQ(compiler.counts().compiled, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(KernelCompiler, whoGivesUpBeforeACompilerIsFreeWaitsForNone) {
  const TemporaryFolder folder;
  const std::string program = writeScript(folder / "cc", "exec cc \"$@\"");
  KernelCompiler compiler({.compiler = {.program = program, .extra_flags = {}, .limits = {}},
                           .cache = std::make_shared<KernelCache>(),
                           .parallel = 1});
  writeScript(program, "touch " + folder / "begun" + "; exec sleep 60");
  std::stop_source busy;
  std::jthread first([&] { errorOf([&] { compiler.compile(sourceReturning(6), {}, busy.get_token()); }); });
  while (!std::filesystem::exists(folder / "begun")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::stop_source stop;
  stop.request_stop();
  const Error error = errorOf([&] { compiler.compile(sourceReturning(7), {}, stop.get_token()); });
  EXPECT_EQ(error.code(), ErrorCode::Cancelled);
  EXPECT_EQ(error.message(), "compiling generated C: nobody waits for it any more");
  busy.request_stop();
}

TEST(KernelCompiler, aFailureReachesAllWhoWaitAndIsTriedAgain) {
  const TemporaryFolder folder;
  const std::string program = writeScript(folder / "cc", "exec cc \"$@\"");
  KernelCompiler compiler(
      {.compiler = {.program = program, .extra_flags = {}, .limits = {}}, .cache = std::make_shared<KernelCache>()});
  writeScript(program, "sleep 0.3; exit 1");
  std::atomic<int> failures{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i)
      threads.emplace_back([&] {
        if (errorOf([&] { compiler.compile(sourceReturning(1)); }).code() == ErrorCode::Compile) ++failures;
      });
  }
  EXPECT_EQ(failures, 6);
  writeScript(program, "exec cc \"$@\"");
  EXPECT_EQ(answerOf(*compiler.compile(sourceReturning(1))), 1);
  std::filesystem::remove_all(compiler.compiler().folder().path());
}

// A compiler that computes without end unless it does not optimise.
TEST(KernelCompiler, whatTakesTooLongIsCompiledAtTheLowestLevel) {
  const CacheFolder folder;
  const TemporaryFolder bin;
  const std::string program = writeScript(bin / "cc",
                                          "case \" $* \" in\n"
                                          "*\" -O0 \"*) exec cc \"$@\";;\n"
                                          "*\" -o \"*) while :; do :; done;;\n"
                                          "*) exec cc \"$@\";;\nesac");
  KernelCompilerOptions options = optionsFor(folder);
  options.compiler.program = program;
  options.compiler.slow = std::chrono::seconds(1);
  const auto begin = std::chrono::steady_clock::now();
  {
    KernelCompiler compiler(options);
    testing::internal::CaptureStderr();
    EXPECT_EQ(answerOf(*compiler.compile(sourceReturning(1))), 1);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "tokamak: a kernel of 1 lines took " + program +
                                                          " more than 1 s; it was compiled without optimisation\n");
    EXPECT_EQ(compiler.counts().compiled, 1);
    // Its key is its own: code of the usual level is not found under it.
    EXPECT_FALSE(compiler.cache().find(compiler.compiler().keyOf(sourceReturning(1))).has_value());
    EXPECT_TRUE(compiler.cache().find(compiler.compiler().keyOf(sourceReturning(1), CompileLevel::Lowest)).has_value());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  KernelCompiler again(options);
  EXPECT_EQ(answerOf(*again.compile(sourceReturning(1))), 1);
  EXPECT_EQ(again.counts().compiled, 0);
}

// A compiler whose optimiser is at fault.
TEST(KernelCompiler, whatTheCompilerFailsAtIsCompiledAtTheLowestLevel) {
  const TemporaryFolder bin;
  for (const auto& [fault, said] : {std::pair("echo 'k.c:1: error: could not split insn'; exit 1",
                                              "exited with code 1: error: could not split insn"),
                                    std::pair("kill -SEGV $$", "was ended by signal 11")}) {
    const CacheFolder folder;
    const std::string program = writeScript(bin / "cc", fmt::format("case \" $* \" in\n"
                                                                    "*\" -O0 \"*) exec cc \"$@\";;\n"
                                                                    "*\" -o \"*) {};;\n"
                                                                    "*) exec cc \"$@\";;\nesac",
                                                                    fault));
    KernelCompilerOptions options = optionsFor(folder);
    options.compiler.program = program;
    KernelCompiler compiler(options);
    testing::internal::CaptureStderr();
    EXPECT_EQ(answerOf(*compiler.compile(sourceReturning(1))), 1);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::AllOf(HasSubstr("tokamak: a kernel of 1 lines makes " + program + " fail (" + said),
                               HasSubstr("; it was compiled without optimisation\n")));
    EXPECT_FALSE(compiler.cache().find(compiler.compiler().keyOf(sourceReturning(1))).has_value());
    KernelCompiler again(options);
    EXPECT_EQ(answerOf(*again.compile(sourceReturning(1))), 1);
    EXPECT_EQ(again.counts().compiled, 0);
  }
}

TEST(KernelCompiler, aLargeSourceIsCompiledAtTheLowestLevelAtOnce) {
  const CacheFolder folder;
  KernelCompilerOptions options = optionsFor(folder);
  options.compiler.large = sourceReturning(1).size();
  KernelCompiler compiler(options);
  testing::internal::CaptureStderr();
  EXPECT_EQ(answerOf(*compiler.compile(sourceReturning(1))), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const std::string large = sourceReturning(2) + "\n";
  testing::internal::CaptureStderr();
  EXPECT_EQ(answerOf(*compiler.compile(large)), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tokamak: a kernel of 2 lines is compiled without optimisation, which would take too long\n");
  EXPECT_FALSE(compiler.cache().find(compiler.compiler().keyOf(large)).has_value());
  EXPECT_TRUE(compiler.cache().find(compiler.compiler().keyOf(large, CompileLevel::Lowest)).has_value());
}

TEST(KernelCompiler, whatTakesTooLongAtTheLowestLevelTooIsAnError) {
  const TemporaryFolder bin;
  const std::string program = writeScript(bin / "cc",
                                          "case \" $* \" in *\" -o \"*) while :; do :; done;; esac\n"
                                          "exec cc \"$@\"");
  KernelCompiler compiler({.compiler = {.program = program,
                                        .extra_flags = {},
                                        .limits = {.time_out = std::chrono::milliseconds(2000)},
                                        .slow = std::chrono::seconds(1)},
                           .cache = std::make_shared<KernelCache>()});
  const Error error = errorOf([&] { compiler.compile(sourceReturning(1)); });
  EXPECT_EQ(error.code(), ErrorCode::Compile);
  EXPECT_THAT(error.message(), HasSubstr("did not end within 2000 ms and was killed"));
  std::filesystem::remove_all(compiler.compiler().folder().path());
}

TEST(KernelCompiler, codeThatCannotBeLoadedIsNotKeptAndItsSourceIs) {
  const CacheFolder folder;
  KernelCompiler compiler(optionsFor(folder));
  const size_t before = folder.numberOfFiles();
  const Error error = errorOf([&] { compiler.compile("int gone(void); int answer(void) { return gone(); }\n"); });
  EXPECT_EQ(error.code(), ErrorCode::Compile);
  EXPECT_THAT(error.message(), testing::AllOf(HasSubstr("gone"), HasSubstr("the source is kept in ")));
  EXPECT_EQ(folder.numberOfFiles(), before);
  std::filesystem::remove_all(compiler.compiler().folder().path());
}

// A compiler that compiles something else once: the next one finds nothing of it.
TEST(KernelCompiler, codeWithoutTheEntryIsNotKept) {
  const CacheFolder folder;
  {
    KernelCompiler compiler(optionsFor(folder));
    const size_t before = folder.numberOfFiles();
    const Error error = errorOf([&] { compiler.compile(sourceReturning(1), "question"); });
    EXPECT_EQ(error.code(), ErrorCode::Compile);
    EXPECT_THAT(error.message(), testing::AllOf(HasSubstr("no symbol 'question'"), HasSubstr("it was made by /"),
                                                HasSubstr("the source is kept in ")));
    EXPECT_EQ(folder.numberOfFiles(), before);
    std::filesystem::remove_all(compiler.compiler().folder().path());
  }
  // One that somebody kept before is compiled again.
  KernelCompiler other(optionsFor(folder));
  KernelCache(folder.path())
      .store(other.compiler().keyOf(sourceReturning(2)),
             other.compiler().compile("int question(void) { return 0; }\n"));
  EXPECT_EQ(answerOf(*other.compile(sourceReturning(2), "answer")), 2);
  EXPECT_EQ(other.counts().compiled, 1);
}

TEST(KernelCompiler, aDamagedOrUnloadableEntryIsCompiledAgain) {
  const CacheFolder folder;
  KernelCompiler compiler(optionsFor(folder));
  const std::string source = sourceReturning(1);
  const CacheKey key = compiler.compiler().keyOf(source);
  compiler.compile(source);
  std::filesystem::resize_file(folder.fileOf(key), 500);
  EXPECT_EQ(answerOf(*compiler.compile(source)), 1);
  EXPECT_EQ(compiler.counts().compiled, 2);
  // A whole entry whose value is no code.
  KernelCache(folder.path()).store(key, "no code at all");
  EXPECT_EQ(answerOf(*compiler.compile(source)), 1);
  EXPECT_EQ(compiler.counts().compiled, 3);
}

TEST(KernelCompiler, worksWithoutACache) {
  const TemporaryFolder folder;
  writeFile(folder / "file", "");
  const ScopedVariable variable("TOKAMAK_CACHE_DIR", folder / "file");
  testing::internal::CaptureStderr();
  KernelCompiler compiler;
  EXPECT_EQ(answerOf(*compiler.compile(sourceReturning(3))), 3);
  testing::internal::GetCapturedStderr();
  EXPECT_FALSE(compiler.cache().isOn());
}

TEST(OnceMap, dropsWhatNobodyHolds) {
  OnceMap<int> map;
  int made = 0;
  const auto held = map.get("held", [&] { return ++made, std::make_shared<const int>(0); });
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(*map.get(std::to_string(i), [&] { return ++made, std::make_shared<const int>(i); }), i);
  EXPECT_EQ(made, 1001);
  EXPECT_EQ(map.get("held", [&] { return ++made, std::make_shared<const int>(1); }), held);
  EXPECT_EQ(made, 1001);
  EXPECT_LT(map.size(), size_t{200});
}

}  // namespace
}  // namespace tokamak
