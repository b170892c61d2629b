// RunReport: what `tokamak run` says about a run: lines for people, one JSON object for programs, or only what was
// asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "device/tensor.h"
#include "host/plan/plan.h"
#include "oracle/compare.h"

namespace tokamak::tools {

enum class ReportForm : uint8_t {
  Text,
  Quiet,  ///< values that --print asks for, and mismatches
  Json,
};

/// In milliseconds.
struct RunTimes {
  double compile = 0;  ///< or loading, of an exported program
  double first = 0;
  std::vector<double> later;
  bool is_loaded = false;
};

class RunReport {
 public:
  RunReport(ReportForm form, const std::string& program, const std::string& device);

  /// Tensors are on the host, their data ready.
  void output(const std::string& name, const Tensor& tensor);
  void values(const std::string& name, const Tensor& tensor);
  void check(const std::string& name, const oracle::Comparison& comparison);
  void plan(const PlanSummary& summary, const RunTimes& times);
  /// What the model chose, as lines.
  void chosen(const std::string& text);
  /// Of a run on ranks, whose plans are each rank's own.
  /// `what`: "processes".
  void ranks(int64_t ranks, std::string_view what, const RunTimes& times);
  void trace(const std::string& file, const std::string& source);
  /// A line for people.
  void line(const std::string& text) const;
  /// Prints the JSON object.
  void finish() const;

 private:
  void time(const RunTimes& times);

  ReportForm form_;
  nlohmann::ordered_json all_;
};

}  // namespace tokamak::tools
