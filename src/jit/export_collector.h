// ExportCollector: a device without memory that collects the kernels of a program for all sizes that it is exported
// for.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/planning_device.h"
#include "jit/exported_kernels.h"
#include "jit/kernel_library.h"

namespace tokamak {

/// A program is planned on it several times: first at sizes all over the ranges of its extents, which tells what
/// varies, then at the largest ones, for which kernels are made that fit all of them. Each kernel comes a second time,
/// for operands of any strides.
/// Thread safety: one thread at a time.
class ExportCollector final : public PlanningDevice {
 public:
  explicit ExportCollector(const KernelTarget& target);
  ~ExportCollector() override;

  /// What is planned now is looked at only, and what was looked at before is forgotten.
  void startSurvey();
  /// What is planned now becomes kernels. Errors of prepare(): Unsupported for an extent that has to be a constant and
  /// varies; as KernelExecutor.
  void startCollecting();
  std::shared_ptr<const Work> prepare(const WorkRequest& request) override;

  const std::vector<ExportedLaunch>& launches() const { return launches_; }
  const std::vector<ExportedCode>& codes() const { return codes_; }

 private:
  class SurveyedKernels;
  /// Of the values that the symbols of a program had in requests of one op or segment.
  using Ranges = std::vector<std::optional<SymbolRange>>;

  void find(std::string current, const WorkRequest& request);
  void findForProduct(const WorkRequest& request);
  void add(const std::string& program, const std::set<size_t>& extents, const Ranges& ranges,
           const std::shared_ptr<const BoundKernel>& bound);

  bool is_survey_ = true;
  std::string current_;  ///< the op or segment that is asked for: the same in all readings of one host program
  std::map<std::pair<std::string, std::string>, Ranges> surveyed_;  ///< by these, and digests of programs
  std::vector<bool> open_symbols_;                                  ///< of the launch that is bound
  KernelExecutorOptions options_;
  KernelLibrary library_;
  std::vector<ExportedLaunch> launches_;
  std::vector<ExportedCode> codes_;
  std::vector<std::shared_ptr<const KernelCode>> sources_;  ///< that the codes were made of
};

}  // namespace tokamak
