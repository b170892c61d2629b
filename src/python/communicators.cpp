#include "python/communicators.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "base/require.h"
#include "dist/open_communicator.h"
#include "dist/sockets/bootstrap.h"
#include "ir/ops/host/communication.h"
#include "jit/open_device.h"
#include "python/compile_watch.h"
#include "python/definition.h"
#include "python/shardings.h"
#include "python/unlocked.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tokamak::python {

namespace {

using Opened = std::shared_ptr<OpenedCommunicator>;

// More than any job takes, and what a clock can count.
constexpr double kMostSeconds = 1e9;

std::chrono::milliseconds timeoutOf(double seconds) {
  TK_REQUIRE(seconds > 0 && seconds <= kMostSeconds, Usage,
             "a time-out of {} s was asked for; it has to be positive, and at most {} s", seconds, kMostSeconds);
  constexpr double kMilliseconds = 1000;
  return std::max(std::chrono::milliseconds(1),
                  std::chrono::milliseconds(static_cast<int64_t>(seconds * kMilliseconds)));
}

nb::bytes bytesOf(std::span<const std::byte> bytes) { return nb::bytes(bytes.data(), bytes.size()); }

std::vector<std::byte> bytesFrom(nb::handle given) {
  const auto bytes = nb::cast<nb::bytes>(given);
  const auto* const data = static_cast<const std::byte*>(bytes.data());
  return {data, data + bytes.size()};
}

nb::list partsInPython(const std::vector<std::vector<std::byte>>& parts) {
  nb::list list;
  for (const std::vector<std::byte>& each : parts) list.append(bytesOf(each));
  return list;
}

// --- bootstraps ---

// Called without the interpreter's lock; what Python raises comes out of whoever calls it.
std::unique_ptr<Bootstrap> bootstrapOf(int64_t rank, int64_t size, nb::callable exchange) {
  return functionBootstrap(rank, size, [exchange = std::move(exchange)](std::span<const std::byte> own) {
    const Relocked relocked;
    TK_REQUIRE(bool(relocked), Cancelled, "bootstrap: the interpreter ends");
    std::vector<std::vector<std::byte>> parts;
    for (const nb::handle each : exchange(bytesOf(own))) parts.push_back(bytesFrom(each));
    return parts;
  });
}

std::unique_ptr<Bootstrap> environmentBootstrap(double timeout) {
  TcpBootstrapOptions options = tcpBootstrapFromEnvironment();
  options.timeout = timeoutOf(timeout);
  const Unlocked unlocked;
  return tcpBootstrap(options);
}

void bindBootstraps(nb::module_& m) {
  nb::class_<Bootstrap>(m, "Bootstrap")
      .def_prop_ro("rank", &Bootstrap::rank)
      .def_prop_ro("size", &Bootstrap::size)
      .def(
          "exchange",
          [](Bootstrap& it, const nb::bytes& own) {
            const std::vector<std::byte> given = bytesFrom(own);
            std::vector<std::vector<std::byte>> parts;
            {
              const Unlocked unlocked;
              parts = it.exchange(given);
            }
            return partsInPython(parts);
          },
          "own"_a);
  m.def("function_bootstrap", &bootstrapOf, "rank"_a, "size"_a, "exchange"_a);
  m.def("environment_bootstrap", &environmentBootstrap, "timeout"_a);
}

// --- communicators ---

std::vector<Opened> localCommunicators(const std::shared_ptr<OpenedDevice>& device, int64_t ranks, double timeout) {
  constexpr int64_t kMostRanks = 1024;
  TK_REQUIRE(0 < ranks && ranks <= kMostRanks, Usage, "{} ranks were asked for; 1 to {} are legal", ranks, kMostRanks);
  const std::vector<std::shared_ptr<Device>> devices(static_cast<size_t>(ranks), device->device);
  std::vector<Opened> opened;
  for (std::unique_ptr<Communicator>& each : openLocalCommunicators(devices, timeoutOf(timeout)))
    opened.push_back(std::make_shared<OpenedCommunicator>(device, std::move(each)));
  return opened;
}

Opened openedMpi(const std::shared_ptr<OpenedDevice>& device, double timeout) {
  std::unique_ptr<Communicator> communicator;
  {
    const Unlocked unlocked;
    communicator = openMpiCommunicator(device->device, timeoutOf(timeout));
  }
  return std::make_shared<OpenedCommunicator>(device, std::move(communicator));
}

using OpenBetweenGpus = std::unique_ptr<Communicator>(Bootstrap&, const std::shared_ptr<Device>&,
                                                      std::chrono::milliseconds);

template <OpenBetweenGpus open>
Opened openedBetweenGpus(Bootstrap& bootstrap, const std::shared_ptr<OpenedDevice>& device, double timeout) {
  std::unique_ptr<Communicator> communicator;
  {
    const Unlocked unlocked;
    communicator = open(bootstrap, device->device, timeoutOf(timeout));
  }
  return std::make_shared<OpenedCommunicator>(device, std::move(communicator));
}

nb::list exchanged(OpenedCommunicator& opened, const std::string& tag, const std::vector<int64_t>& ranks,
                   const nb::bytes& own) {
  const std::vector<std::byte> given = bytesFrom(own);
  std::vector<std::vector<std::byte>> parts;
  {
    const Unlocked unlocked;
    waitInterruptibly([](const std::exception_ptr&) {},
                      [&] { parts = opened.communicator->exchange(tag, ranks, given); });
  }
  return partsInPython(parts);
}

std::vector<int64_t> aliveOf(const OpenedCommunicator& opened) {
  std::vector<int64_t> all(static_cast<size_t>(opened.communicator->size()));
  std::iota(all.begin(), all.end(), int64_t{0});
  return opened.communicator->alive(all);
}

}  // namespace

