#include "dist/sockets/rank_sockets.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/start_threads.h"
#include "base/text.h"
#include "dist/communication_request.h"
#include "dist/sockets/message.h"

namespace tokamak {

namespace {

constexpr size_t kHeader = sizeof(uint64_t);

// Of the running system and its network: ranks with the same one reach each other by the loopback.
std::string systemId() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  std::array<char, 64> network = {};
  const ssize_t length = readlink("/proc/self/ns/net", network.data(), network.size());
  return id + std::string(network.data(), length > 0 ? static_cast<size_t>(length) : 0);
}

int64_t randomToken() {
  std::random_device device;
  return static_cast<int64_t>((uint64_t{device()} << 32U) | device());
}

}  // namespace

RankSockets::RankSockets(Bootstrap& bootstrap, std::chrono::milliseconds timeout, Listener& listener)
    : rank_(bootstrap.rank()),
      timeout_(timeout),
      listener_(listener),
      peers_(static_cast<size_t>(bootstrap.size())),
      gone_(bootstrap.size()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  connectAll(bootstrap);
  thread_ = startThread("rank sockets", [this] { run(); });
}

RankSockets::~RankSockets() {
  if (!home_.isHere()) {
    abandonThread(thread_);
    return;
  }
  {
    std::unique_lock lock(mutex_);
    for (int64_t other = 0; other < size(); ++other)
      if (other != rank_) tellLocked(other, Kind::Left, {});
    const auto areToldAll = [this] {
      return std::ranges::all_of(peers_, [](const Peer& peer) { return !peer.is_open || peer.unsent.empty(); });
    };
    changed_.wait_for(lock, std::chrono::seconds(1), areToldAll);
    is_ending_ = true;
  }
  wake();
  thread_.join();
}

// A rank connects to all of lower numbers. Its card says where it listens, and a number that only its job knows.
void RankSockets::connectAll(Bootstrap& bootstrap) {
  const auto deadline = SocketClock::now() + timeout_;
  const FileDescriptor listener = listenAt(0);
  const int64_t token = randomToken();
  MessageWriter card;
  card.add(std::string_view(systemId())).add(portOf(listener)).add(token);
  card.add(std::string_view(joined(ownAddresses(), "\n")));
  const std::vector<std::vector<std::byte>> cards = bootstrap.exchange(card.bytes());
  for (int64_t other = 0; other < rank_; ++other)
    peers_[static_cast<size_t>(other)].socket = connectTo(other, cards[static_cast<size_t>(other)], deadline);
  acceptFrom(listener, token, deadline);
  peers_[static_cast<size_t>(rank_)].is_open = false;
}

FileDescriptor RankSockets::connectTo(int64_t rank, std::span<const std::byte> card,
                                      SocketClock::time_point deadline) const {
  MessageReader reader(card);
  const std::string system = reader.text();
  const int64_t port = reader.number();
  const int64_t token = reader.number();
  std::string addresses = reader.text();
  if (system == systemId()) addresses = "127.0.0.1";
  const std::vector<std::string_view> list = linesOf(addresses);
  for (size_t i = 0; i < list.size(); ++i) {
    // Of several addresses, those that do not answer take a share of the time.
    const auto now = SocketClock::now();
    const auto share = (deadline - now) / static_cast<int64_t>(list.size() - i);
    auto socket = connectUntil(std::string(list[i]), port, now + share);
    if (!socket) continue;
    MessageWriter hello;
    hello.add(token).add(rank_);
    if (sendFrame(*socket, hello.bytes(), deadline) == SocketResult::Done) return *std::move(socket);
  }
  raiseOf({CommunicationFault::TimedOut, rank,
           fmt::format("rank {} cannot reach rank {} at port {} of ({}) within {} ms", rank_, rank, port,
                       joined(list, " "), timeout_.count())});
}

void RankSockets::acceptFrom(const FileDescriptor& listener, int64_t token, SocketClock::time_point deadline) {
  for (int64_t missing = size() - 1 - rank_; missing > 0;) {
    auto socket = acceptUntil(listener, deadline);
    if (!socket) break;
    std::vector<std::byte> hello;
    if (receiveFrame(*socket, hello, 64, deadline) != SocketResult::Done) continue;
    MessageReader reader(hello);
    if (reader.number() != token) continue;  // none of this job
    const int64_t other = reader.number();
    if (other <= rank_ || other >= size() || peers_[static_cast<size_t>(other)].socket.isOpen()) continue;
    peers_[static_cast<size_t>(other)].socket = *std::move(socket);
    --missing;
  }
  for (int64_t other = rank_ + 1; other < size(); ++other)
    if (!peers_[static_cast<size_t>(other)].socket.isOpen())
      raiseOf({CommunicationFault::TimedOut, other,
               fmt::format("rank {} did not connect to rank {} within {} ms", other, rank_, timeout_.count())});
}

