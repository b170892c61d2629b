// A small program per way to order, or to forget to order, two streams. Built with ThreadSanitizer, it exits with that
// tool's code exactly when the stream model leaves two conflicting accesses unordered: `stream_race SCENARIO`.
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/cpu/cpu_device.h"

namespace tokamak {

namespace {

constexpr int64_t kCount = 1024;

// Writes each element, or adds them all up, sharing out the elements over blocks.
class Produce final : public CpuWork {
 public:
  void run(void* const* addresses, BlockPool& pool) const override {
    auto* const values = static_cast<double*>(addresses[0]);
    pool.parallelFor(kCount, [&](int64_t block) { values[block] = static_cast<double>(block); });
  }
};

class Consume final : public CpuWork {
 public:
  void run(void* const* addresses, BlockPool& pool) const override {
    const auto* const values = static_cast<const double*>(addresses[0]);
    auto* const doubled = static_cast<double*>(addresses[1]);
    pool.parallelFor(kCount, [&](int64_t block) { doubled[block] = 2 * values[block]; });
  }
};

struct Bench {
  // What the work uses outlives the streams, whose end waits for the work.
  std::vector<double> values = std::vector<double>(kCount);
  std::vector<double> doubled = std::vector<double>(kCount);
  Produce produce_work;
  Consume consume_work;
  CpuDevice device{{.threads = 2}};
  std::shared_ptr<Stream> a = device.createStream();
  std::shared_ptr<Stream> b = device.createStream();
  std::shared_ptr<Stream> c = device.createStream();
  std::unique_ptr<Event> event = device.createEvent();

