// Arrays of types that have DLPack's table of functions, such as torch's, and CuPy's: the fast way in and out.
#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <vector>

#include "device/output_layout.h"
#include "python/array_view.h"
#include "python/callers_stream.h"

namespace tokamak {
class OpenMp;
}

namespace tokamak::python {

/// A type of arrays. Thread safety: with the interpreter's lock.
class ArrayType {
 public:
  /// Of an array. Null for types without a table but CuPy's, and for subclasses, which may have other elements than
  /// their base (Parameter of torch is taken as its base). Lives as long as the process. `guess` (may be null): what it
  /// may be.
  static const ArrayType* of(PyObject* array, const ArrayType* guess = nullptr);

  /// False for arrays that the table does not tell, or of types or ranks that the library lacks.
  bool view(PyObject* array, ArrayView& view) const;
  /// A new array in memory of its own that lies so, and is a new reference; null where Python raised an error. `view`
  /// is what it says of itself.
  PyObject* make(const OutputLayout& layout, const dlpack::Device& device, ArrayView& view) const;
  /// By which whoever makes such arrays orders his work on a device. False where the type does not tell.
  bool currentStream(const dlpack::Device& device, CallersStream& stream) const;
  /// Whose threads its library works on, on the processor; null where that has threads of its own.
  const OpenMp* openMp() const { return open_mp_; }

 private:
  static ArrayType described(PyTypeObject* type);
  void learnFromTorch();
  PyObject* gpuOfTorch(int32_t id) const;
  PyObject* makeByTorch(const OutputLayout& layout, const dlpack::Device& device) const;

  PyTypeObject* type_ = nullptr;
  const dlpack::ExchangeTable* table_ = nullptr;
  bool is_cupys_ = false;                // which has no table
  PyObject* empty_strided_ = nullptr;    // torch's, for its types
  PyObject* device_ = nullptr;           // torch.device
  mutable std::vector<PyObject*> gpus_;  // of torch.device, by number; null: none yet
  const OpenMp* open_mp_ = nullptr;      // torch's
  std::array<PyObject*, kAllDataTypes.size()> dtypes_ = {};
};

}  // namespace tokamak::python
