// DumpOptions: which programs are printed on the way, as --dump and TOKAMAK_DUMP say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tokamak {

/// Parsed from "stage,stage:name*": a stage alone or with a pattern ('*' stands for anything) that the program's name
/// must match.
/// Thread safety: does not change once it is made: any threads may ask side by side.
class DumpOptions {
 public:
  DumpOptions() = default;
  /// Errors: Usage for a stage that does not exist; the message has the grammar.
  explicit DumpOptions(std::string_view text);

  /// Whether `stage` of the program called `name` is to be printed.
  bool wants(std::string_view stage, std::string_view name) const;

  /// The stages that exist, in the order in which a program goes through them.
  static std::vector<std::string_view> stages();

 private:
  struct Item {
    std::string stage;
    std::string pattern;
  };
  std::vector<Item> items_;
};

}  // namespace tokamak
