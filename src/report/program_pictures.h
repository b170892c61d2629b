// Program pictures: the pictures of a fusion and of what becomes of it, for a page that somebody else makes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compile/argument.h"
#include "compile/compile_options.h"
#include "device/device.h"
#include "device/prepare_options.h"
#include "ir/fusion.h"

namespace tokamak {

struct ProgramPicture {
  std::string name;  ///< fusion, segments, host, plan or memory, as docs/pictures.md says
  std::string svg;   ///< an SVG file
};

/// The plan and its memory where there are inputs, of a call with such. Ids begin with `id_prefix`, so that pictures on
/// one page are apart. The fusion stays as it is. Errors: those of Program::outputLayouts().
std::vector<ProgramPicture> programPictures(const Fusion& fusion, Device& device, const CompileOptions& options,
                                            std::optional<std::span<const Argument>> inputs, std::string_view id_prefix,
                                            const PrepareOptions& prepare = {});

}  // namespace tokamak
