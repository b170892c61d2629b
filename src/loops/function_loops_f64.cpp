#include "loops/function_loops.h"

namespace tokamak {

template struct FunctionLoops<double>;

}  // namespace tokamak
