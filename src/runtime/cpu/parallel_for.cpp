#include "runtime/cpu/parallel_for.h"

namespace tokamak {

ParallelFor::~ParallelFor() = default;

}  // namespace tokamak
