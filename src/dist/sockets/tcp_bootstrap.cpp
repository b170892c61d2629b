#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "dist/communication_error.h"
#include "dist/sockets/bootstrap.h"
#include "dist/sockets/message.h"
#include "dist/sockets/socket.h"

namespace tokamak {

namespace {

constexpr size_t kMostBytes = size_t{1} << 30;
constexpr std::string_view kGreeting = "tokamak bootstrap 1";

bool isSet(const char* variable) { return std::getenv(variable) != nullptr; }

int64_t numberFrom(const char* variable) {
  const char* const text = std::getenv(variable);
  TK_REQUIRE(text != nullptr, Usage,
             "bootstrap: ${} is not set; RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are what torchrun and other "
             "launchers set",
             variable);
  int64_t number = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, number);
  TK_REQUIRE(error == std::errc() && rest == end, Usage, "bootstrap: ${} is '{}'; it takes a number", variable, text);
  return number;
}

constexpr const char* kMpiRank = "OMPI_COMM_WORLD_RANK";
constexpr const char* kMpiSize = "OMPI_COMM_WORLD_SIZE";
constexpr const char* kMpiLocalSize = "OMPI_COMM_WORLD_LOCAL_SIZE";

// Whether mpirun says who this process is, and nobody else.
bool isOfMpirun() { return !isSet("RANK") && isSet(kMpiRank); }

// Errors: Usage where nothing says it.
std::string addressOfFirst(int64_t size) {
  const char* const address = std::getenv("MASTER_ADDR");
  const bool is_here = address == nullptr && isOfMpirun() && numberFrom(kMpiLocalSize) == size;
  TK_REQUIRE(address != nullptr || is_here, Usage, "bootstrap: $MASTER_ADDR is not set; it is the address of rank 0");
  return is_here ? TcpBootstrapOptions().address : address;
}

/// Rank 0 has a connection to each other rank, and these one to it.
class TcpBootstrap final : public Bootstrap {
 public:
  explicit TcpBootstrap(const TcpBootstrapOptions& options) : options_(options) {
    if (rank() == 0)
      acceptAll();
    else
      connectToFirst();
  }

  int64_t rank() const override { return options_.rank; }
  int64_t size() const override { return options_.size; }

  std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> bytes) override {
    const auto deadline = SocketClock::now() + options_.timeout;
    return rank() == 0 ? gatherAndTell(bytes, deadline) : giveAndHear(bytes, deadline);
  }

 private:
  void acceptAll() {
    if (size() == 1) return connections_.resize(1);  // nobody comes, and the port may be another job's
    const auto deadline = SocketClock::now() + options_.timeout;
    const FileDescriptor listener = listenAt(options_.port);
    connections_.resize(static_cast<size_t>(size()));
    for (int64_t come = 1; come < size();) {
      auto connection = acceptUntil(listener, deadline);
      if (!connection) return fail(lateBreakage(firstMissing()));
      std::vector<std::byte> hello;
      if (receiveFrame(*connection, hello, 1024, deadline) != SocketResult::Done) continue;  // none of ours
      MessageReader reader(hello);
      if (reader.text() != kGreeting) continue;
      const int64_t other = reader.number();
      const int64_t other_size = reader.number();
      const bool is_legal = other_size == size() && other > 0 && other < size();
      if (!is_legal || connections_[static_cast<size_t>(other)].isOpen()) {
        const Breakage breakage = {
            CommunicationFault::Mismatch, other,
            is_legal ? fmt::format("bootstrap: two processes say that they are rank {} of {}", other, size())
                     : fmt::format("bootstrap: a process says that it is rank {} of {}; rank 0 is one of {}", other,
                                   other_size, size())};
        MessageWriter told;
        told.add(int64_t{1}).add(breakage);
        sendFrame(*connection, told.bytes(), deadline);
        return fail(breakage);
      }
      connections_[static_cast<size_t>(other)] = *std::move(connection);
      ++come;
    }
  }

  void connectToFirst() {
    const auto deadline = SocketClock::now() + options_.timeout;
    auto connection = connectUntil(options_.address, options_.port, deadline);
    if (!connection) raiseOf(lateBreakage(0));
    connections_.push_back(*std::move(connection));
    MessageWriter hello;
    hello.add(kGreeting).add(rank()).add(size());
    requireDone(sendFrame(connections_[0], hello.bytes(), deadline), 0);
  }

