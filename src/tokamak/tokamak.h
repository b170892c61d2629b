// All that users of the library include. The headers beside this one are its parts.
#pragma once

#include "tokamak/communicator.h"
#include "tokamak/device.h"
#include "tokamak/dlpack.h"
#include "tokamak/error.h"
#include "tokamak/fusion.h"
#include "tokamak/log.h"
#include "tokamak/npy.h"
#include "tokamak/ops.h"
#include "tokamak/program.h"
#include "tokamak/schedule.h"
#include "tokamak/tensor.h"
#include "tokamak/version.h"
