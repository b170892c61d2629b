// Where the times of timelines come from, on the fake driver: CUPTI, or the driver's events and why.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/trace.h"
#include "fake_cuda.h"
#include "runtime/cuda/cuda_module.h"
#include "runtime/cuda/cupti_library.h"
#include "runtime/cuda/cupti_records.h"

namespace tokamak {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Span {
  int64_t track = 0;
  std::string name;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

class Spans final : public TraceObserver {
 public:
  void span(int64_t track, std::string_view name, int64_t begin_ns, int64_t end_ns) noexcept override {
    all.push_back({track, std::string(name), begin_ns, end_ns});
  }
  void flowBegin(int64_t /*track*/, uint64_t /*flow*/, int64_t /*at_ns*/) noexcept override { ++points; }
  void flowEnd(int64_t /*track*/, uint64_t /*flow*/, int64_t /*at_ns*/) noexcept override { ++waits; }
  void nameTrack(int64_t /*track*/, std::string_view /*name*/) noexcept override {}

  std::vector<std::string> namesOf(int64_t track) const {
    std::vector<std::string> names;
    for (const Span& span : all)
      if (span.track == track) names.push_back(span.name);
    return names;
  }

  std::vector<Span> all;
  int points = 0;
  int waits = 0;
};

// The fake driver's file is its CUPTI, too.
class FakeCupti : ScopedVariable {
 public:
  explicit FakeCupti(const std::string& file = TOKAMAK_FAKE_DRIVER) : ScopedVariable("TOKAMAK_CUPTI", file) {}
};

// A fill and a kernel on one stream, for which another one waits, to copy then.
void giveWork(CudaDevice& device) {
  const auto a = device.createStream();
  const auto b = device.createStream();
  const auto event = device.createEvent();
  const CudaFunction function =
      CudaModule::load(device.context(), "fake module\nadd_one add_one 8 8 8\n")->function("add_one");
  const CudaKernelWork add_one(function, {.block = {64, 1, 1}}, 2, {64}, "add one");
  void* const memory = device.allocate(1024, MemoryKind::Device, *a);
  device.fill(*a, memory, 0, 1024);
  const std::array<void*, 2> addresses = {memory, memory};
  device.launch(*a, add_one, addresses);
  device.record(*event, *a);
  device.wait(*b, *event);
  device.copy(*b, memory, static_cast<char*>(memory) + 512, 512);
  device.release(memory, 1024, MemoryKind::Device, *b);
  device.reportTrace();
}

// Nanoseconds by which the clocks of host and GPU may seem apart: a busy machine interrupts whoever reads both.
constexpr int64_t kClocks = 50'000'000;

void expectTimeline(const Spans& spans, int64_t begin_ns, int64_t end_ns) {
  EXPECT_THAT(spans.namesOf(0), ElementsAre("fill", "add one"));
  EXPECT_THAT(spans.namesOf(1), ElementsAre("wait", "copy"));
  EXPECT_EQ(spans.waits, 1);
  for (const Span& span : spans.all) {
    EXPECT_LE(begin_ns, span.begin_ns + kClocks) << span.name;
    EXPECT_LE(span.begin_ns, span.end_ns) << span.name;
    EXPECT_LE(span.end_ns, end_ns + kClocks) << span.name;
  }
}

TEST(CudaTrace, TimesComeFromCuptiWhereItsVersionIsTheHeaders) {
  if (cuptiHeaderVersion() == 0) GTEST_SKIP() << "built without cupti.h";
  const FakeCupti cupti;
  Spans spans;
  const auto device = openFakeDevice({.trace = &spans});
  EXPECT_EQ(device->traceSource(), "CUPTI " + std::to_string(cuptiHeaderVersion()));
  const int64_t begin_ns = traceNow();
  giveWork(*device);
  expectTimeline(spans, begin_ns, traceNow());
}

TEST(CudaTrace, WhatWasReportedIsNotReportedAgain) {
  const FakeCupti cupti;
  Spans spans;
  const auto device = openFakeDevice({.trace = &spans});
  giveWork(*device);
  spans.all.clear();
  device->reportTrace();
  EXPECT_THAT(spans.all, IsEmpty());
}

TEST(CudaTrace, TwoDevicesDoNotGetTheWorkOfEachOther) {
  const FakeSettings asked("devices=2");
  const FakeCupti cupti;
  Spans first_spans;
  Spans second_spans;
  const auto first = openFakeDevice({.trace = &first_spans}, 0);
  const auto second = openFakeDevice({.trace = &second_spans}, 1);
  giveWork(*first);
  giveWork(*second);
  EXPECT_EQ(first_spans.all.size(), 4);
  EXPECT_EQ(second_spans.all.size(), 4);
}

TEST(CudaTrace, ACuptiOfAnotherVersionIsNotUsed) {
  if (cuptiHeaderVersion() == 0) GTEST_SKIP() << "built without cupti.h";
  const FakeSettings asked("cupti_is_newer=1");
  const std::string file = TOKAMAK_FAKE_DRIVER;
  // Another spelling: a library that was found is not asked for its version again.
  const FakeCupti cupti(std::string(file).insert(file.rfind('/'), "/."));
  Spans spans;
  const auto device = openFakeDevice({.trace = &spans});
  EXPECT_THAT(device->traceSource(), StartsWith("the driver's events (CUPTI: no library that has version "));
  const int64_t begin_ns = traceNow();
  giveWork(*device);
  expectTimeline(spans, begin_ns, traceNow());
}

TEST(CudaTrace, ACuptiThatDoesNotRecordIsNotUsed) {
  if (cuptiHeaderVersion() == 0) GTEST_SKIP() << "built without cupti.h";
  const FakeCupti cupti;
  const std::pair<const char*, const char*> kFaults[] = {
      {"fail=cuptiActivityEnable:15:3", "CUPTI: recording activities of kind "},
      {"fail=cuptiActivityRegisterCallbacks:15", "CUPTI: starting to record: "},
      {"fail=cuptiGetTimestamp:15", "CUPTI: reading its clock: "}};
  for (const auto& [fault, sentence] : kFaults) {
    const FakeSettings asked(fault);
    Spans spans;
    const auto device = openFakeDevice({.trace = &spans});
    EXPECT_THAT(device->traceSource(), HasSubstr(sentence));
    EXPECT_THAT(device->traceSource(), HasSubstr("CUPTI_ERROR_NOT_INITIALIZED (15)"));
    giveWork(*device);
    EXPECT_THAT(spans.namesOf(0), ElementsAre("fill", "add one"));
  }
}

TEST(CudaTrace, ACuptiThatStopsRecordingIsAnError) {
  if (cuptiHeaderVersion() == 0) GTEST_SKIP() << "built without cupti.h";
  const FakeCupti cupti;
  const std::pair<const char*, const char*> kFaults[] = {
      {"fail=cuptiActivityPushExternalCorrelationId:15", "CUPTI: labelling work: CUPTI_ERROR_NOT_INITIALIZED (15)"},
      {"fail=cuptiActivityFlushAll:15", "CUPTI: collecting its records: CUPTI_ERROR_NOT_INITIALIZED (15)"}};
  for (const auto& [fault, sentence] : kFaults) {
    const FakeSettings asked(fault);
    Spans spans;
    const auto device = openFakeDevice({.trace = &spans});
    try {
      giveWork(*device);
      ADD_FAILURE() << "nothing was raised";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Device);
      EXPECT_EQ(error.message(), sentence);
    }
  }
}

TEST(CudaTrace, ADriverThatCuptiDoesNotWatchIsTimedByItsEvents) {
  Spans spans;
  const auto device = openFakeDevice({.trace = &spans});
  EXPECT_THAT(device->traceSource(), HasSubstr("CUPTI: it does not watch the driver '"));
  const int64_t begin_ns = traceNow();
  giveWork(*device);
  expectTimeline(spans, begin_ns, traceNow());
}

#ifdef TOKAMAK_CUPTI_FILE
// Without a driver some libraries do not even say their version, or fall over when they are asked: so a child asks.
bool saysItsVersion(const char* file) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  uint32_t version = 0;
  using Ask = int (*)(uint32_t*);
  const auto ask = library == nullptr ? nullptr : reinterpret_cast<Ask>(dlsym(library, "cuptiGetVersion"));
  return ask != nullptr && ask(&version) == 0 && version == cuptiHeaderVersion();
}

TEST(CudaTrace, TheRecordsThatAreReadAreAsLongAsThoseOfTheLibraryBesideTheHeader) {
  if (access(TOKAMAK_CUPTI_FILE, R_OK) != 0) GTEST_SKIP() << TOKAMAK_CUPTI_FILE << " is not there";
  const FakeCupti cupti(TOKAMAK_CUPTI_FILE);
  const pid_t child = fork();
  if (child == 0) {
    if (!saysItsVersion(TOKAMAK_CUPTI_FILE)) _exit(2);
    try {
      CuptiLibrary::load();
    } catch (const Error&) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status) || WEXITSTATUS(status) == 2) GTEST_SKIP() << "the library needs a driver";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

TEST(CudaTrace, WithoutATimelineThereIsNoSource) { EXPECT_EQ(openFakeDevice()->traceSource(), ""); }

}  // namespace

}  // namespace tokamak