  void produce(Stream& stream) {
    const std::array<void*, 1> addresses = {values.data()};
    device.launch(stream, produce_work, addresses);
  }
  void consume(Stream& stream) {
    const std::array<void*, 2> addresses = {values.data(), doubled.data()};
    device.launch(stream, consume_work, addresses);
  }
  void order(Stream& first, Stream& second) {
    device.record(*event, first);
    device.wait(second, *event);
  }
  static void letItHappen() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
  double hostSum() const {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum;
  }
};

void noWait(Bench& bench) {
  bench.produce(*bench.a);
  bench.consume(*bench.b);
}

// The host issues the second only after the first is long over: time is no order.
void noWaitButLater(Bench& bench) {
  bench.produce(*bench.a);
  Bench::letItHappen();
  bench.consume(*bench.b);
}

void withWait(Bench& bench) {
  bench.produce(*bench.a);
  bench.order(*bench.a, *bench.b);
  bench.consume(*bench.b);
}

void recordTooEarly(Bench& bench) {
  bench.device.record(*bench.event, *bench.a);
  bench.produce(*bench.a);
  bench.device.wait(*bench.b, *bench.event);
  Bench::letItHappen();
  bench.consume(*bench.b);
}

void recordTooEarlyAndTheWaitRunsLate(Bench& bench) {
  bench.device.record(*bench.event, *bench.a);
  bench.produce(*bench.a);
  Bench::letItHappen();
  bench.device.wait(*bench.b, *bench.event);
  bench.consume(*bench.b);
}

void waitTooLate(Bench& bench) {
  bench.produce(*bench.a);
  bench.device.record(*bench.event, *bench.a);
  bench.consume(*bench.b);
  bench.device.wait(*bench.b, *bench.event);
}

void waitThroughAThirdStream(Bench& bench) {
  bench.produce(*bench.a);
  bench.order(*bench.a, *bench.c);
  bench.order(*bench.c, *bench.b);
  bench.consume(*bench.b);
}

void overwrittenBeforeItWasRead(Bench& bench) {
  bench.produce(*bench.a);
  bench.order(*bench.a, *bench.b);
  bench.consume(*bench.b);
  bench.produce(*bench.a);
}

void hostReadsAtOnce(Bench& bench) {
  bench.produce(*bench.a);
  Bench::letItHappen();
  std::printf("%g\n", bench.hostSum());
}

void hostReadsAfterSynchronizing(Bench& bench) {
  bench.produce(*bench.a);
  bench.device.synchronize(*bench.a);
  std::printf("%g\n", bench.hostSum());
}

void hostReadsAfterSynchronizingAnotherStream(Bench& bench) {
  bench.produce(*bench.a);
  Bench::letItHappen();
  bench.device.synchronize(*bench.b);
  std::printf("%g\n", bench.hostSum());
}

void hostReadsWhenAnEventIsDone(Bench& bench) {
  bench.produce(*bench.a);
  bench.device.record(*bench.event, *bench.a);
  while (!bench.device.isDone(*bench.event)) std::this_thread::yield();
  std::printf("%g\n", bench.hostSum());
}

void hostWritesBeforeEnqueueing(Bench& bench) {
  for (double& value : bench.values) value = 1;
  bench.consume(*bench.b);
}

void hostWritesAfterEnqueueing(Bench& bench) {
  bench.consume(*bench.b);
  for (double& value : bench.values) value = 1;
}

// More work after the host's write must not make the write look ordered.
void hostWritesBetweenEnqueues(Bench& bench) {
  bench.device.callback(*bench.b, [] { Bench::letItHappen(); });
  bench.consume(*bench.b);
  for (double& value : bench.values) value = 1;
  bench.device.callback(*bench.b, [] {});
}

void copiesWithoutWait(Bench& bench) {
  bench.device.fill(*bench.a, bench.values.data(), 0, kCount * 8);
  bench.device.copy(*bench.b, bench.doubled.data(), bench.values.data(), kCount * 8);
}

void copiesWithWait(Bench& bench) {
  bench.device.fill(*bench.a, bench.values.data(), 0, kCount * 8);
  bench.order(*bench.a, *bench.b);
  bench.device.copy(*bench.b, bench.doubled.data(), bench.values.data(), kCount * 8);
}

void flagOrders(Bench& bench) {
  alignas(8) static uint64_t flag = 0;
  bench.produce(*bench.a);
  bench.device.writeFlag(*bench.a, &flag, 1);
  bench.device.waitFlag(*bench.b, &flag, 1);
  bench.consume(*bench.b);
}

void memoryMovesToAnotherStream(Bench& bench) {
  constexpr int64_t kBytes = kCount * 8;
  for (int i = 0; i < 2; ++i) {
    for (Stream* stream : {bench.a.get(), bench.b.get()}) {
      void* const memory = bench.device.allocate(kBytes, MemoryKind::Device, *stream);
      const std::array<void*, 1> addresses = {memory};
      bench.device.launch(*stream, bench.produce_work, addresses);
      bench.device.release(memory, kBytes, MemoryKind::Device, *stream);
      Bench::letItHappen();
    }
  }
}

void memoryIsUsedAfterRelease(Bench& bench) {
  constexpr int64_t kBytes = kCount * 8;
  void* const memory = bench.device.allocate(kBytes, MemoryKind::Device, *bench.a);
  const std::array<void*, 1> addresses = {memory};
  bench.device.release(memory, kBytes, MemoryKind::Device, *bench.a);
  bench.device.launch(*bench.a, bench.produce_work, addresses);
  Bench::letItHappen();
  void* const again = bench.device.allocate(kBytes, MemoryKind::Device, *bench.b);
  if (again != memory) std::puts("not reused");
  bench.device.launch(*bench.b, bench.produce_work, addresses);
}

// A stream's own callback releasing memory that the host then takes must not order the host after the stream.
void allocatorIsNoOrder(Bench& bench) {
  void* const memory = bench.device.allocate(64, MemoryKind::Host, *bench.c);
  bench.produce(*bench.a);
  bench.device.callback(*bench.a, [&] { bench.device.release(memory, 64, MemoryKind::Host, *bench.c); });
  Bench::letItHappen();
  bench.device.release(bench.device.allocate(64, MemoryKind::Host, *bench.c), 64, MemoryKind::Host, *bench.c);
  bench.consume(*bench.b);
}

struct Scenario {
  std::string_view name;
  void (*run)(Bench&);
};

constexpr Scenario kScenarios[] = {
    {"no-wait", noWait},
    {"no-wait-but-later", noWaitButLater},
    {"wait", withWait},
    {"record-too-early", recordTooEarly},
    {"record-too-early-late-wait", recordTooEarlyAndTheWaitRunsLate},
    {"wait-too-late", waitTooLate},
    {"wait-through-third", waitThroughAThirdStream},
    {"overwritten", overwrittenBeforeItWasRead},
    {"host-reads-at-once", hostReadsAtOnce},
    {"host-reads-synchronized", hostReadsAfterSynchronizing},
    {"host-reads-other-synchronized", hostReadsAfterSynchronizingAnotherStream},
    {"host-reads-when-done", hostReadsWhenAnEventIsDone},
    {"host-writes-before", hostWritesBeforeEnqueueing},
    {"host-writes-after", hostWritesAfterEnqueueing},
    {"host-writes-between", hostWritesBetweenEnqueues},
    {"copies-no-wait", copiesWithoutWait},
    {"copies-wait", copiesWithWait},
    {"flag", flagOrders},
    {"memory-moves", memoryMovesToAnotherStream},
    {"memory-used-after-release", memoryIsUsedAfterRelease},
    {"allocator-is-no-order", allocatorIsNoOrder},
};

}  // namespace

}  // namespace tokamak

int main(int count, char** arguments) {
  for (const tokamak::Scenario& scenario : tokamak::kScenarios) {
    if (count != 2 || scenario.name != arguments[1]) continue;
    tokamak::Bench bench;
    scenario.run(bench);
    return 0;
  }
  std::fprintf(stderr, "stream_race: give one scenario\n");
  return 2;
}
