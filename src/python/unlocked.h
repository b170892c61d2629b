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

/// A scope with the interpreter's lock inside an Unlocked one of the same thread; without it where the interpreter
/// ends, which it says: then nothing of Python is called.
class Relocked {
 public:
  Relocked();
  Relocked(const Relocked&) = delete;
  Relocked& operator=(const Relocked&) = delete;
  ~Relocked();
  explicit operator bool() const { return is_locked_; }

 private:
  PyGILState_STATE state_ = PyGILState_UNLOCKED;
  bool is_locked_ = false;
};

}  // namespace tokamak::python
