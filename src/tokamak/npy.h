// Arrays in .npy files.
#pragma once

#include "interop/npy.h"
