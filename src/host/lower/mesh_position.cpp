#include "host/lower/mesh_position.h"

namespace tokamak {

Scalar* rankSymbol(HostIrContainer& program) {
  for (Scalar* symbol : program.allSymbols()) {
    if (symbol->name() == "rank") return symbol;
  }
  return program.symbol("rank");
}

Scalar* MeshPosition::rankAt(HostIrContainer& program, Scalar* position) const {
  return program.add(first, program.mul(position, program.constant(stride)));
}

std::optional<MeshPosition> meshPosition(HostIrContainer& program, const DeviceMesh& mesh, size_t dimension) {
  if (!mesh.isFilled() || mesh.devices.empty()) return std::nullopt;
  const int64_t step = mesh.devices.size() < 2 ? 1 : mesh.devices[1] - mesh.devices[0];
  if (step < 1) return std::nullopt;
  for (size_t i = 1; i < mesh.devices.size(); ++i) {
    if (mesh.devices[i] - mesh.devices[i - 1] != step) return std::nullopt;
  }
  int64_t inner = 1;
  for (size_t i = dimension + 1; i < mesh.shape.size(); ++i) inner *= mesh.shape[i];
  MeshPosition position = {.dimension = dimension, .devices = mesh.shape[dimension], .stride = step * inner};
  Scalar* const rank = rankSymbol(program);
  Scalar* const place =
      program.floorDiv(program.sub(rank, program.constant(mesh.devices[0])), program.constant(step * inner));
  position.own = dimension == 0 ? place : program.mod(place, program.constant(position.devices));
  position.first = mesh.shape.size() == 1
                       ? program.constant(mesh.devices[0])
                       : program.sub(rank, program.mul(position.own, program.constant(position.stride)));
  return position;
}

}  // namespace tokamak
