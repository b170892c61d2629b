// The interface for C: the ranks of a job.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dist/open_communicator.h"
#include "dist/sockets/bootstrap.h"
#include "tokamak/c_objects.h"

namespace tokamak::c {

namespace {

std::chrono::milliseconds timeoutOf(int64_t timeout) {
  TK_REQUIRE(timeout >= 0, Usage, "timeout: {} ms; it is positive, or 0 for {} ms", timeout,
             kCommunicationTimeout.count());
  return timeout == 0 ? kCommunicationTimeout : std::chrono::milliseconds(timeout);
}

using Parts = std::vector<std::optional<std::vector<std::byte>>>;

// (A rank that there is not is dropped: it is missed among the others.)
extern "C" void takePart(void* sink, int64_t rank, const void* bytes, size_t size) noexcept {
  Parts& parts = *static_cast<Parts*>(sink);
  if (rank < 0 || rank >= std::ssize(parts)) return;
  const auto* const data = static_cast<const std::byte*>(bytes);
  parts[static_cast<size_t>(rank)].emplace(data, data + size);
}

std::vector<std::vector<std::byte>> exchanged(const tokamak_bootstrap& given, std::span<const std::byte> own) {
  Parts parts(static_cast<size_t>(given.size));
  const int code = given.exchange(given.context, own.data(), own.size(), &parts, &takePart);
  TK_REQUIRE(code == 0, Device, "bootstrap: exchange() of rank {} has failed with {}", given.rank, code);
  std::vector<std::vector<std::byte>> whole;
  for (std::optional<std::vector<std::byte>>& part : parts) {
    TK_REQUIRE(part.has_value(), Usage, "bootstrap: exchange() of rank {} gave nothing of rank {}", given.rank,
               whole.size());
    whole.push_back(*std::move(part));
  }
  return whole;
}

std::unique_ptr<Bootstrap> bootstrapOf(const tokamak_bootstrap* bootstrap, std::chrono::milliseconds timeout) {
  if (bootstrap == nullptr) {
    TcpBootstrapOptions options = tcpBootstrapFromEnvironment();
    options.timeout = timeout;
    return tcpBootstrap(options);
  }
  const auto given = known(bootstrap, "bootstrap");
  required(given.exchange, "bootstrap: exchange");
  return functionBootstrap(given.rank, given.size,
                           [given](std::span<const std::byte> own) { return exchanged(given, own); });
}

using OpenBetweenGpus = std::unique_ptr<Communicator>(Bootstrap&, const std::shared_ptr<Device>&,
                                                      std::chrono::milliseconds);

tokamak_error* openBetweenGpus(OpenBetweenGpus& open, tokamak_device* device, const tokamak_bootstrap* bootstrap,
                               int64_t timeout, tokamak_communicator** communicator) {
  return guarded([&] {
    required(communicator, "communicator");
    const std::shared_ptr<Device>& own = required(device, "device").device;
    const std::chrono::milliseconds wait = timeoutOf(timeout);
    const std::unique_ptr<Bootstrap> meeting = bootstrapOf(bootstrap, wait);
    *communicator = new tokamak_communicator{open(*meeting, own, wait)};
  });
}

}  // namespace

}  // namespace tokamak::c

namespace c = tokamak::c;
using tokamak::Communicator;
using tokamak::Device;
using tokamak::openLocalCommunicators;
using tokamak::openMpiCommunicator;
using tokamak::openNcclCommunicator;
using tokamak::openPeerCommunicator;
using tokamak::c::guarded;
using tokamak::c::required;

tokamak_error* tokamak_communicator_open_local(tokamak_device* const* devices, size_t count, int64_t timeout,
                                               tokamak_communicator** communicators) {
  return guarded([&] {
    required(communicators, "communicators");
    std::vector<std::shared_ptr<Device>> opened;
    if (count > 0) required(devices, "devices");
    for (size_t i = 0; i < count; ++i) opened.push_back(required(devices[i], "devices: a device").device);
    std::vector<std::unique_ptr<tokamak_communicator>> made;
    for (std::unique_ptr<Communicator>& each : openLocalCommunicators(opened, c::timeoutOf(timeout)))
      made.push_back(std::make_unique<tokamak_communicator>(tokamak_communicator{std::move(each)}));
    for (size_t i = 0; i < count; ++i) communicators[i] = made[i].release();
  });
}

tokamak_error* tokamak_communicator_open_mpi(tokamak_device* device, int64_t timeout,
                                             tokamak_communicator** communicator) {
  return guarded([&] {
    required(communicator, "communicator");
    const std::shared_ptr<Device>& own = required(device, "device").device;
    *communicator = new tokamak_communicator{openMpiCommunicator(own, c::timeoutOf(timeout))};
  });
}

tokamak_error* tokamak_communicator_open_nccl(tokamak_device* device, const tokamak_bootstrap* bootstrap,
                                              int64_t timeout, tokamak_communicator** communicator) {
  return c::openBetweenGpus(openNcclCommunicator, device, bootstrap, timeout, communicator);
}

tokamak_error* tokamak_communicator_open_peer(tokamak_device* device, const tokamak_bootstrap* bootstrap,
                                              int64_t timeout, tokamak_communicator** communicator) {
  return c::openBetweenGpus(openPeerCommunicator, device, bootstrap, timeout, communicator);
}

int64_t tokamak_communicator_rank(const tokamak_communicator* communicator) {
  return communicator->communicator->rank();
}

int64_t tokamak_communicator_size(const tokamak_communicator* communicator) {
  return communicator->communicator->size();
}

void tokamak_communicator_free(tokamak_communicator* communicator) { delete communicator; }
