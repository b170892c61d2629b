// LibrarySearch: where a library of the CUDA toolkit may lie, and loading the first one that is of use.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tokamak {

/// What a library is called, by whom.
struct LibraryNames {
  std::string title;                  ///< "NVRTC"
  std::string purpose;                ///< "compiles CUDA"
  std::string variable;               ///< of the environment, whose value is the file to use instead of all others
  std::vector<std::string> sonames;   ///< the loader's names, best first
  std::string pattern;                ///< of files in a folder: "libnvrtc.so.1[0-9]"
  std::vector<std::string> packages;  ///< folders of Python's packages under nvidia/, as patterns
  std::vector<std::string> toolkit_folders = {};  ///< of a toolkit, besides those of libraries
};

class LibrarySearch {
 public:
  /// Takes what it needs from an open library; false when it lacks something. `name`: what it was opened as.
  using Take = std::function<bool(void* handle, const std::string& name)>;

  /// `lacking`: what is said of a library that `take` refuses.
  LibrarySearch(LibraryNames names, std::string lacking, Take take)
      : names_(std::move(names)), lacking_(std::move(lacking)), take_(std::move(take)) {}

  /// The files and names that search() tries, in order. Pure names are left to the loader.
  std::vector<std::string> candidates() const;
  /// Takes a library that this process has loaded already, by whomever, if the variable does not name one.
  bool takeLoaded() const;
  /// The variable's file if it is set, else what is loaded already, the loader's usual names, the folders of a CUDA
  /// toolkit, those of Python packages. What was loaded stays. Errors: Unsupported, with everything that was tried.
  void search() const;
  /// Errors: Unsupported.
  void open(const std::string& file) const;

  /// The environment that steers search(), as one text.
  std::string environment() const;

 private:
  bool tryToLoad(const std::string& candidate, std::string& reason) const;
  std::string named() const;
  std::vector<std::string> folderPatterns() const;

  LibraryNames names_;
  std::string lacking_;
  Take take_;
};

/// The file that a function of a library was loaded from; `otherwise` where nobody knows.
std::string fileOfFunction(void* function, const std::string& otherwise);

}  // namespace tokamak
