// Compile watch: what Python does while a call waits for compilers: it looks for signals, and tells how far they are.
#pragma once

#include <nanobind/nanobind.h>

#include "device/prepare_options.h"

namespace tokamak::python {

/// Raised where a signal's handler raised in Python: that error is the one that counts, and is set.
struct Interrupted {};

/// For calls without the interpreter's lock: every 50 ms signals are looked at, which ends the waiting where their
/// handlers raise, and the function of watchCompilers() is called.
PrepareOptions watchedPrepare();

/// `told(done, all, seconds)` is called on the thread of each call that waits for compilers, every 50 ms, and when that
/// has ended, in an error, too: then with seconds below 0, and what it raises is dropped. None: nobody. With the
/// interpreter's lock, as all others.
void watchCompilers(nanobind::object told);

}  // namespace tokamak::python
