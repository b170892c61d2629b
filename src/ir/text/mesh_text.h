// Meshes as text: "mesh(0, 1)", of two dimensions "mesh((0, 1), (2, 3))".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/tensor_view.h"
#include "ir/text/lexer.h"

namespace tokamak {

/// The word before the ranks.
inline constexpr std::string_view kMeshWord = "mesh";
/// "mesh(ranks)" is all ranks of the job, and the word is their number elsewhere in such a text.
inline constexpr std::string_view kRanksWord = "ranks";
inline constexpr int64_t kMostRanksOfText = 1024;

/// Gives the word its number in the rest of the text, if that has mesh(ranks); else it is a name like others.
/// Errors: Parse where it has, and the number is not known, or none of 1 to kMostRanksOfText.
void setRanks(TokenStream& tokens, std::optional<int64_t> ranks);

/// Reads "(0, 1)", what stands behind the word. Ranks may be any integers (analysis/device_mesh.h says what is legal).
/// Errors: Parse, also for rows that are not equally long and deep.
DeviceMesh parseMesh(TokenStream& tokens);

/// "mesh((0, 1), (2, 3))"; of a mesh that is not filled its ranks alone. Not of an empty one.
std::string printMesh(const DeviceMesh& mesh);

}  // namespace tokamak
