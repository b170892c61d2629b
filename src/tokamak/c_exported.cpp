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
  const auto names = [](const char* const* array, size_t count, const char* parameter, const char* element) {
    std::vector<std::string> texts;
    for (const char* text : arrayOf(array, count, parameter)) texts.emplace_back(&required(text, element));
    return texts;
  };
  if (given.processor_count > 0 || given.gpu_count > 0)
    options.processors = names(given.processors, given.processor_count, "options: processors", "options: a processor");
  options.gpus = names(given.gpus, given.gpu_count, "options: gpus", "options: a GPU");
  options.threads = given.threads;
  if (given.copies_views != 0) options.output_views = OutputViews::Copy;
  if (given.row_major != 0) options.output_layouts = OutputLayouts::RowMajor;
  return options;
}

}  // namespace

}  // namespace tokamak::c

using tokamak::exportProgram;
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
    file.keepToOwner();
    file.write(exportProgram(*required(fusion, "fusion").fusion, exported));
    file.finish();
  });
}
