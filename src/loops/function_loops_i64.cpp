#include "loops/function_loops.h"

namespace tokamak {

template struct FunctionLoops<int64_t>;

}  // namespace tokamak
