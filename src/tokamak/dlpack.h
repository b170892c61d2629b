// Arrays of other libraries, by DLPack, without a copy.
#pragma once

#include "interop/dlpack.h"
