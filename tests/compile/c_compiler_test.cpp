// The C compiler: found, asked, driven; and what becomes of compilers that hang, crash, talk, grow or make nonsense.
#include "toolchain/c_compiler.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "temporary_folder.h"
#include "toolchain/c_compiler_probe.h"
#include "toolchain/program_search.h"
#include "toolchain/shared_object.h"
#include "toolchain/zig.h"

namespace tokamak {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kSource = "int answer(void) { return 42; }\n";

TEST(CCompiler, makesCodeThatRuns) {
  const CCompiler compiler;
  const auto object = SharedObject::load(compiler.compile(kSource), compiler.folder());
  EXPECT_EQ(reinterpret_cast<int (*)()>(object->symbol("answer"))(), 42);
}

TEST(CCompiler, vectorLoopsRun) {
  const CCompiler compiler;
  const auto object = SharedObject::load(
      compiler.compile("void scale(const float* restrict a, float* restrict b, long n) {\n"
                       "  for (long i = 0; i < n; ++i) b[i] = __builtin_fmaf(a[i], 2.0f, 1.0f);\n}\n"
                       "void clear(float* b, long n) { for (long i = 0; i < n; ++i) b[i] = 0.0f; }\n"),
      compiler.folder());
  std::vector<float> a(1001);
  std::vector<float> b(1001);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  reinterpret_cast<void (*)(const float*, float*, long)>(object->symbol("scale"))(a.data(), b.data(), 1001);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(b[i], 2 * a[i] + 1);
  reinterpret_cast<void (*)(float*, long)>(object->symbol("clear"))(b.data(), 1001);
  EXPECT_EQ(b, std::vector<float>(1001));
}

TEST(CCompiler, knowsItselfAndTheMachine) {
  const CCompiler compiler;
  EXPECT_NE(compiler.version(), "");
  EXPECT_NE(compiler.target().machine, "");
  EXPECT_GE(compiler.target().vector_bytes, 16);
  EXPECT_EQ(compiler.flags()[2], "-std=gnu11");
#if defined(__x86_64__)
  EXPECT_EQ(compiler.target().has_fma, __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(compiler.target().vector_bytes == 64, __builtin_cpu_supports("avx512f") != 0);
#endif
}

// A product is not fused with a sum where the source does not say so.
TEST(CCompiler, roundsEveryOperation) {
  const CCompiler compiler;
  const auto object = SharedObject::load(compiler.compile("float f(float a, float b, float c) { return a * b + c; }\n"),
                                         compiler.folder());
  const float a = 1.0f + 0x1p-12f;
  EXPECT_EQ(reinterpret_cast<float (*)(float, float, float)>(object->symbol("f"))(a, a, -1.0f), 0x1p-11f);
}

TEST(CCompiler, theKeySaysAllThatCodeDependsOn) {
  const CCompiler one;
  const CCompiler other({.program = {}, .extra_flags = {"-DX=1"}, .limits = {}});
  EXPECT_EQ(one.keyOf(kSource), CCompiler().keyOf(kSource));
  EXPECT_NE(one.keyOf(kSource).part("flags"), other.keyOf(kSource).part("flags"));
  EXPECT_NE(one.keyOf(kSource).part("source"), one.keyOf("int x;").part("source"));
  EXPECT_THAT(std::string(one.keyOf(kSource).part("compiler")), HasSubstr(one.version()));
}

TEST(CCompiler, whatItSaidAboutItselfIsKept) {
  const TemporaryFolder folder;
  KernelCache cache(folder / "cache");
  const CCompiler asked({}, &cache);
  ASSERT_EQ(cache.list().size(), size_t{1});
  const CCompiler remembered({}, &cache);
  EXPECT_EQ(remembered.keyOf(kSource), asked.keyOf(kSource));
  EXPECT_EQ(remembered.target().machine, asked.target().machine);
  EXPECT_EQ(remembered.flags(), asked.flags());
}

TEST(CCompiler, aChangedCompilerIsAskedAgain) {
  const TemporaryFolder folder;
  KernelCache cache(folder / "cache");
  const std::string program = writeScript(folder / "cc", "exec cc \"$@\"");
  const CCompilerOptions options = {.program = program, .extra_flags = {}, .limits = {}};
  const CacheKey before = CCompiler(options, &cache).keyOf(kSource);
  writeScript(program, "exec cc \"$@\"  # another one");
  EXPECT_NE(CCompiler(options, &cache).keyOf(kSource), before);
}

TEST(CCompiler, factsOfATextComeBack) {
  const CCompilerFacts facts = {.version = "cc 1", .machine = "m", .flags = {"-a", "-b c"}, .macros = "A B=2"};
  EXPECT_EQ(parseFacts(textOf(facts)), facts);
  EXPECT_EQ(parseFacts("nonsense"), std::nullopt);
}

TEST(CCompiler, refusedSourceIsKeptAndNamed) {
  std::string message;
  {
    const CCompiler compiler;
    const Error error = errorOf([&] { compiler.compile("int f(void) { return nothing; }\n"); });
    EXPECT_EQ(error.code(), ErrorCode::Compile);
    message = error.message();
  }
  EXPECT_THAT(message, AllOf(HasSubstr("exited with code 1"), HasSubstr("'nothing' undeclared")));
  const size_t at = message.find("is kept in ") + 11;
  const std::string path = message.substr(at, message.find('\n', at) - at);
  EXPECT_EQ(readFile(path), "int f(void) { return nothing; }\n");
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
}

TEST(CCompiler, severalAtOnceKeepTheirSourcesApart) {
  const CCompiler compiler;
  std::vector<int> answers(6);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i)
      threads.emplace_back([&, i] {
        const auto object = SharedObject::load(
            compiler.compile("int answer(void) { return " + std::to_string(i) + "; }\n"), compiler.folder());
        answers[static_cast<size_t>(i)] = reinterpret_cast<int (*)()>(object->symbol("answer"))();
      });
  }
  EXPECT_THAT(answers, testing::ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(CCompiler, aMissingCompilerIsNamed) {
  const ScopedVariable named("TOKAMAK_CC", "no-such-cc");
  const Error error = errorOf([] { CCompiler(); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_EQ(error.message(),
            "C compiler: 'no-such-cc' is no program that can be run (TOKAMAK_CC takes a path or a name)");
}

TEST(CCompiler, noCompilerAtAllSaysWhereItLooked) {
  const ScopedVariable named("TOKAMAK_CC", std::nullopt);
  const ScopedVariable path("PATH", "/nonexistent:relative:");
  const Error error = errorOf([] { CCompiler(); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("none of cc, gcc, clang is in PATH (/nonexistent:relative:)"));
}

TEST(CCompiler, whatIsNoCompilerIsToldSo) {
  const TemporaryFolder folder;
  const auto refusalOf = [&](const char* body) {
    const std::string program = writeScript(folder / "cc", body);
    const Error error = errorOf([&] { CCompiler({.program = program, .extra_flags = {}, .limits = {}}); });
    EXPECT_EQ(error.code(), ErrorCode::Compile);
    return error.message();
  };
  EXPECT_THAT(refusalOf("exit 1"), HasSubstr("does not answer like one: asked --version, it exited with code 1"));
  EXPECT_THAT(refusalOf("echo I am a teapot"), HasSubstr("(I am a teapot) is neither gcc nor clang"));
  EXPECT_THAT(refusalOf("for a; do case $a in -O2) exit 1;; esac; done; exec cc \"$@\""),
              HasSubstr("does not take the flags"));
}

// As clang 14 and gcc 11 are: they would fail in the middle of the first kernel.
TEST(CCompiler, whatIsTooOldForKernelsIsToldSo) {
  const TemporaryFolder folder;
  const std::string program =
      writeScript(folder / "cc",
                  "for a; do case $a in *builtins.c) grep -q has_builtin.__builtin_shufflevector \"$a\" && "
                  "echo 'lacks __builtin_shufflevector' && exit 0;; esac; done; exec cc \"$@\"");
  const Error error = errorOf([&] { CCompiler({.program = program, .extra_flags = {}, .limits = {}}); });
  EXPECT_EQ(error.code(), ErrorCode::Compile);
  EXPECT_THAT(error.message(),
              HasSubstr(") is too old for kernels: it lacks __builtin_shufflevector; gcc 12 and clang 16 or later"));
}

// What it does not take of the flags that turn optimisations off is left out, the rest is not.
TEST(CCompiler, flagsThatACompilerLacksAreLeftOut) {
  const TemporaryFolder folder;
  const std::string program = writeScript(
      folder / "cc", "for a; do case $a in -fno-split-loops|-fno-slp-vectorize) exit 1;; esac; done; exec cc \"$@\"");
  const CCompiler all;
  const CCompiler fewer({.program = program, .extra_flags = {}, .limits = {}});
  EXPECT_EQ(fewer.flags().size() + 1, all.flags().size());
  EXPECT_NE(fewer.keyOf(kSource), all.keyOf(kSource));
  for (const char* left : {"-fno-split-loops", "-fno-slp-vectorize"})
    EXPECT_EQ(std::ranges::count(fewer.flags(), left), 0) << left;
  const auto object = SharedObject::load(fewer.compile(kSource), fewer.folder());
  EXPECT_EQ(reinterpret_cast<int (*)()>(object->symbol("answer"))(), 42);
}

// With a first word, without -fsyntax-only, for this processor unless told otherwise, and with a cache of its own that
// goes with each run.
constexpr const char* kZig = R"(echo "$@ in $ZIG_LOCAL_CACHE_DIR $ZIG_GLOBAL_CACHE_DIR" >> "$0.notes"
[ "$1" = cc ] || exit 1
shift
mkdir -p "$ZIG_LOCAL_CACHE_DIR/o"
native=-march=native
for a; do
  shift
  case $a in
    -fsyntax-only|-fuse-ld=*|-fno-split-loops) exit 1;;
    -mcpu=baseline) native=;;
    -fno-sanitize=undefined) ;;
    *) set -- "$@" "$a";;
  esac
done
exec cc $native "$@")";

