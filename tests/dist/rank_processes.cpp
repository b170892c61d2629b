#include "rank_processes.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <random>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "dist/sockets/socket.h"

namespace tokamak {

pid_t forkRank(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  bool is_right = false;
  try {
    is_right = body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  _exit(is_right ? 0 : 1);
}

bool endsRightly(pid_t child, std::chrono::steady_clock::time_point deadline) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int64_t freePort() {
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  int64_t first_of_range = 0;
  range >> first_of_range;
  const int64_t last = first_of_range > 12'000 && first_of_range < 32'768 ? first_of_range : 32'768;
  std::random_device random;
  std::uniform_int_distribution<int64_t> ports(10'000, last - 1);
  const auto isFree = [](int64_t port) {
    try {
      listenAt(port);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  int64_t port = ports(random);
  while (!isFree(port)) port = ports(random);
  return port;
}

}  // namespace tokamak
