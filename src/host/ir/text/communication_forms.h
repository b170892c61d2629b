// Communication forms: how collectives, transfers and waits are written; the table row of a host form.
#pragma once

#include <span>

#include "host/ir/text/host_forms.h"

namespace tokamak {

/// A statement that starts with a word of its own.
struct HostForm {
  OpKind kind;
  std::string_view word;
  void (*print)(BlockPrinter& printer, const Expr& expr, size_t level);
  /// After the word, in a statement indented by `indent`.
  Expr* (*read)(BlockReader& block, const Token& start, size_t indent);
};

std::span<const HostForm> communicationForms();

}  // namespace tokamak
