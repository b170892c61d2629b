// Layout of an element program's loops: which dimensions are merged, and along which one the inner loops run.
#pragma once

namespace tokamak {

struct ElementProgram;

/// Drops dimensions of extent 1, merges neighbours that are one in memory for every operand, and chooses row, tile and
/// reduced_row by an estimate of the time per element. Depends on sizes and strides alone.
void chooseLayout(ElementProgram& program);

}  // namespace tokamak
