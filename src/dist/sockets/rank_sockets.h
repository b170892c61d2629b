// RankSockets: a connection between each two ranks of a job: exchanges, messages, and who is gone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/home_process.h"
#include "dist/communication_error.h"
#include "dist/gone_ranks.h"
#include "dist/sockets/bootstrap.h"
#include "dist/sockets/socket.h"

namespace tokamak {

/// One thread per rank receives. A process that ends closes its connections, which the others see at once; a machine
/// that is gone is seen within 2 s.
/// Thread safety: any threads may use it side by side.
class RankSockets {
 public:
  /// Told on the thread that receives; in the order in which a rank said it.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void receive(int64_t rank, std::span<const std::byte> message) = 0;
    /// It died.
    virtual void noteDeath(int64_t rank) = 0;
  };

  /// Connects all ranks. `timeout`: of each wait for others. The listener outlives it. Errors: of the bootstrap;
  /// CommunicationError (TimedOut) for a rank that nobody reaches.
  RankSockets(Bootstrap& bootstrap, std::chrono::milliseconds timeout, Listener& listener);
  RankSockets(const RankSockets&) = delete;
  RankSockets& operator=(const RankSockets&) = delete;
  /// To be called after leave().
  ~RankSockets();

  int64_t rank() const { return rank_; }
  int64_t size() const { return static_cast<int64_t>(peers_.size()); }

  /// As Communicator says; legal arguments.
  std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                               std::span<const std::byte> bytes);
  std::vector<int64_t> alive(std::span<const int64_t> ranks) const;
  /// Errors: the CommunicationError of one of the ranks that is gone.
  void requireHere(std::span<const int64_t> ranks) const;
  /// Never waits, and never fails: whoever is gone is not told.
  void tell(int64_t rank, std::span<const std::byte> message);
  /// From now on this rank exchanges no more, as the others learn, and which ranks it knows to be dead.
  void leave();
  bool isDead(int64_t rank) const;
  /// Another rank says that this one has left or died, which its own socket will tell.
  void noteGone(CommunicationFault fault, int64_t rank);

 private:
  enum class Kind : uint8_t { Message, Exchange, ExchangeBroken, Leaving, Left };
  struct Peer {
    FileDescriptor socket;
    std::vector<std::byte> received;  // of frames that are not complete
    std::vector<std::byte> unsent;
    bool has_left = false;  // it said so: its connection may close
    bool is_open = true;
  };
  struct Exchange {
    std::vector<std::optional<std::vector<std::byte>>> given;
    std::optional<Breakage> breakage;
  };
  struct Exchanges {  // of one tag and list of ranks
    int64_t next = 0;
    std::map<int64_t, Exchange> open;
  };
  using ExchangesKey = std::pair<std::string, std::vector<int64_t>>;

  void connectAll(Bootstrap& bootstrap);
  void acceptFrom(const FileDescriptor& listener, int64_t token, SocketClock::time_point deadline);
  FileDescriptor connectTo(int64_t rank, std::span<const std::byte> card, SocketClock::time_point deadline) const;

  void run();
  void receiveFrom(int64_t rank);
  void handleFrame(int64_t rank, std::span<const std::byte> frame);
  void receiveLeaving(int64_t rank, std::span<const std::byte> frame);
  void receiveExchange(Kind kind, int64_t rank, std::span<const std::byte> frame);
  void noteClosed(int64_t rank);
  void tellLocked(int64_t rank, Kind kind, std::span<const std::byte> bytes);
  static void flush(Peer& peer);
  void wake();

  const int64_t rank_;
  const std::chrono::milliseconds timeout_;
  const HomeProcess home_;
  Listener& listener_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Peer> peers_;
  GoneRanks gone_;
  std::map<ExchangesKey, Exchanges> exchanges_;
  bool is_ending_ = false;
  FileDescriptor wake_;
  std::thread thread_;
};

}  // namespace tokamak
