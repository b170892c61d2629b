#include "dist/sockets/socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/require.h"

namespace tokamak {

namespace {

// Whether the socket is ready for it before the deadline.
bool waitFor(const FileDescriptor& socket, short events, SocketClock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SocketClock::now()).count();
    pollfd asked = {.fd = socket.get(), .events = events, .revents = 0};
    const int ready = poll(&asked, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000)));
    if (ready > 0) return true;
    if (ready == 0 && left <= 0) return false;
    if (ready < 0 && errno != EINTR) return true;  // the call that follows says why
  }
}

void set(const FileDescriptor& socket, int level, int option, int value) {
  setsockopt(socket.get(), level, option, &value, sizeof(value));
}

// A host that is gone is noticed within 2 s, as a process is at once.
void prepareConnection(const FileDescriptor& socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 1);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 2000);
}

bool isForLater() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// One attempt.
std::optional<FileDescriptor> tryToConnect(const sockaddr_in& to, SocketClock::time_point deadline) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.isOpen()) return {};
  prepareConnection(socket);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0) return socket;
  if (errno != EINPROGRESS || !waitFor(socket, POLLOUT, deadline)) return {};
  int error = 0;
  socklen_t length = sizeof(error);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0) return {};
  return socket;
}

}  // namespace

FileDescriptor listenAt(int64_t port) {
  FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  set(listener, SOL_SOCKET, SO_REUSEADDR, 1);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool is_bound = bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
                        listen(listener.get(), SOMAXCONN) == 0;
  TK_REQUIRE(is_bound, Device, "ranks: nobody can listen at port {}: {}; $TOKAMAK_BOOTSTRAP_PORT names another one",
             port, std::strerror(errno));
  return listener;
}

int64_t portOf(const FileDescriptor& listener) {
  sockaddr_in address = {};
  socklen_t length = sizeof(address);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

std::optional<FileDescriptor> acceptUntil(const FileDescriptor& listener, SocketClock::time_point deadline) {
  while (waitFor(listener, POLLIN, deadline)) {
    FileDescriptor socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.isOpen()) continue;
    prepareConnection(socket);
    return socket;
  }
  return {};
}

std::optional<FileDescriptor> connectUntil(const std::string& address, int64_t port, SocketClock::time_point deadline) {
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.c_str(), nullptr, &hints, &found);
  TK_REQUIRE(error == 0, Device, "ranks: the address '{}' of a rank is unknown: {}", address, gai_strerror(error));
  sockaddr_in to = {};
  std::memcpy(&to, found->ai_addr, sizeof(to));
  freeaddrinfo(found);
  to.sin_port = htons(static_cast<uint16_t>(port));
  while (true) {  // who listens there may still have to start
    if (auto socket = tryToConnect(to, deadline)) return socket;
    if (SocketClock::now() >= deadline) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::vector<std::string> ownAddresses() {
  std::vector<std::string> addresses;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return addresses;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    sockaddr_in address = {};
    std::memcpy(&address, one->ifa_addr, sizeof(address));
    std::array<char, INET_ADDRSTRLEN> text = {};
    inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
    addresses.emplace_back(text.data());
  }
  freeifaddrs(all);
  return addresses;
}

SocketResult sendAll(const FileDescriptor& socket, std::span<const std::byte> bytes, SocketClock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
      continue;
    }
    if (!isForLater()) return SocketResult::Closed;
    if (!waitFor(socket, POLLOUT, deadline)) return SocketResult::TimedOut;
  }
  return SocketResult::Done;
}

SocketResult receiveAll(const FileDescriptor& socket, std::span<std::byte> bytes, SocketClock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t received = recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (received > 0) {
      bytes = bytes.subspan(static_cast<size_t>(received));
      continue;
    }
    if (received == 0 || !isForLater()) return SocketResult::Closed;
    if (!waitFor(socket, POLLIN, deadline)) return SocketResult::TimedOut;
  }
  return SocketResult::Done;
}

SocketResult sendFrame(const FileDescriptor& socket, std::span<const std::byte> bytes,
                       SocketClock::time_point deadline) {
  const uint64_t length = bytes.size();
  const SocketResult result = sendAll(socket, std::as_bytes(std::span(&length, 1)), deadline);
  return result == SocketResult::Done ? sendAll(socket, bytes, deadline) : result;
}

SocketResult receiveFrame(const FileDescriptor& socket, std::vector<std::byte>& bytes, size_t most,
                          SocketClock::time_point deadline) {
  uint64_t length = 0;
  const SocketResult result = receiveAll(socket, std::as_writable_bytes(std::span(&length, 1)), deadline);
  if (result != SocketResult::Done) return result;
  if (length > most) return SocketResult::Closed;
  bytes.resize(length);
  return receiveAll(socket, bytes, deadline);
}

}  // namespace tokamak
