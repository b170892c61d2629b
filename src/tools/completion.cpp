#include "tools/completion.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "base/dump_options.h"
#include "base/require.h"
#include "base/text.h"
#include "define/callables.h"
#include "tools/opt_command.h"

namespace tokamak::tools {

namespace {

// Those that NVRTC of CUDA 12 and 13 know and that have what generated kernels use.
constexpr const char* kArchitectures[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_103", "sm_120"};

// What is offered for the value of an option or for an argument.
struct Values {
  enum class Kind : uint8_t {
    None,      // a number or a name of the program's: nothing is known
    Files,     // any file
    Assigned,  // files behind "NAME="
    Words,     // one of the words
    List,      // words with commas between them
  };
  Kind kind = Kind::None;
  std::vector<std::string> words = {};
};

struct Choice {
  std::string name;  // "--device"; empty: what stands by itself
  std::string text;
  bool takes_value = false;
  Values values;
};

struct Command {
  std::string name;
  std::string text;
  std::vector<Choice> options;
};

std::vector<std::string> opNames() {
  std::vector<std::string> names;
  for (const Callable& callable : allCallables()) names.emplace_back(callable.name);
  return names;
}

std::vector<std::string> stages() {
  const std::vector<std::string_view> all = DumpOptions::stages();
  return {all.begin(), all.end()};
}

std::vector<std::string> placesToDump() {
  std::vector<std::string> places = {"all", "changed"};
  std::ranges::copy(passNames(), std::back_inserter(places));
  return places;
}

// The alternatives of a form such as "cpu|cuda"; none where a part of it is a word to be filled in.
std::vector<std::string> alternatives(const std::string& form) {
  const bool is_choice =
      form.find('|') != std::string::npos && std::ranges::none_of(form, [](char c) { return c >= 'A' && c <= 'Z'; });
  return is_choice ? CLI::detail::split(form, '|') : std::vector<std::string>();
}

// By the form that --help shows: "cpu|cuda", "PASS,...", "NAME=FILE", "N".
Values valuesOf(const CLI::Option& option) {
  const std::string form = option.get_type_name();
  if (form == "[NAME]") return {Values::Kind::Words, opNames()};
  if (form == "PASS,...") return {Values::Kind::List, passNames()};
  if (form == "all|changed|PASS") return {Values::Kind::Words, placesToDump()};
  if (form == "STAGE[:PATTERN],...") return {Values::Kind::List, stages()};
  if (form == "ARCHITECTURE") return {Values::Kind::Words, {std::begin(kArchitectures), std::end(kArchitectures)}};
  if (const auto words = alternatives(form); !words.empty())
    return {option.get_name() == "--dump" ? Values::Kind::List : Values::Kind::Words, words};
  if (form == "NAME=FILE" || form == "NAME=FROM") return {Values::Kind::Assigned};
  return {form == "FILE" || !option.nonpositional() ? Values::Kind::Files : Values::Kind::None};
}

std::vector<Choice> optionsOf(const CLI::App& app) {
  std::vector<Choice> options;
  for (const CLI::Option* option : app.get_options()) {
    const bool takes_value = option->get_items_expected_max() > 0;
    const std::string text = option->get_description();
    const std::string name = option->nonpositional() ? "--" + option->get_lnames()[0] : "";
    options.push_back({name, text, takes_value, takes_value ? valuesOf(*option) : Values{}});
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
  return joined(names, " ");
}

std::string bashValues(const Values& values) {
  switch (values.kind) {
    case Values::Kind::None: return "";
    case Values::Kind::Files: return "files=yes";
    case Values::Kind::Assigned: return "files=$assigned";
    case Values::Kind::Words: return fmt::format("words=\"{}\"", joined(values.words, " "));
    case Values::Kind::List: return fmt::format("list=yes words=\"{}\"", joined(values.words, " "));
  }
  return "";
}

std::string bashCases(const std::vector<Command>& commands) {
  std::string text;
  for (const Command& command : commands) {
    for (const Choice& option : command.options) {
      if (!option.name.empty() && option.takes_value)
        text += fmt::format("    \"{} {}\") {} ;;\n", command.name, option.name, bashValues(option.values));
    }
    // The first argument of a command may be a word.
    const auto argument = std::ranges::find(command.options, "", &Choice::name);
    if (argument != command.options.end() && argument->values.kind == Values::Kind::Words)
      text += fmt::format("    \"{0} {0}\") {1} ;;\n", command.name, bashValues(argument->values));
    text += fmt::format("    \"{} \"*) words=\"{}\" files={} ;;\n", command.name, namesOf(command.options),
                        argument != command.options.end() ? "yes" : "");
  }
  return text;
}

std::string bash(const CLI::App& app) {
  const std::vector<Command> commands = commandsOf(app);
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return fmt::format(R"(# bash completion for tokamak, written by: tokamak info --completion bash
_tokamak() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words="" files="" list="" assigned="" chosen="" at=$((COMP_CWORD - 1))
  # bash takes "--device=cpu" and "--input x=x.npy" apart at each "=".
  if [ "$current" = "=" ]; then
    current="" assigned=yes
  elif [ "${{COMP_WORDS[at]}}" = "=" ]; then
    assigned=yes at=$((at - 1))
  fi
  if [ -n "$assigned" ] && [[ ${{COMP_WORDS[at]}} != -* ]]; then
    at=$((at - 1))
    [ "${{COMP_WORDS[at]}}" = "=" ] && at=$((at - 1))
  fi
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[at]}}" in
{}  esac
  [ "$COMP_CWORD" -eq 1 ] && words="{} {}" files=""
  if [ -n "$list" ] && [[ $current == *,* ]]; then chosen=${{current%,*}},; fi
  COMPREPLY=($(compgen -P "$chosen" -W "$words" -- "${{current#"$chosen"}}"))
  if [ -n "$files" ] && [[ $current != -* ]]; then COMPREPLY=($(compgen -f -- "$current")); fi
}}
complete -o filenames -F _tokamak tokamak
)",
                     bashCases(commands), joined(names, " "), namesOf(optionsOf(app)));
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

