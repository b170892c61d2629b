// PrintedTensors: the tensors that --print names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/input_values.h"
#include "tools/run_report.h"

namespace tokamak::tools {

/// Outputs and inputs of a program and, of a fusion, any other tensor, which becomes an output of it: what is computed
/// within a kernel could not be seen. Inputs are shown as they were given.
class PrintedTensors {
 public:
  enum class Inner : uint8_t { Refuse, BecomeOutputs };

  /// Errors: Usage for a name that is no such tensor.
  PrintedTensors(Fusion& program, const std::vector<std::string>& names, Inner inner);

  /// Copies on the host of those that are inputs, by name: a program may update them.
  std::map<std::string, Tensor> copiesOf(const Fusion& program, const InputValues& inputs,
                                         const std::shared_ptr<Stream>& stream) const;
  /// Reports them in the order of the names. `outputs` are on the host.
  void report(const std::map<std::string, Tensor>& inputs, const std::vector<std::string>& names,
              const std::vector<Tensor>& outputs, RunReport& report) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace tokamak::tools
