// Tensors: typed views of a device's or the caller's memory.
#pragma once

#include "device/run_value.h"
#include "device/tensor.h"
