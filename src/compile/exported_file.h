// ExportedFile: what the file of an exported program holds, and its bytes (docs/exported_programs.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compile/export_options.h"
#include "compile/interface_names.h"
#include "device/kernel_target.h"
#include "symbolic/data_type.h"

namespace tokamak {

/// The version of the file's form; files of later ones are refused.
inline constexpr int64_t kExportFormat = 1;

/// Code for one processor or GPU.
struct ExportedTarget {
  std::string name;  ///< "x86-64-v3"; its entries stand below this folder
  TargetKind kind = TargetKind::Cpu;
  std::string needs;                  ///< features of a processor, or a GPU's architecture
  std::vector<std::string> symbols;   ///< symbolNamesOf() the host program
  std::vector<DataType> index_types;  ///< per kernel
  std::string_view host_program;
  std::string_view launches;
  std::vector<std::string_view> kernels;  ///< kernel IR
  std::vector<std::string_view> images;
};

/// Texts and images are views: into the file's bytes, or what the exporter has.
struct ExportedFile {
  std::string version;  ///< of the library that made it
  InterfaceNames names;
  std::map<std::string, ExportedExtent> sizes;      ///< by names of extents
  std::vector<size_t> given;                        ///< numbers of the outputs that calls give
  std::vector<std::pair<size_t, size_t>> in_place;  ///< hidden outputs, and which input tensors they are
  std::vector<ExportedTarget> targets;
};

/// For people: "m = 128 or 4096, n = 1..65536".
std::string textOf(const std::map<std::string, ExportedExtent>& sizes);

/// Whether bytes may be those of an exported program, whole or not: they begin like one.
bool beginsLikeExportedFile(std::string_view bytes);

std::string writeExportedFile(const ExportedFile& file);

/// `path`: in messages. Errors: Io for bytes that are damaged or no such file; Unsupported for a later version.
ExportedFile readExportedFile(std::string_view bytes, std::string_view path);

}  // namespace tokamak
