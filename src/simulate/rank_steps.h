// RankSteps: what one rank does of a plan, as the model needs it: tasks on streams, what each has to do, and its waits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/plan/plan.h"
#include "simulate/machine.h"
#include "simulate/model_device.h"

namespace tokamak {

/// A kernel, a fill, or communications that are one work.
struct RankTask {
  int32_t stream = 0;
  double issued = 0;                           ///< seconds of the host until it has issued the task
  std::vector<int32_t> after = {};             ///< earlier tasks of the rank that it waits for
  double bytes = 0;                            ///< of a kernel or fill: read and written in the device's memory
  double from_host = 0;                        ///< bytes that it reads in the host's memory
  double to_host = 0;                          ///< and writes there
  std::shared_ptr<const ModelWork> work = {};  ///< null: a fill
  std::string text = {};                       ///< the statement

  bool isCommunication() const { return work != nullptr && !work->group.empty(); }
};

struct RankSteps {
  std::vector<RankTask> tasks;
  std::vector<std::string> streams;  ///< "caller", "stream 1", "communication 2"
  int64_t peak_bytes = 0;            ///< of inputs, outputs and intermediates in the device's memory
};

/// `plan`: of a ModelDevice. Records and waits become what tasks wait for. Errors: none but of memory.
RankSteps rankSteps(const Plan& plan, const Machine& machine);

}  // namespace tokamak
