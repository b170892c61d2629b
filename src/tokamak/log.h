// Log: where the library says what no result tells.
#pragma once

#include "base/log.h"
