#include "device/kernel_observer.h"

namespace tokamak {

KernelObserver::~KernelObserver() = default;

}  // namespace tokamak
