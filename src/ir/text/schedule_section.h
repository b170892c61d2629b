// ScheduleSection: the reader of schedule { split(T0, axis=0, factor=4) }.
#pragma once

#include <functional>

#include "ir/text/argument_parser.h"
#include "ir/text/refused_statements.h"
#include "ir/text/schedule_applier.h"

namespace tokamak {

/// What the section's commands need of the text around it.
struct ScheduleReading {
  const ScheduleApplier* scheduler = nullptr;  ///< null: commands are refused
  /// Gives the tensor that a command makes its name.
  std::function<void(const Token& name, TensorView* tensor)> define;
};

class ScheduleSection {
 public:
  ScheduleSection(TokenStream& tokens, Fusion& fusion, TextScope& scope, ArgumentParser& arguments,
                  ScheduleReading reading)
      : tokens_(tokens), fusion_(fusion), scope_(scope), arguments_(arguments), reading_(std::move(reading)) {}

  /// Carries out the commands. Those that are refused are told together, without what works on the same tensors later.
  /// Errors: Parse, Schedule and others of the commands.
  void read();

 private:
  void commandOrErrors(int64_t step);
  void command(int64_t step);
  void requireCommand(const Token& name) const;
  TensorView* apply(const ScheduleCommand& command, int64_t step);

  TokenStream& tokens_;
  Fusion& fusion_;
  TextScope& scope_;
  ArgumentParser& arguments_;
  ScheduleReading reading_;
  RefusedStatements errors_;
};

}  // namespace tokamak
