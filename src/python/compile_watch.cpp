#include "python/compile_watch.h"

#include <chrono>
#include <memory>
#include <utility>

#include "python/unlocked.h"

namespace nb = nanobind;

namespace tokamak::python {

namespace {

// Never destroyed: the interpreter may be gone by then.
nb::object& toldFunction() {
  static auto* const function = new nb::object();
  return *function;
}

using Clock = std::chrono::steady_clock;

// Of one call.
struct Watch {
  Clock::time_point start = Clock::now();
  CompileProgress last;

  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    if (last.all == 0) return;
    const Relocked relocked;
    if (!relocked) return;
    const nb::error_scope keeps_error;
    if (!tell(-1)) PyErr_Clear();
  }

  // Python's error stays set where one is raised; the thread's state keeps it while the lock is given away.
  void look() const {
    const Relocked relocked;
    if (!relocked) return;
    if (PyErr_CheckSignals() != 0) throw Interrupted();
    if (last.all > 0 && !tell(std::chrono::duration<double>(Clock::now() - start).count())) throw Interrupted();
  }

  // False where it raised.
  bool tell(double seconds) const {
    const nb::object function = toldFunction();
    if (!function.is_valid() || function.is_none()) return true;
    return nb::steal(PyObject_CallFunction(function.ptr(), "LLd", static_cast<long long>(last.done),
                                           static_cast<long long>(last.all), seconds))
        .is_valid();
  }
};

}  // namespace

PrepareOptions watchedPrepare() {
  const auto watch = std::make_shared<Watch>();
  PrepareOptions options;
  options.progress = [watch](const CompileProgress& progress) {
    watch->last = progress;
    watch->look();
  };
  options.tick = [watch] { watch->look(); };
  return options;
}

void watchCompilers(nb::object told) { toldFunction() = std::move(told); }

}  // namespace tokamak::python
