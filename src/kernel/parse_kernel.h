// The reader of kernel texts, as printKernel writes them.
#pragma once

#include <string_view>

#include "ir/text/lexer.h"
#include "kernel/kernel.h"

namespace tokamak::kir {

/// Reads a whole text; `file` is its name in messages. The kernel owns a fusion of its own without expressions: the
/// tensors, with label, type, shape, strides and memory type, and the scalars exactly as written. What holds of a
/// kernel beyond its grammar is for verifyKernel to say.
/// Errors: Parse, with "file:line:column: ...".
Kernel parseKernel(std::string_view text, std::string_view file);

/// Reads a kernel from the middle of a text and stops behind it.
Kernel parseKernel(TokenStream& tokens);

}  // namespace tokamak::kir
