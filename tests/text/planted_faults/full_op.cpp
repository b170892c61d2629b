// A planted fault: the element rule of `full` gives twice its value. It stands in place of the library's rule, which
// the linker then leaves out. The command line must find the difference.
#include "ir/ops/math/full_op.h"

#include "compute/rules.h"

namespace tokamak {

void rule(const FullOp& op, ElementBuilder& b) {
  const ElementRef value = b.value(op.value, op.dtype);
  b.result(b.apply(FunctionId::add, {value, value}));
}

}  // namespace tokamak
