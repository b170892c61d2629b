// OutputPlaces: where --output puts the outputs of a run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/array_output.h"

namespace tokamak::tools {

class OutputPlaces {
 public:
  /// Of texts such as "y=y.npy" and "y=-". Errors: Usage, also for two arrays on standard output.
  explicit OutputPlaces(const std::vector<std::string>& texts);

  /// A file that the run uses otherwise: "--trace run.json" and "run.json".
  struct OtherFile {
    std::string what;
    std::string path;
  };
  /// For before the program runs. Errors: Usage for what is no output, and for two outputs, or an output and one of
  /// `others`, in one file; Io for what cannot be written.
  void require(const std::vector<std::string>& outputs, const std::vector<OtherFile>& others) const;
  /// Writes the output of this name if it has a place. Errors: Io.
  void put(const std::string& name, const Tensor& tensor);

 private:
  std::map<std::string, std::string> files_;
  std::optional<ArrayOutput> standard_output_;
};

/// Writes a text to the file that an option names, or for "-" to standard output. Errors: Io.
void writeText(const std::string& option, const std::string& path, const std::string& text);

}  // namespace tokamak::tools
