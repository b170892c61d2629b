// FakeMpi: an MPI whose processes are threads, for MpiWorld: each has a table of functions of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "dist/mpi/mpi_functions.h"
#include "dist/mpi/mpi_world.h"

namespace tokamak {

struct FakeMpiOptions {
  /// Sends of more bytes are over once they are received, and read their memory then.
  int64_t eager_bytes = 4096;
  bool has_all_threads = true;
  int64_t largest_tag = 32767;
};

/// Messages of one process to another, of one tag, are received in the order in which they were sent.
/// Thread safety: any threads may use it side by side. It outlives its worlds.
class FakeMpi {
 public:
  explicit FakeMpi(int64_t size, const FakeMpiOptions& options = {});

  const MpiFunctions& functionsOf(int64_t rank) const { return processes_[static_cast<size_t>(rank)]->functions; }
  /// A world for each process.
  std::vector<std::shared_ptr<MpiWorld>> worlds() const;
  /// The next calls of this kind by the process give this error.
  enum class Call : uint8_t { Start, Send, Receive, Test };
  void fail(int64_t rank, Call call, int32_t error);
  /// From now on the process is as one that is stopped: none of its requests goes on, and what others send it begins,
  /// and does not end.
  void stop(int64_t rank);
  bool hasEnded(int64_t rank);

 private:
  struct Request {
    int64_t rank = 0;  // whose it is
    bool is_over = false;
    void* to = nullptr;          // of a receive
    const void* from = nullptr;  // of a send that waits
    int64_t bytes = 0;
    int64_t peer = 0;
    int64_t tag = 0;
    std::vector<std::byte> eager;
  };
  struct Process {
    FakeMpi* all = nullptr;
    int64_t rank = 0;
    MpiFunctions functions = {};
    std::map<Call, int32_t> failures;
    std::list<uint64_t> posted;   // receives
    std::list<uint64_t> arrived;  // sends to it
    bool is_stopped = false;
    bool has_ended = false;
  };

  static Process& processOf(void* context) { return *static_cast<Process*>(context); }
  static int32_t start(void* context, MpiFunctions::World* world);
  static int32_t finish(void* context);
  static int32_t send(void* context, const void* data, int64_t bytes, int64_t rank, int64_t tag, uint64_t* request);
  static int32_t receive(void* context, void* data, int64_t bytes, int64_t rank, int64_t tag, uint64_t* request);
  static int32_t probe(void* context, int64_t tag, MpiFunctions::Message* message);
  static int32_t receiveMessage(void* context, uint64_t handle, void* data, int64_t bytes, uint64_t* request);
  static int32_t test(void* context, uint64_t* request);
  static int32_t cancel(void* context, uint64_t* request);
  static void endJob(void* context, int32_t code);
  static void describe(void* context, int32_t error, char* text, int64_t capacity);

  uint64_t add(Request request);
  void move(uint64_t sent, uint64_t received);
  static int32_t failureOf(const Process& process, Call call);

  const FakeMpiOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<uint64_t, Request> requests_;
  uint64_t next_request_ = 1;
};

}  // namespace tokamak
