#include "python/inside.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "jit/cpu_jit.h"
#include "python/compile_watch.h"
#include "python/profile.h"
#include "python/programs.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tokamak::python {

namespace {

nb::dict noteOf(const CodeNote& note) {
  nb::dict told;
  told["choice"] = note.choice;
  told["reason"] = note.reason;
  return told;
}

const char* originName(CodeFacts::Origin origin) {
  switch (origin) {
    case CodeFacts::Origin::Compiled: return "compiled";
    case CodeFacts::Origin::Disk: return "disk";
    case CodeFacts::Origin::Unknown: break;
  }
  return "unknown";
}

nb::dict kernelOf(const ExplainedKernel& kernel) {
  nb::dict parameters;
  for (const KernelNotes::Parameter& parameter : kernel.parameters) {
    const nb::object value =
        parameter.is_flag ? nb::object(nb::bool_(parameter.value != 0)) : nb::object(nb::int_(parameter.value));
    parameters[parameter.name.c_str()] = value;
  }
  nb::list codes;
  for (const CodeNote& note : kernel.all_codes) codes.append(noteOf(note));
  nb::dict told;
  told["name"] = kernel.name;
  told["choice"] = kernel.code.choice;
  told["reason"] = kernel.code.reason;
  told["parameters"] = parameters;
  told["codes"] = codes;
  told["grid"] = nb::make_tuple(kernel.grid[0], kernel.grid[1], kernel.grid[2]);
  told["block"] = nb::make_tuple(kernel.block[0], kernel.block[1], kernel.block[2]);
  told["shared_bytes"] = kernel.shared_bytes;
  told["workspace_bytes"] = kernel.workspace_bytes;
  told["origin"] = kernel.is_interpreted ? "interpreted" : originName(kernel.facts.origin);
  told["compile_seconds"] = kernel.facts.seconds;
  return told;
}

nb::dict segmentOf(const ExplainedSegment& segment) {
  nb::list kinds;
  for (const ExplainedKind& kind : segment.kinds) kinds.append(nb::make_tuple(kind.name, kind.reason));
  nb::list kernels;
  for (const ExplainedKernel& kernel : segment.kernels) kernels.append(kernelOf(kernel));
  nb::dict told;
  told["form"] = segment.form;
  told["ops"] = segment.ops;
  told["reads"] = segment.reads;
  told["gives"] = segment.gives;
  told["kinds"] = kinds;
  told["kernels"] = kernels;
  told["launches"] = segment.launches;
  told["bytes_read"] = segment.bytes_read;
  told["bytes_written"] = segment.bytes_written;
  told["flops"] = segment.arithmetic;
  return told;
}

nb::list worksOf(const Profile& profile) {
  nb::list rows;
  for (const auto& [key, totals] : profile.works())
    rows.append(
        nb::make_tuple(key.first, totals.calls, totals.total_ns, totals.least_ns, totals.most_ns, totals.bytes));
  return rows;
}

nb::list callsOf(const Profile& profile) {
  nb::list rows;
  for (const auto& [key, totals] : profile.calls())
    rows.append(nb::make_tuple(key.first, key.second, totals.calls, totals.total_ns, totals.work_ns));
  return rows;
}

}  // namespace

nb::dict toPython(const Explanation& explanation) {
  nb::dict sizes;
  for (const auto& [name, size] : explanation.sizes) sizes[name.c_str()] = size;
  nb::list segments;
  for (const ExplainedSegment& segment : explanation.segments) segments.append(segmentOf(segment));
  nb::list cuts;
  for (const ExplainedCut& cut : explanation.cuts) cuts.append(nb::make_tuple(cut.producer, cut.consumer, cut.reason));
  nb::dict told;
  told["name"] = explanation.name;
  told["sizes"] = sizes;
  told["segments"] = segments;
  told["cuts"] = cuts;
  tellPlan(explanation.plan, told);
  told["waits"] = explanation.waits;
  told["notes"] = explanation.notes;
  return told;
}

nb::list toPython(const std::vector<ProgramPicture>& pictures) {
  nb::list told;
  for (const ProgramPicture& each : pictures) told.append(nb::make_tuple(each.name, each.svg));
  return told;
}

nb::list toPython(const std::vector<NewCall>& calls) {
  nb::list told;
  for (const NewCall& each : calls) told.append(nb::make_tuple(each.what, each.reason, each.seconds));
  return told;
}

void bindInside(nb::module_& m) {
  m.def("forget_profiles_of_parent", &forgetProfilesOfParent);
  nb::class_<Profile>(m, "Profile")
      .def(nb::init<int64_t>(), "most_events"_a)
      .def("start", &Profile::start)
      .def("stop", &Profile::stop)
      .def("works", &worksOf)
      .def("calls", &callsOf)
      .def_prop_ro("dropped", &Profile::dropped)
      .def("trace_json", &Profile::traceJson)
      .def("picture", [](const Profile& it, const std::string& name, const std::string& id_prefix) {
        return it.picture(name, id_prefix);
      });
  m.def("watch_compilers", &watchCompilers, "told"_a.none());
  m.def("compile_counts", [] {
    const CompileCounts counts = kernelCompileCounts();
    return nb::make_tuple(counts.compiled, counts.from_disk);
  });
}

}  // namespace tokamak::python
