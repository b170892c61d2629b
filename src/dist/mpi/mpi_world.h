// MpiWorld: this process among those that mpirun started: messages, requests, who is alive, and waiting for them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dist/mpi/mpi_functions.h"
#include "dist/mpi/mpi_message.h"

namespace tokamak {

/// What has ended of a wait.
enum class MpiWait : uint8_t {
  Message,  ///< of other ranks, who may be long in coming: soon asleep
  Data,     ///< that are on their way, and move only while somebody looks
};

/// One mutex guards it, its communicators and their teams, so that MPI is called by one thread at a time. Whoever waits
/// makes progress: it looks again and again, at once at first and then after naps of up to 0.5 ms. A thread of its own
/// looks every 5 ms where nobody else has, so that others get answers while this process computes.
/// Thread safety: functions marked (locked) are called with the mutex held; the others by any threads.
class MpiWorld {
 public:
  using Clock = std::chrono::steady_clock;

  /// Who is told of messages and deaths, with the mutex held.
  class Listener {
   public:
    virtual void receive(int64_t rank, MpiMessageReader& message) = 0;
    virtual void noteDeath(int64_t rank) = 0;

   protected:
    ~Listener() = default;
  };

  /// `functions` outlive it. All processes call it. Errors: Unsupported where MPI runs without MPI_THREAD_MULTIPLE;
  /// Device where it does not start.
  explicit MpiWorld(const MpiFunctions& functions);
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;
  ~MpiWorld();

  int64_t rank() const { return facts_.rank; }
  int64_t size() const { return facts_.size; }
  std::string name() const { return facts_.name; }
  std::mutex& mutex() { return mutex_; }
  /// Ends MPI, unless processes are dead or late, or requests are open, for which it would wait. Nothing is used behind
  /// it.
  void finish();

  /// (locked) The next communicator over so many ranks.
  MpiJobKey nextJob(int64_t ranks) { return {.ranks = ranks, .number = made_[ranks]++}; }
  /// (locked) From now on the listener is told; of messages that came before, at once.
  void join(const MpiJobKey& job, Listener& listener);
  void part(const MpiJobKey& job);
  /// (locked) The process `pid` of this machine is that rank. Its end is noticed.
  void watch(int64_t rank, int64_t pid);
  bool isDead(int64_t rank) const { return dead_.contains(rank); }
  const std::set<int64_t>& dead() const { return dead_; }
  /// (locked) Another process has seen its end: so does this one, once it has what that rank said before.
  void hearOfDeath(int64_t rank) { said_to_be_dead_.insert(rank); }
  /// (locked) The rank did not come in time, or came to something after all. MPI's own end would wait for who is late.
  void noteLate(int64_t rank) {
    if (rank != facts_.rank) late_.insert(rank);
  }
  void noteCame(int64_t rank) { late_.erase(rank); }
  /// (locked) "; its process 4711 is stopped", as by SIGSTOP or a debugger, where it is known to be; else nothing.
  std::string stateText(int64_t rank) const;

  /// (locked) Messages of one rank to another arrive in order, behind data that were sent before.
  /// Errors: Device, as all below.
  void tell(int64_t rank, std::vector<std::byte> message);
  /// (locked) The first of `count` tags that no other data has.
  int64_t tags(int64_t count);
  uint64_t send(const void* data, int64_t bytes, int64_t rank, int64_t tag);
  uint64_t receive(void* data, int64_t bytes, int64_t rank, int64_t tag);
  bool isOver(uint64_t& request);
  void cancel(uint64_t& request);
  /// (locked) Of a rank that is dead: nobody waits for it any more.
  void abandon() { has_open_requests_ = true; }
  /// Says why, and ends the job: for memory that cannot be taken back from MPI.
  void endJob(const std::string& why);
  /// (locked) Reads messages, as far as they have come.
  void poll();

  /// (locked by `lock`, which is let go of between looks) Whether it is so before the deadline. The time in which this
  /// process was stopped does not count: the others may have waited for it.
  template <class Condition>
  bool waitUntil(std::unique_lock<std::mutex>& lock, Clock::time_point deadline, MpiWait kind,
                 const Condition& condition) {
    Pace pace(kind);
    for (Clock::time_point looked = Clock::now();;) {
      poll();
      if (condition()) return true;
      const Clock::time_point now = Clock::now();
      if (now - looked > std::chrono::seconds(1)) deadline += now - looked;
      looked = now;
      if (now >= deadline) return false;
      lock.unlock();
      pace.pause();
      lock.lock();
    }
  }

 private:
  class Pace {
   public:
    explicit Pace(MpiWait kind);
    void pause();

   private:
    const Clock::time_point yield_from_;
    const Clock::time_point nap_from_;
    std::chrono::microseconds nap_{20};
  };
  struct Outgoing {
    uint64_t request = 0;
    std::vector<std::byte> bytes;
  };
  using Incoming = Outgoing;

  void require(int32_t error, const char* operation) const;
  void takeMessages();
  void deliver(int64_t rank, const std::vector<std::byte>& bytes);
  void lookForDeaths();
  void noteDead(int64_t rank);
  void keepGoing();

  const MpiFunctions& functions_;
  MpiFunctions::World facts_ = {};
  std::mutex mutex_;
  std::map<MpiJobKey, Listener*> listeners_;
  std::map<int64_t, int64_t> made_;  // communicators, by ranks
  std::map<MpiJobKey, std::vector<std::pair<int64_t, std::vector<std::byte>>>> early_;
  std::map<int64_t, std::deque<Incoming>> incoming_;  // by rank
  std::deque<Outgoing> outgoing_;
  struct Watched {
    int64_t pid = 0;
    int end = -1;  // can be read at the process's end
  };
  std::map<int64_t, Watched> watched_;  // by rank
  std::set<int64_t> dead_;
  std::set<int64_t> said_to_be_dead_;  // by others
  std::set<int64_t> late_;
  int64_t next_tag_ = 1;
  bool has_open_requests_ = false;
  bool is_finished_ = false;  // nothing is told any more
  bool is_over_ = false;      // MPI is not called any more
  Clock::time_point polled_ = Clock::now();
  Clock::time_point looked_for_deaths_ = Clock::now();
  std::condition_variable stopped_;
  bool stops_ = false;
  std::thread keeper_;
};

}  // namespace tokamak
