// The loops of an element program: which dimensions are merged, and along which the inner loops run.
#pragma once

namespace tokamak {

struct ElementProgram;

/// Drops dimensions of extent 1, merges those that are contiguous for every operand, and chooses row, tile and
/// reduced_row by an estimate of the time per element. It depends on sizes and strides only.
void chooseLayout(ElementProgram& program);

}  // namespace tokamak
