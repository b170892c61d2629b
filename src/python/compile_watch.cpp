#include "python/compile_watch.h"

#include <chrono>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/wait_watch.h"
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

void waitInterruptibly(const std::function<void(const std::exception_ptr&)>& leave, const std::function<void()>& wait) {
  WaitWatch watch([&] {
    {
      const Relocked relocked;
      if (!relocked || PyErr_CheckSignals() == 0) return true;
    }
    leave(std::make_exception_ptr(Error(ErrorCode::Cancelled, "its caller was interrupted by a signal")));
    return false;
  });
  try {
    wait();
  } catch (...) {
    if (!watch.isOver()) throw;
  }
  if (watch.isOver()) throw Interrupted();
}

void watchCompilers(nb::object told) { toldFunction() = std::move(told); }

}  // namespace tokamak::python