TEST(CCompiler, aProgramNamedZigIsCalledAsOne) {
  const TemporaryFolder folder;
  const CCompiler compiler({.program = writeScript(folder / "zig", kZig), .extra_flags = {}, .limits = {}});
  EXPECT_THAT(compiler.version(), testing::StartsWith("zig cc, "));
  EXPECT_EQ(compiler.target().vector_bytes, CCompiler().target().vector_bytes);
  EXPECT_EQ(std::ranges::count(compiler.flags(), "-fno-sanitize=undefined"), 1);
  EXPECT_EQ(std::ranges::count(compiler.flags(), "-fno-split-loops"), 0);
  EXPECT_GE(std::ranges::count(compiler.flags(), "-fno-peel-loops"), 1);
  const auto object = SharedObject::load(compiler.compile(kSource), compiler.folder());
  EXPECT_EQ(reinterpret_cast<int (*)()>(object->symbol("answer"))(), 42);
  EXPECT_EQ(compiler.embed("bytes", "bytes_of_test").substr(1, 3), "ELF");
  EXPECT_THAT(readFile(folder / "zig.notes"), HasSubstr(" in " + compiler.folder().path() + "/"));
  for (const auto& left : std::filesystem::directory_iterator(compiler.folder().path()))
    EXPECT_FALSE(left.is_directory()) << left.path();
}