std::string zshValues(const Values& values) {
  switch (values.kind) {
    case Values::Kind::None: return " ";
    case Values::Kind::Files: return "_files";
    case Values::Kind::Assigned: return "_tokamak_assigned";
    case Values::Kind::Words: return fmt::format("({})", joined(values.words, " "));
    case Values::Kind::List: return fmt::format("_values -s , value {}", joined(values.words, " "));
  }
  return "";
}

std::string zshOption(const Choice& option) {
  if (option.name.empty()) {
    const std::string_view place = option.values.kind == Values::Kind::Words ? "1" : "*";
    return fmt::format("'{}: :{}'", place, zshValues(option.values));
  }
  return fmt::format("'*{}[{}]{}'", option.name, zshText(option.text),
                     option.takes_value ? ": :" + zshValues(option.values) : "");
}

std::string zsh(const CLI::App& app) {
  std::string commands;
  std::string cases;
  for (const Command& command : commandsOf(app)) {
    commands += fmt::format("    '{}:{}'\n", command.name, zshText(command.text));
    std::vector<std::string> options;
    for (const Choice& option : command.options) options.push_back("      " + zshOption(option));
    cases += fmt::format("    {}) _arguments \\\n{} ;;\n", command.name, joined(options, " \\\n"));
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
# "x=x.npy"
_tokamak_assigned() {{
  compset -P '*=' && _files
}}
_tokamak "$@"
)",
                     commands, joined(options, " \\\n"), cases);
}

}  // namespace

int printCompletion(const CLI::App& app, const std::string& shell) {
  TK_REQUIRE(shell == "bash" || shell == "zsh", Usage, "--completion {}: it must be one of bash, zsh", shell);
  fmt::print("{}", shell == "bash" ? bash(app) : zsh(app));
  return 0;
}

}  // namespace tokamak::tools
