#include "tools/draw_command.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "base/output_file.h"
#include "base/require.h"
#include "base/text.h"
#include "compile/lower_fusion.h"
#include "host/run/host_ir_evaluator.h"
#include "jit/open_device.h"
#include "report/fusion_picture.h"
#include "report/host_picture.h"
#include "report/plan_picture.h"
#include "report/segments_picture.h"
#include "tools/error_place.h"
#include "tools/input_values.h"
#include "tools/lowering_options.h"
#include "tools/output_places.h"
#include "tools/program_file.h"
#include "tools/size_errors.h"

namespace tokamak::tools {

namespace {

// From a picture's name to the file that it goes to.
std::map<std::string, std::string> readPictures(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> pictures = readAssignments("--svg", texts);
  const std::vector<std::string> known = pictureNames();
  std::map<std::string, std::string> places;
  for (const auto& [name, path] : pictures) {
    TK_REQUIRE(std::ranges::find(known, name) != known.end(), Usage,
               "--svg {}={}: there is no such picture; it must be one of {}", name, path, joined(known));
    const auto [first, is_new] = places.emplace(path, name);
    TK_REQUIRE(is_new, Usage, "--svg {}={}: picture {} goes there as well; give each a place of its own", name, path,
               first->second);
    if (path != "-") OutputFile::requireWritable("--svg " + name, path);
  }
  return pictures;
}

// An option that nothing can come of is a mistake.
void requireUseOfOptions(const DrawOptions& options, const std::map<std::string, std::string>& pictures) {
  const bool has_plan = pictures.contains("plan") || pictures.contains("memory");
  for (const char* option : {"--size", "--streams"}) {
    TK_REQUIRE(has_plan || !options.written.contains(option), Usage,
               "{}: it has no effect, as only plan and memory depend on it; leave it out, or draw one of these",
               option);
  }
  const bool is_fusion_alone = pictures.size() == 1 && pictures.contains("fusion");
  TK_REQUIRE(!is_fusion_alone || !options.written.contains("--grouping"), Usage,
             "--grouping: it has no effect, as fusion shows ops before they are grouped; leave it out");
}

// Draws pictures of one file; what several of them need is made once.
class Pictures {
 public:
  Pictures(ProgramFile& file, const DrawOptions& options) : file_(file), options_(options) {
    lowering_.grouping = groupingNamed(options.grouping);
  }

  std::string draw(const std::string& name) {
    if (name == "fusion") return fusionPicture(fusionFor(name));
    if (name == "segments") {
      const std::unique_ptr<HostIrContainer> segments = makeHostProgram(fusionFor(name), lowering_);
      return segmentsPicture(*segments, lowering_.target.value_or(cpuTarget()));
    }
    if (name == "host") return hostPicture(program());
    return name == "plan" ? planPicture(plan(), program().name()) : memoryPicture(plan(), program().name());
  }

 private:
  const Fusion& fusionFor(const std::string& name) const {
    TK_REQUIRE(file_.fusion != nullptr, Usage, "--svg {}: {} holds a host program; only host, plan and memory show it",
               name, options_.file);
    return *file_.fusion;
  }

  const HostIrContainer& program() {
    if (evaluator_ != nullptr) return evaluator_->program();
    if (program_ != nullptr) return *program_;
    if (file_.fusion != nullptr) {
      program_ = lowerToHostProgram(*file_.fusion, lowering_);
    } else {
      program_ = std::move(file_.host_program);
      finishHostProgram(*program_, lowering_);
    }
    return *program_;
  }

  // At the sizes of the command line. Kernels are lowered and not compiled: nothing runs.
  const Plan& plan() {
    if (plan_ != nullptr) return *plan_;
    program();
    const ScalarBindings bindings = givenExtents(*program_, options_.sizes);
    device_ = openCpuDevice({.runner = KernelRunner::Interpreted, .target = cpuTarget(1)});
    const std::shared_ptr<Stream> stream = device_->createStream();
    const auto values = boundValues(*program_, emptyInputs(*program_, bindings, *device_, stream), bindings);
    HostIrEvaluatorParams params;
    params.number_of_streams = options_.streams;
    params.segments = segmentModeOf(options_.grouping);
    evaluator_ = std::make_unique<HostIrEvaluator>(std::move(program_), *device_, params);
    plan_ = &withOwnSizeErrors(file_, bindings, [&]() -> Plan& { return evaluator_->planFor(values); });
    return *plan_;
  }

  ProgramFile& file_;
  const DrawOptions& options_;
  HostLoweringOptions lowering_;
  std::unique_ptr<HostIrContainer> program_;  // until the evaluator has it
  std::shared_ptr<Device> device_;
  std::unique_ptr<HostIrEvaluator> evaluator_;
  const Plan* plan_ = nullptr;
};

}  // namespace

std::vector<std::string> pictureNames() { return {"fusion", "segments", "host", "plan", "memory"}; }

int drawCommand(const DrawOptions& options) {
  const std::map<std::string, std::string> wanted = readPictures(options.pictures);
  requireUseOfOptions(options, wanted);
  ProgramFile file = readProgram(options.file);
  try {
    Pictures pictures(file, options);
    for (const auto& [name, path] : wanted) writeText("--svg " + name, path, pictures.draw(name));
  } catch (const Error& error) {
    throw withPlace(error, file);
  }
  return 0;
}

}  // namespace tokamak::tools
