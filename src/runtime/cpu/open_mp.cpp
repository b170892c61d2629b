#include "runtime/cpu/open_mp.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <dlfcn.h>

namespace tokamak {

constinit thread_local const OpenMp* OnOpenMp::innermost = nullptr;

namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

const OpenMp* OpenMp::usedBy(const char* path) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<OpenMp>> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(path);
  if (found != known.end()) return found->second.get();
  void* const library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);  // never closed: it stays as long as its runtime
  if (library == nullptr) return nullptr;
  auto made = std::make_unique<OpenMp>();
  const bool is_whole =
      find(library, "GOMP_parallel", made->parallel_) && find(library, "omp_get_thread_num", made->thread_number_) &&
      find(library, "omp_get_max_threads", made->most_threads_) && find(library, "omp_in_parallel", made->in_parallel_);
  return known.emplace(path, is_whole ? std::move(made) : nullptr).first->second.get();
}

int64_t OpenMp::threads() const {
  if (!home_.isHere() || in_parallel_() != 0) return 1;
  return most_threads_();
}

void OpenMp::run(int64_t threads, Body body, void* context) const {
  struct Call {
    const OpenMp* runtime;
    Body body;
    void* context;
  } call = {.runtime = this, .body = body, .context = context};
  const auto member = [](void* data) {
    const Call& it = *static_cast<Call*>(data);
    it.body(it.context, it.runtime->thread_number_());
  };
  parallel_(member, &call, static_cast<unsigned>(threads), 0);
}

}  // namespace tokamak
