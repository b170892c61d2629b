// The stream table: for each op form and axis, or pair of axes, which marks give a stream loop and why others do not.
#pragma once

#include <string>

#include "base/error.h"

namespace tokamak {

/// A refusal that blames the program: it says where the mark stands, what cannot be done and why.
bool isRefusal(const Error& error);

/// docs/stream_table.md.
std::string streamTable();

}  // namespace tokamak
