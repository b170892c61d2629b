// Fusions: tensor programs, built or read from their text.
#pragma once

#include "compile/program.h"
#include "ir/fusion.h"
