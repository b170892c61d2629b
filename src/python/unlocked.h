// Unlocked: a scope without the interpreter's lock, also while the interpreter ends.
#pragma once

#include <Python.h>

namespace tokamak::python {

/// While it lives, other threads may have the interpreter. A thread that comes back while the interpreter ends, other
/// than the one that ends it, stays in the destructor for good: before 3.14 Python would end it by unwinding its stack,
/// which C++ frames do not bear.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked();

  /// To be called by the interpreter's atexit, with its lock: from now on no thread comes back.
  static void endAll();
  /// Whether it was called: Python's objects are left to the process.
  static bool isEnding();

 private:
  PyThreadState* state_;
};

}  // namespace tokamak::python