void RankSockets::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
}

void RankSockets::run() {
  std::vector<pollfd> asked(peers_.size() + 1);
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (is_ending_) return;
      for (size_t i = 0; i < peers_.size(); ++i) {
        const Peer& peer = peers_[i];
        const int events = POLLIN | (peer.unsent.empty() ? 0 : POLLOUT);
        asked[i] = {.fd = peer.is_open ? peer.socket.get() : -1, .events = static_cast<short>(events), .revents = 0};
      }
    }
    asked.back() = {.fd = wake_.get(), .events = POLLIN, .revents = 0};
    if (poll(asked.data(), asked.size(), -1) < 0) continue;
    uint64_t count = 0;
    if (asked.back().revents != 0) [[maybe_unused]]
      const ssize_t got = read(wake_.get(), &count, sizeof(count));
    for (size_t i = 0; i < peers_.size(); ++i) {
      if ((asked[i].revents & POLLOUT) != 0) {
        const std::lock_guard lock(mutex_);
        flush(peers_[i]);
        changed_.notify_all();
      }
      if ((asked[i].revents & ~POLLOUT) != 0) receiveFrom(static_cast<int64_t>(i));
    }
  }
}

// What has arrived; whole frames are handled.
void RankSockets::receiveFrom(int64_t rank) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  std::array<std::byte, 65536> part;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
  const ssize_t got = recv(peer.socket.get(), part.data(), part.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (got <= 0) return noteClosed(rank);
  std::vector<std::byte>& bytes = peer.received;
  bytes.insert(bytes.end(), part.begin(), part.begin() + got);
  size_t done = 0;
  while (bytes.size() - done >= kHeader) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + done, kHeader);
    if (bytes.size() - done - kHeader < length) break;
    handleFrame(rank, std::span(bytes).subspan(done + kHeader, length));
    done += kHeader + length;
  }
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(done));
}

void RankSockets::handleFrame(int64_t rank, std::span<const std::byte> frame) {
  const auto kind = static_cast<Kind>(frame[0]);
  frame = frame.subspan(1);
  if (kind == Kind::Message) return listener_.receive(rank, frame);
  const std::lock_guard lock(mutex_);
  Peer& peer = peers_[static_cast<size_t>(rank)];
  if (kind == Kind::Leaving) receiveLeaving(rank, frame);
  if (kind == Kind::Left) peer.has_left = true;
  if (kind == Kind::Exchange || kind == Kind::ExchangeBroken) receiveExchange(kind, rank, frame);
  changed_.notify_all();
}

// The sockets of the dead ones tell of their deaths, too, but maybe later, and behind what those said before.
void RankSockets::receiveLeaving(int64_t rank, std::span<const std::byte> frame) {
  const std::vector<int64_t> dead = MessageReader(frame).numbers();
  gone_.noteLeft(rank, dead);
}

void RankSockets::receiveExchange(Kind kind, int64_t rank, std::span<const std::byte> frame) {
  MessageReader reader(frame);
  ExchangesKey key = {reader.text(), {}};
  key.second = reader.numbers();
  const int64_t number = reader.number();
  Exchanges& all = exchanges_[key];
  if (number < all.next && !all.open.contains(number)) return;  // it is over here
  Exchange& exchange = all.open[number];
  exchange.given.resize(key.second.size());
  const int64_t position = positionOf(key.second, rank);
  if (kind == Kind::Exchange && position >= 0)
    exchange.given[static_cast<size_t>(position)] = reader.bytes();
  else if (!exchange.breakage)
    exchange.breakage = reader.breakage();
}

void RankSockets::noteClosed(int64_t rank) {
  bool is_death = false;
  {
    const std::lock_guard lock(mutex_);
    Peer& peer = peers_[static_cast<size_t>(rank)];
    peer.is_open = false;
    is_death = !peer.has_left;
    if (is_death) gone_.noteDeath(rank);
    changed_.notify_all();
  }
  if (is_death) listener_.noteDeath(rank);
}

void RankSockets::flush(Peer& peer) {
  size_t done = 0;
  while (done < peer.unsent.size()) {
    const ssize_t sent =
        send(peer.socket.get(), peer.unsent.data() + done, peer.unsent.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) done = peer.unsent.size();  // it is gone: nobody reads it
    if (sent <= 0) break;
    done += static_cast<size_t>(sent);
  }
  peer.unsent.erase(peer.unsent.begin(), peer.unsent.begin() + static_cast<std::ptrdiff_t>(done));
}

