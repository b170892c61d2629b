// Ranks that are processes of a test: forked, watched, and killed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include <sys/types.h>

namespace tokamak {

/// Runs the body in a process of its own, which ends rightly where that gives true.
pid_t forkRank(const std::function<bool()>& body);
/// Whether the process ended by itself, and rightly, before the deadline; else it is killed.
bool endsRightly(pid_t child, std::chrono::steady_clock::time_point deadline);
/// A port where nobody listens, and that no connection gets by itself: those have ports of ip_local_port_range, which
/// may be another process's before the first rank listens.
int64_t freePort();

}  // namespace tokamak
