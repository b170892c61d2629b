// Three ranks that communicate once, with or without a mistake: for ThreadSanitizer to report, or not to.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "dist/local/local_communicator.h"
#include "jit/open_device.h"

namespace tokamak {

namespace {

constexpr int64_t kRanks = 3;
constexpr int64_t kCount = 64;

class Job {
 public:
  explicit Job(CommunicationKind kind) {
    for (int64_t rank = 0; rank < kRanks; ++rank) devices_.push_back(openCpuDevice({.threads = 1}));
    communicators_ = makeLocalCommunicators(devices_);
    const std::array<int64_t, kRanks> ranks = {0, 1, 2};
    CommunicationRequest request = {.kind = kind, .counts = {kCount}, .root = 0};
    if (kind == CommunicationKind::Allgather) request.counts = {kCount, kCount, kCount};
    for (size_t rank = 0; rank < kRanks; ++rank) {
      streams_.push_back(devices_[rank]->createStream());
      teams_.push_back(communicators_[rank]->team(ranks));
      works_.push_back(teams_[rank]->prepare(request));
      events_.push_back(devices_[rank]->createEvent());
    }
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    for (size_t rank = 0; rank < kRanks; ++rank) devices_[rank]->synchronize(teams_[rank]->stream());
    for (size_t rank = 0; rank < kRanks; ++rank) devices_[rank]->synchronize(*streams_[rank]);
  }

  void post() {
    for (size_t rank = 0; rank < kRanks; ++rank) {
      Stream& stream = teams_[rank]->stream();
      const std::unique_ptr<Event> before = devices_[rank]->createEvent();
      devices_[rank]->record(*before, *streams_[rank]);
      devices_[rank]->wait(stream, *before);
      devices_[rank]->launch(stream, *works_[rank], std::array<void*, 2>{input(rank), output(rank)});
      devices_[rank]->record(*events_[rank], stream);
    }
  }
  void wait(size_t rank) { devices_[rank]->wait(*streams_[rank], *events_[rank]); }
  template <class Function>
  void on(size_t rank, const Function& function) {
    devices_[rank]->callback(*streams_[rank], function);
  }
  float* input(size_t rank) { return inputs_[rank].data(); }
  float* output(size_t rank) { return outputs_[rank].data(); }

 private:
  std::vector<std::shared_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::vector<std::shared_ptr<TeamCommunicator>> teams_;
  std::vector<std::shared_ptr<const Work>> works_;
  std::vector<std::unique_ptr<Event>> events_;
  std::array<std::array<float, kCount>, kRanks> inputs_ = {};
  std::array<std::array<float, kRanks * kCount>, kRanks> outputs_ = {};
};

// Rank 1 writes before the communication what rank 2 reads behind it.
void orderThrough(CommunicationKind kind) {
  float shared = 0;
  float seen = 0;
  Job job(kind);
  job.on(1, [&] { shared = 1; });
  job.post();
  job.wait(2);
  job.on(2, [&] { seen = shared; });
}

void run(const std::string& scenario) {
  if (scenario == "allgather-orders-all") return orderThrough(CommunicationKind::Allgather);
  if (scenario == "broadcast-orders-no-receivers") return orderThrough(CommunicationKind::Broadcast);
  float sum = 0;
  Job job(CommunicationKind::Allreduce);
  if (scenario == "operands-written-before") job.on(0, [&] { job.input(0)[0] = 1; });
  job.post();
  if (scenario == "operand-overwritten") job.on(0, [&] { job.input(0)[0] = 2; });
  if (scenario == "result-read-at-once") job.on(0, [&] { sum = job.output(0)[kCount - 1]; });
  job.wait(0);
  if (scenario == "operand-overwritten-behind") job.on(0, [&] { job.input(0)[0] = 2; });
  if (scenario == "operands-written-before") job.on(0, [&] { sum = job.output(0)[0]; });
}

}  // namespace

}  // namespace tokamak

int main(int argc, char** argv) {
  if (argc == 2) tokamak::run(argv[1]);
  return argc == 2 ? 0 : 2;
}