void RankSockets::tellLocked(int64_t rank, Kind kind, std::span<const std::byte> bytes) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  if (!peer.is_open) return;
  const uint64_t length = bytes.size() + 1;
  const auto header = std::as_bytes(std::span(&length, 1));
  peer.unsent.insert(peer.unsent.end(), header.begin(), header.end());
  peer.unsent.push_back(static_cast<std::byte>(kind));
  peer.unsent.insert(peer.unsent.end(), bytes.begin(), bytes.end());
  flush(peer);
  if (!peer.unsent.empty()) wake();  // the thread sends the rest
}

void RankSockets::tell(int64_t rank, std::span<const std::byte> message) {
  const std::lock_guard lock(mutex_);
  tellLocked(rank, Kind::Message, message);
}

void RankSockets::leave() {
  const std::lock_guard lock(mutex_);
  const std::vector<int64_t> dead = gone_.dead();
  MessageWriter message;
  message.add(std::span<const int64_t>(dead));
  for (int64_t other = 0; other < size(); ++other)
    if (other != rank_) tellLocked(other, Kind::Leaving, message.bytes());
}

std::vector<std::vector<std::byte>> RankSockets::exchange(std::string_view tag, std::span<const int64_t> ranks,
                                                          std::span<const std::byte> bytes) {
  const ExchangesKey key = {std::string(tag), {ranks.begin(), ranks.end()}};
  const auto deadline = SocketClock::now() + timeout_;
  std::unique_lock lock(mutex_);
  Exchanges& all = exchanges_[key];
  const int64_t number = all.next++;
  Exchange& here = all.open[number];
  here.given.resize(ranks.size());
  here.given[static_cast<size_t>(positionOf(ranks, rank_))].emplace(bytes.begin(), bytes.end());
  const auto tellOthers = [&](Kind kind, const auto& what) {
    MessageWriter message;
    message.add(tag).add(ranks).add(number).add(what);
    for (const int64_t rank : ranks)
      if (rank != rank_) tellLocked(rank, kind, message.bytes());
  };
  tellOthers(Kind::Exchange, bytes);
  const auto findMissing = [&] { return std::ranges::find_if(here.given, [](const auto& it) { return !it; }); };
  const auto isOver = [&] {
    if (here.breakage || findMissing() == here.given.end()) return true;
    // What somebody gave before he went is there already.
    std::vector<int64_t> missing;
    for (size_t i = 0; i < ranks.size(); ++i)
      if (!here.given[i]) missing.push_back(ranks[i]);
    here.breakage = gone_.why(missing, ranks);
    return here.breakage.has_value();
  };
  if (!changed_.wait_until(lock, deadline, isOver)) {
    const int64_t late = ranks[static_cast<size_t>(findMissing() - here.given.begin())];
    here.breakage = {CommunicationFault::TimedOut, late,
                     fmt::format("exchange \"{}\" of ranks ({}): rank {} did not come within {} ms", tag,
                                 joined(ranks, " "), late, timeout_.count())};
    tellOthers(Kind::ExchangeBroken, *here.breakage);
  }
  const Exchange over = std::move(here);
  all.open.erase(number);
  if (over.breakage) raiseOf(*over.breakage);
  std::vector<std::vector<std::byte>> theirs;
  for (const auto& given : over.given) theirs.push_back(*given);
  return theirs;
}

std::vector<int64_t> RankSockets::alive(std::span<const int64_t> ranks) const {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> alive;
  for (const int64_t rank : ranks)
    if (!gone_.isGone(rank)) alive.push_back(rank);
  return alive;
}

void RankSockets::requireHere(std::span<const int64_t> ranks) const {
  const std::lock_guard lock(mutex_);
  if (const auto reason = gone_.why(ranks, ranks)) raiseOf(*reason);
}

void RankSockets::noteGone(CommunicationFault fault, int64_t rank) {
  const std::lock_guard lock(mutex_);
  if (!gone_.isGone(rank) && fault == CommunicationFault::Left) gone_.noteLeft(rank, {});
  if (!gone_.isGone(rank)) gone_.noteDeath(rank);
  changed_.notify_all();
}

bool RankSockets::isDead(int64_t rank) const {
  const std::lock_guard lock(mutex_);
  return !peers_[static_cast<size_t>(rank)].is_open && rank != rank_;
}

}  // namespace tokamak
