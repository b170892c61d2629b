// The interface for C: exported programs.
#include <span>
#include <string>
#include <string_view>

#include "base/output_file.h"
#include "compile/exported_program.h"
#include "tokamak/c_objects.h"

namespace tokamak::c {

namespace {

template <class T>
std::span<const T> arrayOf(const T* values, size_t count, const char* parameter) {
  if (count > 0) required(values, parameter);
  TK_REQUIRE(count <= PTRDIFF_MAX / sizeof(T), Usage, "{}: {} elements were given; no array has as many", parameter,
             count);
  return {values, count};
}

std::pair<std::string, ExportedExtent> extentOf(const tokamak_export_size& given) {
  const std::span<const int64_t> sizes = arrayOf(given.sizes, given.count, "sizes: sizes");
  const std::string name = &required(given.name, "sizes: name");
  if (given.is_range == 0) return {name, ExportedExtent(std::vector<int64_t>(sizes.begin(), sizes.end()))};
  TK_REQUIRE(sizes.size() == 2, Usage, "sizes: the range of {} has {} numbers; it has two ends", name, sizes.size());
  return {name, ExportedExtent::range(sizes[0], sizes[1])};
}

ExportOptions exportOptionsOf(const tokamak_export_options& given) {
  ExportOptions options;
  if (given.processor_count > 0) {
    options.processors.clear();
    for (const char* processor : arrayOf(given.processors, given.processor_count, "options: processors"))
      options.processors.emplace_back(&required(processor, "options: a processor"));
  }
  options.threads = given.threads;
  if (given.copies_views != 0) options.output_views = OutputViews::Copy;
  if (given.row_major != 0) options.output_layouts = OutputLayouts::RowMajor;
  return options;
}

LoadOptions loadOptionsOf(const tokamak_load_options& given) {
  LoadOptions options;
  if (given.streams != 0) options.run.streams = given.streams;
  if (given.calls_in_flight != 0) options.run.calls_in_flight = given.calls_in_flight;
  if (given.most_plans != 0) options.run.most_plans = given.most_plans;
  if (given.most_plan_bytes != 0) options.run.most_plan_bytes = given.most_plan_bytes;
  options.trusts_any_owner = given.trusts_any_owner != 0;
  options.compiles = given.compiles != 0;
  return options;
}

}  // namespace

}  // namespace tokamak::c

using tokamak::exportProgram;
using tokamak::loadProgram;
using tokamak::OutputFile;
using tokamak::c::guarded;
using tokamak::c::required;

tokamak_error* tokamak_export(const tokamak_fusion* fusion, const tokamak_export_size* sizes, size_t size_count,
                              const tokamak_export_options* options, const char* path) {
  return guarded([&] {
    tokamak::ExportOptions exported = tokamak::c::exportOptionsOf(tokamak::c::known(options, "options"));
    for (const tokamak_export_size& size : tokamak::c::arrayOf(sizes, size_count, "sizes")) {
      const bool is_new = exported.sizes.insert(tokamak::c::extentOf(size)).second;
      TK_REQUIRE(is_new, Usage, "sizes: '{}' is given twice", size.name);
    }
    OutputFile file("export", &required(path, "path"));
    file.write(exportProgram(*required(fusion, "fusion").fusion, exported));
    file.finish();
  });
}

tokamak_error* tokamak_program_load(tokamak_device* device, const char* path, const tokamak_load_options* options,
                                    tokamak_program** program) {
  return guarded([&] {
    required(program, "program");
    *program = new tokamak_program(loadProgram(&required(path, "path"), *required(device, "device").device,
                                               tokamak::c::loadOptionsOf(tokamak::c::known(options, "options"))));
  });
}

tokamak_error* tokamak_program_load_bytes(tokamak_device* device, const void* bytes, size_t size, const char* name,
                                          const tokamak_load_options* options, tokamak_program** program) {
  return guarded([&] {
    required(program, "program");
    const std::span<const char> given = tokamak::c::arrayOf(static_cast<const char*>(bytes), size, "bytes");
    *program = new tokamak_program(loadProgram(std::string(given.data(), given.size()), &required(name, "name"),
                                               *required(device, "device").device,
                                               tokamak::c::loadOptionsOf(tokamak::c::known(options, "options"))));
  });
}
