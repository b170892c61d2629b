// The reader of .fusion text; docs/text.md has the grammar.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/fusion.h"
#include "ir/text/call_resolver.h"
#include "ir/text/lexer.h"
#include "ir/text/schedule_applier.h"

namespace tokamak {

struct ParseOptions {
  /// Functions beyond the ops themselves; null: none. It is asked first, except for a call whose results have their
  /// types written and that fits an op as it is.
  const CallResolver* resolver = nullptr;
  /// Who carries out schedule commands; null: a schedule section that has any is refused.
  const ScheduleApplier* scheduler = nullptr;
  /// Extents that are numbers instead of symbols, by name, so that ops say whether they take them; those of 1 stay
  /// symbols, as a 1 in a text is a broadcast axis. Null: none.
  const std::map<std::string, int64_t>* extents = nullptr;
  /// Of the job: what mesh(ranks) names all of, and `ranks` is the number of in a text that has it. None: such a text
  /// is refused.
  std::optional<int64_t> ranks = {};
  /// Whether tensors that the text leaves unnamed get their numbers when it is read, as the canonical print gives them.
  /// In a text that names tensors all have numbers whatever this says.
  bool numbers_unnamed = false;
  /// Filled with the offset in the text of the call or operator that each op of the program comes from. Null: not told.
  std::unordered_map<const Expr*, size_t>* places = nullptr;
};

/// Reads a whole text; `file` is its name in messages. Labels, extent names and default sizes are kept.
/// Errors: Parse, with "file:line:column: ..."; Definition, Schedule and others of what is called, with a note that
/// says where.
std::unique_ptr<Fusion> parseFusion(std::string_view text, std::string_view file, const ParseOptions& options = {});

/// Reads a fusion with its sizes and schedule from the middle of a text and stops behind it.
std::unique_ptr<Fusion> parseFusion(TokenStream& tokens, const ParseOptions& options = {});

}  // namespace tokamak