  std::vector<std::vector<std::byte>> gatherAndTell(std::span<const std::byte> bytes,
                                                    SocketClock::time_point deadline) {
    std::vector<std::vector<std::byte>> given(static_cast<size_t>(size()));
    given[0].assign(bytes.begin(), bytes.end());
    for (size_t other = 1; other < given.size(); ++other)
      requireDone(receiveFrame(connections_[other], given[other], kMostBytes, deadline), static_cast<int64_t>(other));
    MessageWriter all;
    all.add(int64_t{0});
    for (const auto& one : given) all.add(std::span<const std::byte>(one));
    for (size_t other = 1; other < given.size(); ++other)
      requireDone(sendFrame(connections_[other], all.bytes(), deadline), static_cast<int64_t>(other));
    return given;
  }

  std::vector<std::vector<std::byte>> giveAndHear(std::span<const std::byte> bytes, SocketClock::time_point deadline) {
    const SocketResult given = sendFrame(connections_[0], bytes, deadline);
    std::vector<std::byte> all;
    // What rank 0 said before it went is there, also where it takes nothing any more.
    const SocketResult heard = receiveFrame(connections_[0], all, kMostBytes, deadline);
    requireDone(heard == SocketResult::Done ? heard : std::max(given, heard), 0);
    MessageReader reader(all);
    if (reader.number() != 0) raiseOf(reader.breakage());
    std::vector<std::vector<std::byte>> theirs;
    for (int64_t other = 0; other < size(); ++other) theirs.push_back(reader.bytes());
    return theirs;
  }

  void requireDone(SocketResult result, int64_t other) {
    if (result == SocketResult::TimedOut) fail(lateBreakage(other));
    if (result == SocketResult::Closed)
      fail({CommunicationFault::Died, other, fmt::format("bootstrap: rank {} died", other)});
  }

  Breakage lateBreakage(int64_t other) const {
    std::string text = fmt::format("bootstrap: rank {} did not come within {} ms", other, options_.timeout.count());
    if (rank() != 0) text += fmt::format(" to {}, port {}", options_.address, options_.port);
    return {CommunicationFault::TimedOut, other, std::move(text)};
  }

  int64_t firstMissing() const {
    for (size_t other = 1; other < connections_.size(); ++other)
      if (!connections_[other].isOpen()) return static_cast<int64_t>(other);
    return 0;
  }

  // Rank 0 tells the others, who would otherwise take it for the one that is gone.
  [[noreturn]] void fail(const Breakage& breakage) {
    if (rank() == 0) {
      MessageWriter told;
      told.add(int64_t{1}).add(breakage);
      for (const FileDescriptor& connection : connections_)
        if (connection.isOpen())
          sendFrame(connection, told.bytes(), SocketClock::now() + std::chrono::milliseconds(200));
    }
    raiseOf(breakage);
  }

  const TcpBootstrapOptions options_;
  std::vector<FileDescriptor> connections_;  // of rank 0: by rank; else one
};

// Of torchrun, which listens at $MASTER_PORT itself.
constexpr int64_t kPortsFromAgent = 1000;

int64_t portFromEnvironment() {
  if (isSet("TOKAMAK_BOOTSTRAP_PORT")) return numberFrom("TOKAMAK_BOOTSTRAP_PORT");
  const int64_t port = numberFrom("MASTER_PORT");
  const char* const agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  if (agent == nullptr || std::string_view(agent) != "True") return port;
  return port + kPortsFromAgent < 65536 ? port + kPortsFromAgent : port - kPortsFromAgent;
}

}  // namespace

TcpBootstrapOptions tcpBootstrapFromEnvironment() {
  const bool is_of_mpirun = isOfMpirun();
  TcpBootstrapOptions options;
  options.rank = numberFrom(is_of_mpirun ? kMpiRank : "RANK");
  options.size = numberFrom(is_of_mpirun ? kMpiSize : "WORLD_SIZE");
  options.address = addressOfFirst(options.size);
  if (!is_of_mpirun || isSet("TOKAMAK_BOOTSTRAP_PORT") || isSet("MASTER_PORT")) options.port = portFromEnvironment();
  return options;
}

int64_t localRankFromEnvironment(int64_t rank) {
  for (const char* variable : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"})
    if (isSet(variable)) return numberFrom(variable);
  return rank;
}

std::unique_ptr<Bootstrap> tcpBootstrap(const TcpBootstrapOptions& options) {
  TK_REQUIRE(options.rank >= 0 && options.rank < options.size, Usage,
             "bootstrap: rank {} of a job of {}; ranks are numbered from 0 on", options.rank, options.size);
  TK_REQUIRE(options.port > 0 && options.port < 65536, Usage, "bootstrap: port {}; legal are 1 to 65535", options.port);
  return std::make_unique<TcpBootstrap>(options);
}

}  // namespace tokamak
