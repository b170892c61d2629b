#include "ir/text/schedule_section.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/text/names.h"

namespace tokamak {

void ScheduleSection::read() {
  tokens_.next();
  tokens_.expect("{");
  for (int64_t step = 1; !tokens_.at("}"); ++step) commandOrErrors(step);
  if (!errors_.empty()) errors_.raise();
  tokens_.next();
}

void ScheduleSection::commandOrErrors(int64_t step) {
  const size_t start = tokens_.position();
  const bool has_label = tokens_.peek().kind == TokenKind::Identifier && tokens_.peek(1).is("=");
  const std::string label = has_label ? std::string(tokens_.peek().text) : "";
  const auto names = skipCommand(tokens_);
  const size_t end = tokens_.position();
  const auto isRefused = [this](const std::string& name) { return scope_.refused.contains(name); };
  if (names && std::ranges::any_of(*names, isRefused)) {
    if (has_label) scope_.refused.insert(label);
    return;
  }
  tokens_.setPosition(start);
  try {
    return command(step);
  } catch (...) {
    errors_.addCurrent();
  }
  if (!names) errors_.raise();
  tokens_.setPosition(end);
  for (const std::string& name : *names) {
    if (name == label || tensorNumber(name) || scope_.findTensor(name) != nullptr) scope_.refused.insert(name);
  }
}

void ScheduleSection::command(int64_t step) {
  const Token& start = tokens_.peek();
  const Token* label = nullptr;
  if (start.kind == TokenKind::Identifier && tokens_.peek(1).is("=")) {
    label = &tokens_.next();
    tokens_.next();
  }
  const Token& name = tokens_.peek();
  if (name.kind != TokenKind::Identifier || !tokens_.peek(1).is("("))
    tokens_.failExpected("a command such as split(T0, axis=0, factor=4), or '}'");
  ScheduleCommand command;
  command.name = name.text;
  command.place = tokens_.place(start);
  command.arguments = arguments_.parseCall(ArgumentParser::BareNames::Everywhere).arguments;
  if (label != nullptr) command.result = label->text;
  command.text = tokens_.text().substr(start.offset, tokens_.endOfPrevious() - start.offset);
  if (reading_.scheduler != nullptr) requireCommand(name);
  TensorView* made = tokens_.noted(start, [&] { return apply(command, step); });
  if ((label != nullptr) != (made != nullptr)) {
    tokens_.fail(start,
                 label != nullptr
                     ? fmt::format("{} gives no tensor; expected the command without 'T<n> ='", describeToken(name))
                     : fmt::format("{} gives a tensor; expected 'T<n> =' before it", describeToken(name)));
  }
  if (label != nullptr) reading_.define(*label, made);
}

void ScheduleSection::requireCommand(const Token& name) const {
  const std::vector<std::string_view> known = reading_.scheduler->names();
  if (std::ranges::find(known, name.text) != known.end()) return;
  tokens_.fail(name, fmt::format("unknown command {}; expected a schedule command{}", describeToken(name),
                                 suggestion(name.text, known)));
}

TensorView* ScheduleSection::apply(const ScheduleCommand& command, int64_t step) {
  const auto describe = [&] { return fmt::format("while applying schedule step {}: {}", step, command.text); };
  const ErrorNote note(describe);
  TK_REQUIRE(reading_.scheduler != nullptr, Unsupported, "schedule: '{}' needs a scheduler, and this reader has none",
             command.name);
  return reading_.scheduler->apply(fusion_, command);
}

}  // namespace tokamak
