// Compile watch: what Python does while a call waits for compilers: it looks for signals, and tells how far they are.
#pragma once

#include <exception>
#include <functional>

#include <nanobind/nanobind.h>

#include "device/prepare_options.h"

namespace tokamak::python {

/// Raised where a signal's handler raised in Python: that error is the one that counts, and is set.
struct Interrupted {};

/// For calls without the interpreter's lock: every 50 ms signals are looked at, which ends the waiting where their
/// handlers raise, and the function of watchCompilers() is called.
PrepareOptions watchedPrepare();

/// wait() without the interpreter's lock. While it waits for other ranks signals are looked at; where a handler raises,
/// `leave` is called, which ends the waiting, and Interrupted is raised in the end.
void waitInterruptibly(const std::function<void(const std::exception_ptr&)>& leave, const std::function<void()>& wait);

/// `told(done, all, seconds)` is called on the thread of each call that waits for compilers, every 50 ms, and when that
/// has ended, in an error, too: then with seconds below 0, and what it raises is dropped. None: nobody. With the
/// interpreter's lock, as all others.
void watchCompilers(nanobind::object told);

}  // namespace tokamak::python
