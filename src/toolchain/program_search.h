// Program search: which file a command name stands for, and what tells one version of that file from another.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tokamak {

/// The executable file that `name` stands for: a path with a slash stands for itself, any other name is looked for in
/// the absolute folders of $PATH.
std::optional<std::string> findProgram(std::string_view name);

/// Path behind all links, size, time of last change and file number: different for another version of the file.
/// Errors: Io when there is no such file.
std::string fileIdentity(const std::string& path);

/// What compilers look at when they compile for the machine they run on: the processor's name and features.
std::string processorIdentity();

}  // namespace tokamak