void bindCommunicators(nb::module_& m) {
  bindBootstraps(m);
  nb::class_<OpenedCommunicator>(m, "Communicator")
      .def_prop_ro("rank", [](const OpenedCommunicator& it) { return it.communicator->rank(); })
      .def_prop_ro("size", [](const OpenedCommunicator& it) { return it.communicator->size(); })
      .def_prop_ro("device", [](const OpenedCommunicator& it) { return it.device; })
      .def_prop_ro("backend",
                   [](const OpenedCommunicator& it) { return std::string(enumName(it.communicator->backend())); })
      .def("exchange", &exchanged, "tag"_a, "ranks"_a, "own"_a)
      .def("alive", &aliveOf);
  m.def("local_communicators", &localCommunicators, "device"_a, "ranks"_a, "timeout"_a);
  m.def("mpi_communicator", &openedMpi, "device"_a, "timeout"_a);
  m.def("nccl_communicator", &openedBetweenGpus<openNcclCommunicator>, "bootstrap"_a, "device"_a, "timeout"_a);
  m.def("peer_communicator", &openedBetweenGpus<openPeerCommunicator>, "bootstrap"_a, "device"_a, "timeout"_a);
  m.def("local_rank", &localRankFromEnvironment, "rank"_a);
  m.def("gpu_count", &countCudaDevices);
  nb::class_<Shardings>(m, "Shardings")
      .def(
          "__init__",
          [](Shardings* made, const std::shared_ptr<Definition>& definition) {
            new (made) Shardings(*definition->sharedProgram());
          },
          "definition"_a)
      .def_prop_ro("inputs",
                   [](const Shardings& it) {
                     nb::list told;
                     for (const auto& each : it.inputs()) told.append(toldOf(each));
                     return told;
                   })
      .def_prop_ro("outputs",
                   [](const Shardings& it) {
                     nb::list told;
                     for (const auto& each : it.outputs()) told.append(toldOf(each));
                     return told;
                   })
      .def("input_parts", [](Shardings& it, const std::vector<std::optional<std::vector<int64_t>>>& sizes,
                             int64_t rank) { return it.inputParts(sizes, rank); });
  m.def("mesh_devices", [](const Definition& definition) { return meshDevicesOf(definition.program()); });
  m.def("part_of", [](Definition& definition, const Value& value, const std::vector<int64_t>& sizes, int64_t rank) {
    return partOfRank(*definition.scheduledTensor(value), sizes, rank);
  });
}

}  // namespace tokamak::python
