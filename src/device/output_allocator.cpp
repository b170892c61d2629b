#include "device/output_allocator.h"

namespace tokamak {

OutputAllocator::~OutputAllocator() = default;

}  // namespace tokamak
