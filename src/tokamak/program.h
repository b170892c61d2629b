// Compiled fusions: compile, prepare, run, export, load.
#pragma once

#include "compile/export_for_c.h"
#include "compile/exported_program.h"
#include "compile/program.h"
