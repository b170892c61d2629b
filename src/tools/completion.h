// Completion: what a shell offers behind `tokamak`, from the options there are.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace tokamak::tools {

/// Prints the completions for bash or zsh. The exit code: 0. Errors: Usage for another shell.
int printCompletion(const CLI::App& app, const std::string& shell);

}  // namespace tokamak::tools
