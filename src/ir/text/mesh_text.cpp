#include "ir/text/mesh_text.h"

#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace tokamak {

namespace {

// Whether all ranks of the job are a row: the word (it may be an integer by now), and nothing behind it.
bool atAllRanks(const TokenStream& tokens) { return tokens.peek().text == kRanksWord && tokens.peek(1).is(")"); }

void parseRow(TokenStream& tokens, DeviceMesh& mesh, size_t dimension) {
  constexpr size_t kMostDimensions = 8;
  const Token& open = tokens.expect("(");
  if (dimension >= kMostDimensions) tokens.fail(open, "a mesh has at most 8 dimensions");
  const bool is_row = !tokens.at("(");
  // The first device's row tells how deep the rows are.
  const bool is_like_first = mesh.devices.empty() || is_row == (dimension + 1 == mesh.shape.size());
  if (!is_like_first) tokens.fail(open, "all rows of a mesh must be equally deep");
  int64_t count = 0;
  do {
    if (is_row && count == 0 && atAllRanks(tokens)) {
      count = tokens.expectInteger("the number of ranks");
      for (int64_t rank = 0; rank < count; ++rank) mesh.devices.push_back(rank);
      break;
    }
    if (is_row)
      mesh.devices.push_back(tokens.expectInteger("the number of a device"));
    else
      parseRow(tokens, mesh, dimension + 1);
    ++count;
  } while (tokens.accept(","));
  if (!tokens.at(")")) tokens.failExpected("',' or ')'");
  const Token& close = tokens.next();
  if (mesh.shape.size() <= dimension) mesh.shape.resize(dimension + 1, -1);
  int64_t& extent = mesh.shape[dimension];
  if (extent >= 0 && extent != count) tokens.fail(close, "all rows of a mesh must be equally long");
  extent = count;
}

// The devices of a dimension and of those inside of it, from the one of number `next` on.
std::string rowText(const DeviceMesh& mesh, size_t dimension, size_t& next) {
  std::vector<std::string> parts;
  for (int64_t i = 0; i < mesh.shape[dimension]; ++i) {
    const bool is_last = dimension + 1 == mesh.shape.size();
    parts.push_back(is_last ? fmt::to_string(mesh.devices[next++]) : rowText(mesh, dimension + 1, next));
  }
  return fmt::format("({})", joined(parts));
}

}  // namespace

void setRanks(TokenStream& tokens, std::optional<int64_t> ranks) {
  for (size_t ahead = 0; tokens.peek(ahead).kind != TokenKind::End; ++ahead) {
    const bool is_mesh = tokens.peek(ahead).is(kMeshWord) && tokens.peek(ahead + 1).is("(") &&
                         tokens.peek(ahead + 2).is(kRanksWord) && tokens.peek(ahead + 3).is(")");
    if (!is_mesh) continue;
    if (!ranks)
      tokens.fail(tokens.peek(ahead + 2),
                  "mesh(ranks) is all ranks of a job, and it is not known here how many these are; expected their "
                  "number (--ranks N; readFusion(text, file, ranks)), or a mesh that names them, such as mesh(0, 1)");
    if (*ranks < 1 || *ranks > kMostRanksOfText)
      tokens.fail(tokens.peek(ahead + 2),
                  fmt::format("mesh(ranks) is all ranks of a job, and {} were asked for; expected 1 to {}", *ranks,
                              kMostRanksOfText));
    return tokens.setInteger(kRanksWord, static_cast<uint64_t>(*ranks));
  }
}

DeviceMesh parseMesh(TokenStream& tokens) {
  DeviceMesh mesh;
  parseRow(tokens, mesh, 0);
  return mesh;
}

std::string printMesh(const DeviceMesh& mesh) {
  size_t next = 0;
  return fmt::format("{}{}", kMeshWord,
                     mesh.isFilled() ? rowText(mesh, 0, next) : fmt::format("({})", joined(mesh.devices)));
}

}  // namespace tokamak
