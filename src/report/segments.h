// Segments: the parts that a fusion was cut into, with what each exchanges with the others, and why there is a cut.
#pragma once

#include <string>
#include <vector>

#include "device/kernel_target.h"
#include "host/ir/host_ir_container.h"

namespace tokamak {

/// A statement of a program that makeHostProgram() made: a kernel, a library call, an op or a view.
struct Segment {
  const Expr* statement = nullptr;
  std::vector<Expr*> exprs;  ///< of its own fusion where it is a kernel or a product group, else the statement itself
  std::string form;          ///< for people: "kernel of 5 ops", "library call linear"
  bool isHostSegment() const;
  /// Of the statement's operands and results, what the segment's own ops know them as; the same in a segment of one op.
  Val* inside(size_t input) const;
  TensorView* insideResult(size_t output) const;
};

/// In the order in which they run, allocations left out. Gives the tensors inside of segments names: what a segment
/// takes and gives is called what the program calls it, and what has no name and no number is numbered after all
/// others. Errors: none but of memory.
std::vector<Segment> segmentsOf(const HostIrContainer& program);

/// Why `consumer`, which reads what `producer` gives, is another segment: what the rules say of the two together. The
/// target is the one that the program was made for; the cost is that of a look at all ops of both.
std::string whyCut(const HostIrContainer& program, const Segment& producer, const Segment& consumer,
                   const KernelTarget& target);

}  // namespace tokamak