TEST(CCompiler, processorsAreSpeltAsTheCompilerDoes) {
  EXPECT_EQ(processorName("/usr/bin/gcc", "x86-64-v3"), "x86-64-v3");
  EXPECT_EQ(processorName("/opt/zig-0.17.1", "x86-64-v3"), "x86_64_v3");
  EXPECT_FALSE(isZig("/opt/zig/cc"));
}

TEST(CCompiler, programsAreFoundInAbsoluteFoldersOnly) {
  const TemporaryFolder folder;
  writeScript(folder / "cc-of-test", "exit 0");
  const ScopedVariable path("PATH", folder.path());
  EXPECT_EQ(findProgram("cc-of-test"), folder / "cc-of-test");
  EXPECT_EQ(findProgram(folder / "cc-of-test"), folder / "cc-of-test");
  EXPECT_EQ(findProgram(""), std::nullopt);
  EXPECT_EQ(findProgram(folder.path()), std::nullopt);
  EXPECT_THAT(errorOf([] { fileIdentity("/nonexistent"); }).message(), HasSubstr("'/nonexistent' cannot be looked at"));
}

// Compilers that answer like one and fail when there is something to compile. "$out" is the file they are to make.
class PathologicalCompiler {
 public:
  explicit PathologicalCompiler(const std::string& body, ProcessLimits limits = {}) {
    const std::string script =
        "out=; previous=; for a; do [ \"$previous\" = -o ] && out=$a; previous=$a; done\n"
        "[ -z \"$out\" ] && exec cc \"$@\"\n" +
        body;
    const std::string program = writeScript(folder_ / "cc", script);
    limits.time_out = std::max(limits.time_out, milliseconds(1));
    compiler_.emplace(CCompilerOptions{.program = program, .extra_flags = {}, .limits = limits});
  }

