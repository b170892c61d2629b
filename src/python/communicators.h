// Communicators of Python: the ranks of a job, and what each has of tensors.
#pragma once

#include <memory>
#include <utility>

#include <nanobind/nanobind.h>

#include "dist/job_communicator.h"
#include "python/opened_device.h"

namespace tokamak::python {

/// A rank of a job. Programs that communicate through it keep it: the rank leaves when the last of them is gone.
/// Thread safety: as the communicator.
struct OpenedCommunicator : std::enable_shared_from_this<OpenedCommunicator> {
  OpenedCommunicator(std::shared_ptr<OpenedDevice> on, std::unique_ptr<Communicator> opened)
      : device(std::move(on)), communicator(std::move(opened)) {}

  const std::shared_ptr<OpenedDevice> device;
  const std::unique_ptr<Communicator> communicator;  ///< goes before its device
};

/// Communicator, Bootstrap, Shardings, and what makes them. The classes Definition and Device are bound.
void bindCommunicators(nanobind::module_& m);

}  // namespace tokamak::python
