#include "tools/run_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "tools/tensor_report.h"

namespace tokamak::tools {

namespace {

using Json = nlohmann::ordered_json;

std::string typeText(const Tensor& tensor) {
  return fmt::format("{}[{}]", dataTypeName(tensor.dtype()), joined(tensor.sizes()));
}

Json headOf(const std::string& name, const Tensor& tensor) {
  return {{"name", name},
          {"type", dataTypeName(tensor.dtype())},
          {"shape", std::vector<int64_t>(tensor.sizes().begin(), tensor.sizes().end())}};
}

std::string optionalText(const std::optional<double>& number) { return number ? numberText(*number) : "none"; }

Json numberJson(const std::optional<double>& number) {
  if (!number) return nullptr;
  return std::isfinite(*number) ? Json(*number) : Json(numberText(*number));
}

double medianOf(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

RunReport::RunReport(ReportForm form, const std::string& program, const std::string& device)
    : form_(form), all_({{"program", program}, {"device", device}, {"outputs", Json::array()}}) {}

void RunReport::output(const std::string& name, const Tensor& tensor) {
  const std::string checksum = fmt::format("{:016x}", checksumOf(tensor));
  line(fmt::format("{}: {} checksum {}", name, typeText(tensor), checksum));
  Json entry = headOf(name, tensor);
  entry["checksum"] = checksum;
  all_["outputs"].push_back(std::move(entry));
}

void RunReport::values(const std::string& name, const Tensor& tensor) {
  const TensorStatistics statistics = statisticsOf(tensor);
  if (form_ != ReportForm::Json) {
    fmt::print("{}: {} =\n{}\n", name, typeText(tensor), valuesText(tensor));
    fmt::print("  min {}, max {}, mean {}, NaN {}\n", optionalText(statistics.min), optionalText(statistics.max),
               optionalText(statistics.mean), statistics.nans);
    return;
  }
  Json entry = headOf(name, tensor);
  entry["min"] = numberJson(statistics.min);
  entry["max"] = numberJson(statistics.max);
  entry["mean"] = numberJson(statistics.mean);
  entry["nan"] = statistics.nans;
  entry["values"] = valuesJson(tensor);
  all_["printed"].push_back(std::move(entry));
}

void RunReport::check(const std::string& name, const oracle::Comparison& comparison) {
  const bool is_ok = comparison.isOk();
  const bool is_told = form_ == ReportForm::Text || (form_ == ReportForm::Quiet && !is_ok);
  if (is_told) fmt::print("check {}: {}\n  {}\n", name, is_ok ? "ok" : "MISMATCH", toString(comparison));
  all_["checks"].push_back(
      {{"name", name}, {"ok", is_ok}, {"elements", comparison.count}, {"text", toString(comparison)}});
}

void RunReport::plan(const PlanSummary& summary, const RunTimes& times) {
  line(fmt::format(
      "plan: {} steps on {} streams, {} waits kept of {} written, peak {} bytes ({} intermediates + {} outputs)",
      summary.steps, summary.streams, summary.waits_kept, summary.waits_written, summary.peakBytes(),
      summary.arena_bytes, summary.output_bytes));
  all_["plan"] = {{"steps", summary.steps},
                  {"streams", summary.streams},
                  {"waits_kept", summary.waits_kept},
                  {"waits_written", summary.waits_written},
                  {"intermediate_bytes", summary.arena_bytes},
                  {"output_bytes", summary.output_bytes}};
  time(times);
}

void RunReport::chosen(const std::string& text) {
  line(text);
  all_["chosen"] = text;
}

void RunReport::ranks(int64_t ranks, std::string_view what, const RunTimes& times) {
  line(fmt::format("ranks: {} {}", ranks, what));
  all_["ranks"] = ranks;
  time(times);
}

void RunReport::time(const RunTimes& times) {
  std::string text = fmt::format("time: {} {:.2f} ms, first run {:.2f} ms", times.is_loaded ? "load" : "compile",
                                 times.compile, times.first);
  all_["time"] = {{times.is_loaded ? "load_ms" : "compile_ms", times.compile}, {"first_run_ms", times.first}};
  if (!times.later.empty()) {
    const double median = medianOf(times.later);
    text += fmt::format(", median of {} more {:.3f} ms", times.later.size(), median);
    all_["time"]["later_runs"] = times.later.size();
    all_["time"]["median_ms"] = median;
  }
  line(text);
}

void RunReport::trace(const std::string& file, const std::string& source) {
  line(fmt::format("trace: {}{}", file, source.empty() ? "" : ", times by " + source));
  all_["trace"] = file;
}

void RunReport::line(const std::string& text) const {
  if (form_ == ReportForm::Text) fmt::print("{}\n", text);
}

void RunReport::finish() const {
  if (form_ == ReportForm::Json) fmt::print("{}\n", all_.dump());
}

}  // namespace tokamak::tools
