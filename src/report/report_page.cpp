#include "report/report_page.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "ir/text/fusion_printer.h"
#include "report/fusion_picture.h"
#include "report/host_picture.h"
#include "report/html_page.h"
#include "report/op_cards.h"
#include "report/plan_picture.h"
#include "report/segments.h"
#include "report/segments_picture.h"
#include "report/timeline_picture.h"

namespace tokamak {

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string tensorNames(std::span<Val* const> values, const FusionNames& names) {
  std::vector<std::string> result;
  for (const TensorView* tensor : tensorsOf(values)) result.push_back(names.nameOf(*tensor));
  return joined(result);
}

void addOverview(HtmlPage& page, const ReportParts& parts) {
  const PlanSummary& summary = parts.plan->summary();
  std::vector<std::string> sizes;
  for (const auto& [name, size] : parts.sizes) sizes.push_back(fmt::format("{} = {}", name, size));
  page.section("Overview");
  page.table({{"what", "value"},
              {"sizes", sizes.empty() ? "none are open" : joined(sizes)},
              {"ops", fmt::format("{}", parts.fusion->exprs().size())},
              {"segments", fmt::format("{}", parts.segments->topLevel().exprs.size())},
              {"kernels made", fmt::format("{}", parts.record->kernels().size())},
              {"plan", fmt::format("{} on {}, {} waits kept of {}", counted(static_cast<size_t>(summary.steps), "step"),
                                   counted(static_cast<size_t>(summary.streams), "stream"), summary.waits_kept,
                                   summary.waits_written)},
              {"memory", fmt::format("{} bytes of intermediates, {} bytes of outputs", summary.arena_bytes,
                                     summary.output_bytes)},
              {"ran on", parts.device},
              {"made by", parts.maker}});
}

void addFusion(HtmlPage& page, const ReportParts& parts) {
  page.section("The fusion");
  page.paragraph("Ops and tensors as they are written: inputs above, outputs below. Pointing at an op shows its line.");
  page.picture(fusionPicture(*parts.fusion, "fusion-"));
  page.listing("The text of the fusion", printFusion(*parts.fusion));
}

void addSegments(HtmlPage& page, const ReportParts& parts) {
  page.section("Segments");
  page.paragraph(
      "After the graph passes, cut into kernels and library calls. What stands between two frames goes "
      "through memory; the text in it says why.");
  page.picture(segmentsPicture(*parts.segments, parts.target, "segments-"));
  const std::vector<Segment> segments = segmentsOf(*parts.segments);
  const FusionNames names(*parts.segments);
  Rows rows = {{"segment", "what", "reads", "gives"}};
  Rows cuts = {{"from", "to", "why they are apart"}};
  for (size_t i = 0; i < segments.size(); ++i) {
    const Expr& statement = *segments[i].statement;
    rows.push_back({fmt::format("{}", i), segments[i].form, tensorNames(statement.inputs(), names),
                    tensorNames(statement.outputs(), names)});
    for (size_t j = i + 1; j < segments.size(); ++j) {
      const auto inputs = segments[j].statement->inputs();
      const bool is_read = std::ranges::any_of(
          statement.outputs(), [&](const Val* output) { return std::ranges::find(inputs, output) != inputs.end(); });
      if (!is_read) continue;
      cuts.push_back({fmt::format("{}", i), fmt::format("{}", j),
                      whyCut(*parts.segments, segments[i], segments[j], parts.target)});
    }
  }
  page.table(rows);
  if (cuts.size() > 1) page.table(cuts);
  page.listing("The segments as text", parts.segments_text);
}

void addKernel(HtmlPage& page, size_t number, const KernelTexts& kernel, std::string_view language,
               const std::string& launch) {
  page.beginFold(fmt::format("kernel {} of {}{}", number, kernel.name, launch.empty() ? "" : ": " + launch),
                 HtmlPage::Fold::Closed);
  if (!kernel.choice.empty()) page.paragraph("Made for " + kernel.choice + ".");
  page.listing("Schedule", kernel.schedule);
  if (!kernel.ir.empty()) page.listing("Kernel IR", kernel.ir);
  if (!kernel.source.empty()) page.listing(fmt::format("{} source", language), kernel.source, HtmlPage::Fold::Open);
  page.endFold();
}

void addKernels(HtmlPage& page, const ReportParts& parts) {
  page.section("Kernels of the processor");
  const std::vector<KernelTexts> kernels = parts.record->kernels();
  const std::string reason = parts.record->reasonForNoKernels();
  if (!reason.empty()) page.paragraph(fmt::format("There are none: {}.", reason));
  if (reason.empty() && kernels.empty()) page.paragraph("There are none: all is done by library calls.");
  for (size_t i = 0; i < kernels.size(); ++i) addKernel(page, i, kernels[i], "C", "");
  page.section("Kernels of a GPU");
  if (!parts.why_no_cuda.empty()) page.paragraph(fmt::format("There are none: {}", parts.why_no_cuda));
  if (parts.why_no_cuda.empty() && parts.cuda_kernels.empty())
    page.paragraph("There are none: all is done by library calls.");
  if (!parts.cuda_kernels.empty())
    page.paragraph("Made for an NVIDIA GPU of compute capability 9.0, with or without one.");
  for (size_t i = 0; i < parts.cuda_kernels.size(); ++i)
    addKernel(page, i, parts.cuda_kernels[i].texts, "CUDA", parts.cuda_kernels[i].launch);
}

void addMemory(HtmlPage& page, const ReportParts& parts) {
  page.section("Memory over time");
  page.paragraph(
      "Bytes of intermediates that are allocated after each step. Work on several streams may need what "
      "the plan holds at one time.");
  page.picture(memoryPicture(*parts.plan, parts.program->name(), "memory-"));
  std::map<std::string, std::pair<int64_t, int64_t>> by_name;  // largest bytes, how often
  for (const StepBuffer& buffer : parts.plan->recorded().buffers) {
    if (buffer.origin != StepBuffer::Origin::Intermediate) continue;
    auto& [bytes, count] = by_name[buffer.name];
    bytes = std::max(bytes, buffer.bytes);
    ++count;
  }
  Rows rows = {{"intermediate", "bytes, the largest", "how often it is allocated"}};
  for (const auto& [name, facts] : by_name)
    rows.push_back({name, fmt::format("{}", facts.first), fmt::format("{}", facts.second)});
  if (rows.size() > 1) page.table(rows);
}

void addTimeline(HtmlPage& page, const ReportParts& parts) {
  page.section("Timeline of a run");
  page.paragraph(
      "The second run of the program on this machine; the first one waits for compilers. Pointing at a bar "
      "shows its time.");
  page.picture(timelinePicture(*parts.record, parts.program->name(), "timeline-"));
}

}  // namespace

std::string reportPage(const ReportParts& parts) {
  HtmlPage page(parts.fusion->name());
  addOverview(page, parts);
  addFusion(page, parts);
  addSegments(page, parts);
  addKernels(page, parts);
  page.section("The host program");
  page.paragraph("Statements in the lanes of the streams that they are enqueued on; the same for all sizes.");
  page.picture(hostPicture(*parts.program, "host-"));
  page.listing("The text of the host program", parts.host_text);
  page.section("The plan");
  page.paragraph("What is enqueued at these sizes. Steps on one height may run side by side.");
  page.picture(planPicture(*parts.plan, parts.program->name(), "plan-"));
  page.listing("The plan as text", parts.plan->toString());
  addMemory(page, parts);
  addTimeline(page, parts);
  return page.finish();
}

}  // namespace tokamak
