// A planted fault: the element rule of `squeeze` breaks an invariant of ours. It stands in place of the library's rule,
// which the linker then leaves out.
#include "ir/ops/math/squeeze_op.h"

#include "base/require.h"
#include "compute/rules.h"

namespace tokamak {

void rule(const SqueezeOp& /*op*/, ElementBuilder& /*b*/) { TK_CHECK(false, "a planted fault"); }

}  // namespace tokamak
