// Programs that XLA's executables call: a handler of XLA's foreign function interface, and the programs that it knows.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "python/compiled.h"

namespace tokamak::python {

/// A definition, compiled for each device on which XLA may run it. Executables name it by its key, and keep it from
/// their making to their end: whoever made it may let it go.
/// Thread safety: any threads may use it side by side.
class XlaProgram : public std::enable_shared_from_this<XlaProgram> {
 public:
  /// `programs`: one for each device. `updated`: the inputs that calls write, by their numbers among all inputs, in the
  /// order in which results follow the outputs that hold them then.
  XlaProgram(std::string key, std::vector<std::shared_ptr<Compiled>> programs, std::vector<size_t> updated);

  const std::string& key() const { return key_; }
  /// Tensors and scalars.
  const std::vector<Val*>& inputs() const { return programs_.front()->inputs(); }
  bool isUpdated(size_t input) const;
  const std::vector<size_t>& updated() const { return updated_; }
  size_t outputCount() const { return programs_.front()->outputCount(); }
  /// Errors: Unsupported for a device that it was not compiled for.
  Compiled& on(const dlpack::Device& place) const;

 private:
  std::string key_;
  std::vector<std::shared_ptr<Compiled>> programs_;
  std::vector<size_t> updated_;
};

/// XlaProgram; xla_handler(platform) and xla_state_type(platform), which jax.ffi registers; xla_forget_programs().
void bindXla(nanobind::module_& m);

}  // namespace tokamak::python
