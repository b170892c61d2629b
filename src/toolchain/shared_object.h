// SharedObject: compiled code in this process, with its symbols; unloaded with its last user.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "toolchain/file_descriptor.h"
#include "toolchain/private_directory.h"

namespace tokamak {

class SharedObject {
 public:
  /// Loads the image of a shared object. Each image gets a file name of its own in `folder`, never used again: the
  /// loader tells objects apart by name and would return the earlier one. Where files of `folder` cannot be executed, a
  /// memory file is loaded.
  /// Errors: Compile when the image is damaged, is of another machine or needs symbols that this process does not have;
  /// Io.
  static std::shared_ptr<const SharedObject> load(std::string_view image, PrivateDirectory& folder);

  /// The same without a folder: the image is a memory file, or where /proc is not mounted, a file in $TMPDIR or /tmp
  /// that goes at once. No file stays open. Errors: as load().
  static std::shared_ptr<const SharedObject> loadFromMemory(std::string_view image);

  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject();

  /// The address of a symbol. Errors: Compile when there is none of that name.
  void* symbol(const char* name) const;

 private:
  explicit SharedObject(void* handle) : handle_(handle) {}
  void* handle_;
};

/// What is wrong with `image` as a shared object of this machine, or an empty text: parts beyond its end would crash
/// the process when they are touched.
std::string faultOfImage(std::string_view image);

}  // namespace tokamak
