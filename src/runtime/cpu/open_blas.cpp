#include "runtime/cpu/open_blas.h"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/require.h"
#include "toolchain/library_search.h"
#include "toolchain/shared_object.h"

namespace tokamak {

namespace {

constexpr const char* kVariable = "TOKAMAK_OPENBLAS";
constexpr const char* kSystemName = "libopenblas.so.0";

// The values of the C interface's enumerations.
constexpr int kRowMajor = 101;
constexpr int transposition(Transposed transposed) { return transposed == Transposed::Yes ? 112 : 111; }

template <class T, class Size>
using Gemm = void (*)(int order, int a_transposed, int b_transposed, Size m, Size n, Size k, T alpha, const T* a,
                      Size lda, const T* b, Size ldb, T beta, T* c, Size ldc);

template <class T, class Size>
void call(void* gemm, const OpenBlas::Product<T>& p) {
  reinterpret_cast<Gemm<T, Size>>(gemm)(kRowMajor, transposition(p.a_transposed), transposition(p.b_transposed), p.m,
                                        p.n, p.k, T(1), p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc);
}

/// How a build of OpenBLAS calls its functions.
struct Naming {
  const char* prefix;
  const char* suffix;
  std::string of(const char* name) const { return fmt::format("{}{}{}", prefix, name, suffix); }
};

// Nothing for what is no OpenBLAS.
std::optional<Naming> namingOf(void* library) {
  constexpr Naming kNamings[] = {{"", ""}, {"scipy_", "64_"}, {"scipy_", ""}, {"", "64_"}};
  for (const Naming& each : kNamings)
    if (dlsym(library, each.of("openblas_set_num_threads").c_str()) != nullptr) return each;
  return std::nullopt;
}

// A second instance of a loaded library, so that others who use the first one keep their number of threads. It stays.
const SharedObject* copyOf(const std::string& file) {
  std::ostringstream image;
  image << std::ifstream(file, std::ios::binary).rdbuf();
  return (new std::shared_ptr<const SharedObject>(SharedObject::loadFromMemory(image.view())))->get();
}

struct Offers {
  std::mutex mutex;
  std::vector<std::string> files;
};

Offers& offers() {
  static auto& all = *new Offers();  // never destroyed: threads may use it while the process exits
  return all;
}

std::vector<std::string> offeredFiles() {
  const std::lock_guard lock(offers().mutex);
  return offers().files;
}

}  // namespace

template <class T>
void OpenBlas::multiplyWith(void* gemm, const Product<T>& product) const {
  if (has_wide_sizes_)
    call<T, int64_t>(gemm, product);
  else
    call<T, int32_t>(gemm, product);
}

void OpenBlas::multiply(const Product<float>& product) const { multiplyWith(sgemm_, product); }
void OpenBlas::multiply(const Product<double>& product) const { multiplyWith(dgemm_, product); }

// Takes the functions of an OpenBLAS; false for another library, or none. Errors: those of SharedObject::symbol().
bool OpenBlas::take(const std::string& name, Instance instance) {
  // Libraries are never closed: they have threads and exit handlers of their own.
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::optional<Naming> naming = library == nullptr ? std::nullopt : namingOf(library);
  if (!naming) return false;
  void* const known = dlsym(library, naming->of("openblas_set_num_threads").c_str());
  const std::string file = fileOfFunction(known, name);
  const SharedObject* const copy = instance == Instance::Own ? copyOf(file) : nullptr;
  const auto function = [&](const char* called) {
    const std::string symbol = naming->of(called);
    return copy != nullptr ? copy->symbol(symbol.c_str()) : dlsym(library, symbol.c_str());
  };
  sgemm_ = function("cblas_sgemm");
  dgemm_ = function("cblas_dgemm");
  if (sgemm_ == nullptr || dgemm_ == nullptr) return false;
  // Blocks are shared out by the caller, so that results do not depend on how many threads there are.
  reinterpret_cast<void (*)(int)>(function("openblas_set_num_threads"))(1);
  const std::string config = reinterpret_cast<const char* (*)()>(function("openblas_get_config"))();
  has_wide_sizes_ = *naming->suffix != '\0' || config.find("USE64BITINT") != std::string::npos;
  description_ = fmt::format("{}, {}", config, file);
  return true;
}

std::optional<OpenBlas> OpenBlas::find() {
  OpenBlas blas;
  const char* const named = std::getenv(kVariable);
  if (named != nullptr && *named != '\0') {
    TK_REQUIRE(blas.take(named, Instance::Own), Unsupported,
               "{}: '{}' is no OpenBLAS that can be loaded; name the file of one, or leave the variable out", kVariable,
               named);
    return blas;
  }
  const bool is_used = dlopen(kSystemName, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != nullptr;
  if (blas.take(kSystemName, is_used ? Instance::Own : Instance::Shared)) return blas;
  for (const std::string& file : offeredFiles())
    if (blas.take(file, Instance::Own)) return blas;
  return std::nullopt;
}

const OpenBlas* OpenBlas::load() {
  static const auto& loaded = *new std::optional<OpenBlas>(find());  // never destroyed, as threads may use it
  return loaded ? &*loaded : nullptr;
}

void OpenBlas::offer(std::string file) {
  const std::lock_guard lock(offers().mutex);
  offers().files.push_back(std::move(file));
}

std::string OpenBlas::describe() {
  if (const OpenBlas* const library = load()) return library->description_;
  return fmt::format("element loops ({} was not found; {} may name an OpenBLAS, and Python's wheel of NumPy has one)",
                     kSystemName, kVariable);
}

}  // namespace tokamak
