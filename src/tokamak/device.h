// Devices: the processor and GPUs, with streams and events; what a caller may hook into.
#pragma once

#include "base/trace.h"
#include "device/device.h"
#include "device/intermediate_allocator.h"
#include "device/kernel_observer.h"
#include "device/output_allocator.h"
#include "jit/open_device.h"
