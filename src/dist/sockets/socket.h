// Sockets: TCP connections between ranks, whose every wait ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "toolchain/file_descriptor.h"

namespace tokamak {

using SocketClock = std::chrono::steady_clock;

/// Listens on all interfaces. A port of 0 is one that the system chooses. Errors: Device, naming the port.
FileDescriptor listenAt(int64_t port);
int64_t portOf(const FileDescriptor& listener);
/// The next who connects; nothing when nobody did until then.
std::optional<FileDescriptor> acceptUntil(const FileDescriptor& listener, SocketClock::time_point deadline);
/// A connection to a name or number; nothing when nobody listened there until then. Errors: Device for a name that
/// nobody knows.
std::optional<FileDescriptor> connectUntil(const std::string& address, int64_t port, SocketClock::time_point deadline);
/// This machine's addresses that others may reach it by, without the loopback.
std::vector<std::string> ownAddresses();

enum class SocketResult : uint8_t { Done, Closed, TimedOut };
SocketResult sendAll(const FileDescriptor& socket, std::span<const std::byte> bytes, SocketClock::time_point deadline);
SocketResult receiveAll(const FileDescriptor& socket, std::span<std::byte> bytes, SocketClock::time_point deadline);
/// Bytes behind their length. A frame of more than `most` bytes counts as closed: it is none of ours.
SocketResult sendFrame(const FileDescriptor& socket, std::span<const std::byte> bytes,
                       SocketClock::time_point deadline);
SocketResult receiveFrame(const FileDescriptor& socket, std::vector<std::byte>& bytes, size_t most,
                          SocketClock::time_point deadline);

}  // namespace tokamak
