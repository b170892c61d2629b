// cuBLASLt without a GPU: products of f32, f64 and bf16 matrices on the fake driver's streams, one loop at a time. It
// has no kernel for f16 and for epilogues of doubles, and demands its workspace, as the real one may.
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "fake_cupti.h"
#include "fake_memory.h"
#include "fake_settings.h"
#include "fake_stream.h"

namespace {

constexpr int kInvalidValue = 7;
constexpr int kNotSupported = 15;
constexpr int kF32 = 0;
constexpr int kF64 = 1;
constexpr int kBF16 = 14;
constexpr size_t kWorkspace = 4096;

struct Product {
  int compute = 0;
  int32_t transposes_a = 0;
  int32_t transposes_b = 0;
  uint32_t epilogue = 1;
  uint64_t bias = 0;
  int32_t multiprocessors = 0;
};

struct Layout {
  int type = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t leading = 0;
  int32_t count = 1;
  int64_t batch_stride = 0;
};

struct Preference {
  uint64_t most_workspace = 0;
};

struct Choice {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

std::atomic<int64_t> questions = 0;
std::atomic<int64_t> multiprocessors = 0;  // of the last question
std::atomic<int64_t> examinations = 0;
constexpr uint64_t kAlgorithm = 101;

size_t sizeOf(int type) { return type == kF64 ? 8 : type == kF32 ? 4 : 2; }

double load(int type, uint64_t address, int64_t index) {
  const auto* const at = std::bit_cast<const std::byte*>(address) + index * static_cast<int64_t>(sizeOf(type));
  if (type == kF64) {
    double value = 0;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  uint32_t bits = 0;
  std::memcpy(&bits, at, sizeOf(type));
  return static_cast<double>(std::bit_cast<float>(type == kBF16 ? bits << 16U : bits));
}

void store(int type, uint64_t address, int64_t index, double value) {
  auto* const at = std::bit_cast<std::byte*>(address) + index * static_cast<int64_t>(sizeOf(type));
  if (type == kF64) {
    std::memcpy(at, &value, sizeof(value));
    return;
  }
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == kBF16) bits = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
  std::memcpy(at, &bits, sizeOf(type));
}

// One more than the last element's number.
int64_t extentOf(const Layout& layout) {
  return (layout.count - 1) * layout.batch_stride + (layout.columns - 1) * layout.leading + layout.rows;
}

bool hasKernel(const Product& product, int type) {
  return type == kF32 || type == kBF16 || (type == kF64 && product.epilogue == 1);
}

// CUBLASLT_EPILOGUE_RELU 2, BIAS 4, GELU 32, and the bias with either.
double activated(uint32_t epilogue, double value) {
  if ((epilogue & 2U) != 0) return value < 0 ? 0 : value;  // NaN stays
  if ((epilogue & 32U) == 0) return value;
  constexpr double kScale = 0.79788456080286535588;  // sqrt(2 / pi)
  return 0.5 * value * (1 + std::tanh(kScale * (value + 0.044715 * value * value * value)));
}

struct Call {
  Product product;
  Layout layouts[3];      // a, b, d
  uint64_t addresses[3];  // of them
  double beta = 0;
};

void multiply(const Call& call) {
  const auto& [a, b, d] = call.layouts;
  const int64_t inner = call.product.transposes_a != 0 ? a.rows : a.columns;
  for (int64_t batch = 0; batch < d.count; ++batch) {
    for (int64_t j = 0; j < d.columns; ++j) {
      for (int64_t i = 0; i < d.rows; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k) {
          const int64_t in_a = call.product.transposes_a != 0 ? k + i * a.leading : i + k * a.leading;
          const int64_t in_b = call.product.transposes_b != 0 ? j + k * b.leading : k + j * b.leading;
          sum += load(a.type, call.addresses[0], batch * a.batch_stride + in_a) *
                 load(b.type, call.addresses[1], batch * b.batch_stride + in_b);
        }
        const int64_t in_d = batch * d.batch_stride + i + j * d.leading;
        if (call.beta != 0) sum += call.beta * load(d.type, call.addresses[2], in_d);
        if ((call.product.epilogue & 4U) != 0) sum += load(d.type, call.product.bias, i);
        store(d.type, call.addresses[2], in_d, activated(call.product.epilogue, sum));
      }
    }
  }
}

template <class T>
T* as(void* handle) {
  return static_cast<T*>(handle);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are the library's
extern "C" {

int64_t fakeCublasQuestions() { return questions.load(); }
int64_t fakeCublasExaminations() { return examinations.load(); }
int64_t fakeCublasMultiprocessors() { return multiprocessors.load(); }

size_t cublasLtGetVersion() { return static_cast<size_t>(fake::settings().cublas_version); }

const char* cublasLtGetStatusName(int status) {
  if (status == kInvalidValue) return "CUBLAS_STATUS_INVALID_VALUE";
  return status == 13 ? "CUBLAS_STATUS_EXECUTION_FAILED" : "CUBLAS_STATUS_UNKNOWN";
}

int cublasLtCreate(void** handle) {
  *handle = new int(0);
  return fake::faultOf("cublasLtCreate");
}

int cublasLtDestroy(void* handle) {
  delete as<int>(handle);
  return 0;
}

int cublasLtMatmulDescCreate(void** product, int compute, int scale) {
  if ((compute == 70) != (scale == kF64)) return kInvalidValue;
  *product = new Product{.compute = compute};
  return 0;
}

int cublasLtMatmulDescDestroy(void* product) {
  delete as<Product>(product);
  return 0;
}

int cublasLtMatmulDescSetAttribute(void* handle, int attribute, const void* value, size_t bytes) {
  auto& product = *as<Product>(handle);
  const auto set = [&](auto& field) {
    if (bytes != sizeof(field)) return kInvalidValue;
    std::memcpy(&field, value, bytes);
    return 0;
  };
  switch (attribute) {
    case 3: return set(product.transposes_a);
    case 4: return set(product.transposes_b);
    case 7: {
      const int status = set(product.epilogue);
      const uint32_t activation = product.epilogue & ~4U;
      const bool is_known = product.epilogue == 1 || activation == 0 || activation == 2 || activation == 32;
      return is_known ? status : kInvalidValue;
    }
    case 8: return set(product.bias);
    case 15: return set(product.multiprocessors);
    default: return kInvalidValue;
  }
}

int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  if (leading < static_cast<int64_t>(rows)) return kInvalidValue;
  *layout = new Layout{
      .type = type, .rows = static_cast<int64_t>(rows), .columns = static_cast<int64_t>(columns), .leading = leading};
  return 0;
}

int cublasLtMatrixLayoutDestroy(void* layout) {
  delete as<Layout>(layout);
  return 0;
}

int cublasLtMatrixLayoutSetAttribute(void* handle, int attribute, const void* value, size_t bytes) {
  auto& layout = *as<Layout>(handle);
  if (attribute == 5 && bytes == sizeof(layout.count)) std::memcpy(&layout.count, value, bytes);
  if (attribute == 6 && bytes == sizeof(layout.batch_stride)) std::memcpy(&layout.batch_stride, value, bytes);
  return attribute == 5 || attribute == 6 ? 0 : kInvalidValue;
}

int cublasLtMatmulPreferenceCreate(void** preference) {
  *preference = new Preference;
  return 0;
}

int cublasLtMatmulPreferenceDestroy(void* preference) {
  delete as<Preference>(preference);
  return 0;
}

int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value, size_t bytes) {
  if (attribute == 1 && bytes == 8) std::memcpy(&as<Preference>(preference)->most_workspace, value, bytes);
  return 0;
}

int cublasLtMatmulAlgoGetHeuristic(void*, void* product, void* a, void*, void*, void*, void* preference, int most,
                                   Choice* choices, int* count) {
  ++questions;
  multiprocessors = as<Product>(product)->multiprocessors;
  *count = 0;
  if (!hasKernel(*as<Product>(product), as<Layout>(a)->type) || as<Preference>(preference)->most_workspace < kWorkspace)
    return kNotSupported;
  for (; *count < std::min(most, 2); ++*count) {
    choices[*count] = {};
    choices[*count].algorithm[0] = kAlgorithm - 1 + static_cast<uint64_t>(*count);
    choices[*count].workspace_bytes = kWorkspace;
    choices[*count].state = *count == 0 ? kNotSupported : 0;  // the first one is not to be had
  }
  return fake::faultOf("cublasLtMatmulAlgoGetHeuristic");
}

int cublasLtMatmulAlgoCheck(void*, void* product, void* a, void*, void*, void*, const uint64_t* algorithm,
                            Choice* result) {
  ++examinations;
  *result = {};
  if (const int fault = fake::faultOf("cublasLtMatmulAlgoCheck"); fault != 0) return fault;
  if (algorithm[0] != kAlgorithm) return kInvalidValue;
  if (!hasKernel(*as<Product>(product), as<Layout>(a)->type)) return kNotSupported;
  result->workspace_bytes = kWorkspace;
  result->state = kNotSupported;  // nothing that a caller may look at
  return 0;
}

int cublasLtMatmul(void*, void* product, const void* alpha, const void* a, void* a_layout, const void* b,
                   void* b_layout, const void* beta, const void* c, void* c_layout, void* d, void* d_layout,
                   const Choice* algorithm, void* workspace, size_t workspace_bytes, void* stream) {
  if (const int fault = fake::faultOf("cublasLtMatmul"); fault != 0) return fault;
  const bool is_double = as<Product>(product)->compute == 70;
  const auto scale = [&](const void* value) {
    return is_double ? *static_cast<const double*>(value) : static_cast<double>(*static_cast<const float*>(value));
  };
  const auto addressOf = [](const void* pointer) { return reinterpret_cast<uint64_t>(pointer); };
  const bool is_legal = algorithm->algorithm[0] == kAlgorithm && scale(alpha) == 1 && c == d && c_layout == d_layout &&
                        workspace_bytes >= kWorkspace && fake::isLegal(addressOf(workspace), workspace_bytes, false);
  if (!is_legal) return kInvalidValue;
  const Call call = {.product = *as<Product>(product),
                     .layouts = {*as<Layout>(a_layout), *as<Layout>(b_layout), *as<Layout>(d_layout)},
                     .addresses = {addressOf(a), addressOf(b), addressOf(d)},
                     .beta = scale(beta)};
  for (int i = 0; i < 3; ++i) {
    const auto bytes = static_cast<size_t>(extentOf(call.layouts[i])) * sizeOf(call.layouts[i].type);
    if (!fake::isLegal(call.addresses[i], bytes, false)) return kInvalidValue;
  }
  const auto run = [=] {
    std::memset(workspace, 0x5A, workspace_bytes);
    multiply(call);
  };
  fake::streamOf(stream)->push(fake::watched(fake::Activity::Kernel, run));
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
