// Meshes as text: "mesh(0, 1)", of two dimensions "mesh((0, 1), (2, 3))".
#pragma once

#include <string>

#include "ir/tensor_view.h"
#include "ir/text/lexer.h"

namespace tokamak {

/// The word before the ranks.
inline constexpr std::string_view kMeshWord = "mesh";

/// Reads "(0, 1)", what stands behind the word. Ranks may be any integers (analysis/device_mesh.h says what is legal).
/// Errors: Parse, also for rows that are not equally long and deep.
DeviceMesh parseMesh(TokenStream& tokens);

/// "mesh((0, 1), (2, 3))"; of a mesh that is not filled its ranks alone. Not of an empty one.
std::string printMesh(const DeviceMesh& mesh);

}  // namespace tokamak
