#include "device/intermediate_allocator.h"

namespace tokamak {

IntermediateAllocator::~IntermediateAllocator() = default;

}  // namespace tokamak
