// The parser of kernel texts (printKernel).
#pragma once

#include <string_view>

#include "ir/text/lexer.h"
#include "kernel/kernel.h"

namespace tokamak::kir {

/// Parses a whole text; `file` is its name in messages. The kernel owns a fusion without expressions: tensors with
/// label, type, shape, strides and memory type, and scalars as written. It checks the grammar only; verifyKernel checks
/// the rest.
/// Errors: Parse, with "file:line:column: ...".
Kernel parseKernel(std::string_view text, std::string_view file);

/// Parses a kernel within a text, and stops after it.
Kernel parseKernel(TokenStream& tokens);

}  // namespace tokamak::kir