  std::string failure() {
    const Error error = errorOf([&] { compiler_->compile(kSource); });
    EXPECT_EQ(error.code(), ErrorCode::Compile);
    std::filesystem::remove_all(compiler_->folder().path());
    return error.message();
  }

 private:
  TemporaryFolder folder_;
  std::optional<CCompiler> compiler_;
};

TEST(PathologicalCompilers, oneThatHangs) {
  const auto begin = std::chrono::steady_clock::now();
  PathologicalCompiler compiler("trap '' TERM INT; sleep 1000 & wait; sleep 1000", {.time_out = milliseconds(1500)});
  EXPECT_THAT(compiler.failure(), HasSubstr("did not end within 1500 ms and was killed"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(15'000));
}

TEST(PathologicalCompilers, oneThatCrashes) {
  EXPECT_THAT(PathologicalCompiler("echo internal compiler error; kill -SEGV $$").failure(),
              AllOf(HasSubstr("was ended by signal 11"), HasSubstr("internal compiler error")));
}

TEST(PathologicalCompilers, oneThatPrintsMegabytes) {
  PathologicalCompiler compiler("while :; do echo error error error error error error error; done");
  EXPECT_THAT(compiler.failure(), AllOf(HasSubstr("printed more than 8388608 bytes and was killed"), HasSubstr("...")));
}

TEST(PathologicalCompilers, oneThatGrows) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the limit is of address space";
#endif
  PathologicalCompiler compiler("sleep 0.1; x=xxxxxxxx; while :; do x=$x$x; done",
                                {.time_out = milliseconds(60'000), .memory_bytes = 400 << 20});
  EXPECT_THAT(compiler.failure(), testing::AnyOf(HasSubstr("exited with code"), HasSubstr("was ended by signal")));
}

TEST(PathologicalCompilers, oneThatFillsTheDisk) {
  ProcessLimits limits;
  limits.file_bytes = 16 << 20;
  PathologicalCompiler compiler("sleep 0.1; exec head -c 100000000 /dev/zero > \"$out\"", limits);
  EXPECT_THAT(compiler.failure(), HasSubstr("was ended by signal 25"));
}

TEST(PathologicalCompilers, oneThatMakesGarbage) {
  EXPECT_THAT(PathologicalCompiler("echo garbage > \"$out\"").failure(),
              HasSubstr("made is no shared object: it has 8 bytes, fewer than an ELF header"));
  EXPECT_THAT(PathologicalCompiler("head -c 5000 /dev/urandom > \"$out\"").failure(),
              HasSubstr("made is no shared object: it does not start like an ELF file"));
  EXPECT_THAT(
      PathologicalCompiler("cc \"$@\" && head -c 3000 \"$out\" > \"$out.cut\" && mv \"$out.cut\" \"$out\"").failure(),
      HasSubstr("is cut off"));
}

TEST(PathologicalCompilers, oneThatMakesNothing) {
  EXPECT_THAT(PathologicalCompiler("exit 0").failure(), HasSubstr("made is no shared object: it made no file"));
  for (const char* const made : {"ln -s /etc/passwd", "mkdir", "mkfifo"})
    EXPECT_THAT(PathologicalCompiler(std::string(made) + " \"$out\"").failure(),
                HasSubstr("it made a link, a folder or a FIFO"));
}

}  // namespace
}  // namespace tokamak
