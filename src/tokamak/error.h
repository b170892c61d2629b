// Errors: one exception type, with a code and a sentence.
#pragma once

#include "base/error.h"
