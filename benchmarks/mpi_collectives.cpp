// What communications of a host program take between processes, beside the same calls of MPI by hand; and what a plan's
// communication takes of the host.
//
//   mpirun -n 2 bench_mpi_collectives [--rounds N] [--json FILE]
//
// allreduce, allgather: 16 MB of f32 on each rank, in milliseconds of rank 0; one after the other in each round, from a
//                       barrier until the result is there. By hand: MPI_Allreduce and MPI_Allgather, in the same memory
// step:                 posting and waiting of a plan's communication, in nanoseconds of the caller's thread: what 65
//                       of them take more than one, each; by hand: event, wait, launch, event and wait of the device
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "compile/lower_fusion.h"
#include "dist/mpi/mpi_communicator.h"
#include "host/ir/text/host_parser.h"
#include "host/run/host_ir_evaluator.h"
#include "jit/open_device.h"

namespace tokamak {
namespace {

constexpr int64_t kElements = int64_t{4} << 20U;  // 16 MB of f32
constexpr int kSteps = 65;

using Clock = std::chrono::steady_clock;

double secondsOf(const std::function<void()>& run) {
  const auto begin = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double medianOf(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// A chain of communications of so many elements in and out.
std::string chain(const char* kind, const std::string& team, int64_t in, int64_t out, int steps) {
  const auto tensor = [&](int i) { return fmt::format("T{}_g_float[iS{}{{{}}}]", i, i, i == 0 ? in : out); };
  std::string text = fmt::format("%HostIrContainer {{ ({}) -> ({}) :\n", tensor(0), tensor(steps));
  for (int i = 0; i < steps; ++i)
    text += fmt::format(
        "  Communication {0} (type={1}, team=({2}), input={3}, output={4}, backend=Local)\n  Wait Communication {0}\n",
        i, kind, team, tensor(i), tensor(i + 1));
  return text + "} // %HostIrContainer\n";
}

class Program {
 public:
  Program(const std::string& text, Communicator& communicator, int64_t in, int64_t out)
      : device_(*communicator.device()) {
    std::unique_ptr<HostIrContainer> program = parseHostProgram(text, "benchmark");
    finishHostProgram(*program, {});
    evaluator_ = std::make_unique<HostIrEvaluator>(std::move(program), device_,
                                                   HostIrEvaluatorParams{.communicator = &communicator});
    stream_ = device_.createStream();
    in_.push_back(Tensor::emptyOnHost(device_, stream_, DataType::F32, std::array{in}));
    out_.push_back(Tensor::emptyOnHost(device_, stream_, DataType::F32, std::array{out}));
    std::fill_n(static_cast<float*>(in_[0].hostData()), in, 1.0F);
    std::fill_n(static_cast<float*>(out_[0].hostData()), out, 0.0F);
  }
  void post() { evaluator_->run(in_, out_, *stream_); }
  void finish() { stream_->synchronize(); }
  void run() {
    post();
    finish();
  }
  const float* input() { return static_cast<const float*>(in_[0].hostDataToRead()); }
  float* output() { return static_cast<float*>(out_[0].hostData()); }
  const float* result() { return static_cast<const float*>(out_[0].hostDataToRead()); }

 private:
  Device& device_;
  std::unique_ptr<HostIrEvaluator> evaluator_;
  std::shared_ptr<Stream> stream_;
  std::vector<Tensor> in_, out_;
};

struct Pair {
  std::string name;
  double ours_ms = 0, by_hand_ms = 0, least_ours_ms = 0, least_by_hand_ms = 0;
};

Pair compare(const std::string& name, int rounds, const std::function<void()>& ours,
             const std::function<void()>& by_hand) {
  std::vector<double> of_ours, of_hand;
  for (int round = -2; round < rounds; ++round) {  // the first ones make plans and touch memory
    for (const bool is_ours : {round % 2 == 0, round % 2 != 0}) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double ms = secondsOf(is_ours ? ours : by_hand) * 1e3;
      if (round >= 0) (is_ours ? of_ours : of_hand).push_back(ms);
    }
  }
  return {name, medianOf(of_ours), medianOf(of_hand), *std::ranges::min_element(of_ours),
          *std::ranges::min_element(of_hand)};
}

std::vector<Pair> measureCollectives(Communicator& communicator, int rounds) {
  const int64_t ranks = communicator.size();
  std::string team;
  for (int64_t rank = 0; rank < ranks; ++rank) team += fmt::format("{}{}", rank == 0 ? "" : " ", rank);
  const int64_t share = kElements / ranks;
  Program sum(chain("Allreduce", team, kElements, kElements, 1), communicator, kElements, kElements);
  Program gather(chain("Allgather", team, share, kElements, 1), communicator, share, kElements);
  Program small(chain("Allreduce", team, 16, 16, 1), communicator, 16, 16);
  std::vector<Pair> pairs = {
      compare(
          "allreduce of 64 bytes", rounds, [&] { small.run(); },
          [&] { MPI_Allreduce(small.input(), small.output(), 16, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }),
      compare(
          "allreduce", rounds, [&] { sum.run(); },
          [&] {
            MPI_Allreduce(sum.input(), sum.output(), static_cast<int>(kElements), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
          }),
      compare(
          "allgather", rounds, [&] { gather.run(); },
          [&] {
            MPI_Allgather(gather.input(), static_cast<int>(share), MPI_FLOAT, gather.output(), static_cast<int>(share),
                          MPI_FLOAT, MPI_COMM_WORLD);
          })};
  if (sum.result()[kElements - 1] != static_cast<float>(ranks) || gather.result()[kElements - 1] != 1.0F)
    std::fprintf(stderr, "the results are wrong\n");
  return pairs;
}

struct StepCost {
  double plan_ns = 0, by_hand_ns = 0;
};

// Of a team of this rank alone, so that nobody waits for others.
StepCost measureSteps(Communicator& communicator, int rounds) {
  const std::string team = std::to_string(communicator.rank());
  Program one(chain("Allreduce", team, 16, 16, 1), communicator, 16, 16);
  Program many(chain("Allreduce", team, 16, 16, kSteps), communicator, 16, 16);
  Device& device = *communicator.device();
  const std::shared_ptr<Stream> current = device.createStream();
  const std::array ranks = {communicator.rank()};
  const auto own = communicator.team(ranks);
  const CommunicationRequest request = {.kind = CommunicationKind::Allreduce, .counts = {16}};
  const auto work = own->prepare(request);
  std::array<float, 16> buffer = {};
  const std::array<void*, 2> addresses = {buffer.data(), buffer.data()};
  const std::unique_ptr<Event> before = device.createEvent(), done = device.createEvent();
  const auto post = [&] {
    device.record(*before, *current);
    device.wait(own->stream(), *before);
    device.launch(own->stream(), *work, addresses);
    device.record(*done, own->stream());
    device.wait(*current, *done);
  };
  std::vector<double> of_one, of_many, of_hand;
  for (int round = -2; round < 20 * rounds; ++round) {
    const double one_s = secondsOf([&] { one.post(); });
    one.finish();
    const double many_s = secondsOf([&] { many.post(); });
    many.finish();
    const double hand_s = secondsOf([&] {
      for (int i = 0; i < kSteps - 1; ++i) post();
    });
    device.synchronize(*current);
    if (round < 0) continue;
    of_one.push_back(one_s);
    of_many.push_back(many_s);
    of_hand.push_back(hand_s);
  }
  return {(medianOf(of_many) - medianOf(of_one)) / (kSteps - 1) * 1e9, medianOf(of_hand) / (kSteps - 1) * 1e9};
}

bool writeJson(const char* path, int64_t ranks, int rounds, const std::vector<Pair>& pairs, const StepCost& step) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return false;
  std::fprintf(file, "{\"ranks\": %lld, \"rounds\": %d, \"library\": \"%s\", \"bytes\": %lld,\n",
               static_cast<long long>(ranks), rounds, mpiProcess().library.substr(0, 16).c_str(),
               static_cast<long long>(kElements) * 4);
  for (const Pair& pair : pairs)
    std::fprintf(file,
                 " \"%s\": {\"ours_ms\": %.3f, \"by_hand_ms\": %.3f, \"least_ours_ms\": %.3f, \"least_by_hand_ms\": "
                 "%.3f, \"ratio\": %.3f},\n",
                 pair.name.c_str(), pair.ours_ms, pair.by_hand_ms, pair.least_ours_ms, pair.least_by_hand_ms,
                 pair.ours_ms / pair.by_hand_ms);
  std::fprintf(file, " \"step\": {\"plan_ns\": %.0f, \"by_hand_ns\": %.0f}}\n", step.plan_ns, step.by_hand_ns);
  return std::fclose(file) == 0;
}

}  // namespace
}  // namespace tokamak

int main(int count, char** arguments) {
  int rounds = 31;
  const char* json = nullptr;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::strcmp(arguments[i], "--rounds") == 0) rounds = std::atoi(arguments[i + 1]);
    if (std::strcmp(arguments[i], "--json") == 0) json = arguments[i + 1];
  }
  const auto communicator = tokamak::mpiCommunicator(tokamak::openCpuDevice({.threads = 1}));
  const std::vector<tokamak::Pair> pairs = tokamak::measureCollectives(*communicator, rounds);
  const tokamak::StepCost step = tokamak::measureSteps(*communicator, rounds);
  if (communicator->rank() != 0) return 0;
  for (const tokamak::Pair& pair : pairs)
    std::printf("%s: %.3f ms (least %.3f), by hand %.3f ms (least %.3f): %.2f times\n", pair.name.c_str(), pair.ours_ms,
                pair.least_ours_ms, pair.by_hand_ms, pair.least_by_hand_ms, pair.ours_ms / pair.by_hand_ms);
  std::printf("step: %.0f ns in a plan, %.0f ns by hand\n", step.plan_ns, step.by_hand_ns);
  if (json != nullptr && !tokamak::writeJson(json, communicator->size(), rounds, pairs, step)) return 1;
  return 0;
}
