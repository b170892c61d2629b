#include "tools/completion.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace tokamak::tools {

namespace {

struct Choice {
  std::string name;  // "--device"; empty: what stands by itself
  std::string text;
  bool takes_value = false;
  std::vector<std::string> values;  // the legal ones, where they are few
};

struct Command {
  std::string name;
  std::string text;
  std::vector<Choice> options;
};

// The alternatives of a form such as "cpu|cuda"; none where a part of it is a word to be filled in.
std::vector<std::string> alternatives(const std::string& form) {
  const bool is_choice =
      form.find('|') != std::string::npos && std::ranges::none_of(form, [](char c) { return c >= 'A' && c <= 'Z'; });
  return is_choice ? CLI::detail::split(form, '|') : std::vector<std::string>();
}

std::vector<Choice> optionsOf(const CLI::App& app) {
  std::vector<Choice> options;
  for (const CLI::Option* option : app.get_options()) {
    const bool takes_value = option->get_items_expected_max() > 0;
    const std::string text = option->get_description();
    const std::vector<std::string> values = alternatives(option->get_type_name());
    if (option->nonpositional())
      options.push_back({"--" + option->get_lnames()[0], text, takes_value, values});
    else
      options.push_back({"", text, true, values});
  }
  return options;
}

std::vector<Command> commandsOf(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    commands.push_back({command->get_name(), command->get_description(), optionsOf(*command)});
  }
  return commands;
}

std::string namesOf(const std::vector<Choice>& options) {
  std::vector<std::string> names;
  for (const Choice& option : options) {
    if (!option.name.empty()) names.push_back(option.name);
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string bashCases(const std::vector<Command>& commands) {
  std::string text;
  for (const Command& command : commands) {
    for (const Choice& option : command.options) {
      if (!option.name.empty() && !option.values.empty())
        text +=
            fmt::format("    \"{} {}\") words=\"{}\" ;;\n", command.name, option.name, fmt::join(option.values, " "));
    }
    text += fmt::format("    \"{} \"*) words=\"{}\" files=yes ;;\n", command.name, namesOf(command.options));
  }
  return text;
}

std::string bash(const CLI::App& app) {
  const std::vector<Command> commands = commandsOf(app);
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return fmt::format(R"(# bash completion for tokamak, written by: tokamak info --completion bash
_tokamak() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words="" files=""
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{}  esac
  [ "$COMP_CWORD" -eq 1 ] && words="{} {}" files=""
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ -n "$files" ] && [[ $current != -* ]]; then COMPREPLY=($(compgen -f -- "$current")); fi
}}
complete -o filenames -F _tokamak tokamak
)",
                     bashCases(commands), fmt::join(names, " "), namesOf(optionsOf(app)));
}

// What has a meaning in a specification of zsh's _arguments.
std::string zshText(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return escaped;
}

std::string zshOption(const Choice& option) {
  const std::string values = option.values.empty() ? "_files" : fmt::format("({})", fmt::join(option.values, " "));
  if (option.name.empty()) return fmt::format("'*: :{}'", values);
  return fmt::format("'*{}[{}]{}'", option.name, zshText(option.text), option.takes_value ? ": :" + values : "");
}

std::string zsh(const CLI::App& app) {
  std::string commands;
  std::string cases;
  for (const Command& command : commandsOf(app)) {
    commands += fmt::format("    '{}:{}'\n", command.name, zshText(command.text));
    std::vector<std::string> options;
    for (const Choice& option : command.options) options.push_back("      " + zshOption(option));
    cases += fmt::format("    {}) _arguments \\\n{} ;;\n", command.name, fmt::join(options, " \\\n"));
  }
  std::vector<std::string> options;
  for (const Choice& option : optionsOf(app)) options.push_back("    " + zshOption(option));
  return fmt::format(R"(#compdef tokamak
# zsh completion for tokamak, written by: tokamak info --completion zsh
_tokamak() {{
  local -a commands=(
{})
  _arguments -C \
{} \
    '1: :->command' '*:: :->arguments'
  case $state in
    command) _describe command commands ;;
    arguments) _tokamak_arguments ;;
  esac
}}
_tokamak_arguments() {{
  case $words[1] in
{}  esac
}}
_tokamak "$@"
)",
                     commands, fmt::join(options, " \\\n"), cases);
}

}  // namespace

int printCompletion(const CLI::App& app, const std::string& shell) {
  TK_REQUIRE(shell == "bash" || shell == "zsh", Usage, "--completion {}: it must be one of bash, zsh", shell);
  fmt::print("{}", shell == "bash" ? bash(app) : zsh(app));
  return 0;
}

}  // namespace tokamak::tools
