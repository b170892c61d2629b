// Compiled fusions: compile, prepare, run.
#pragma once

#include "compile/program.h"
