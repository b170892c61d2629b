// CublasLibrary: NVIDIA's cuBLASLt, loaded when a matrix product is first prepared; own declarations of what is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cuda/driver_types.h"

namespace tokamak {

namespace cublas {

using Status = int;  // cublasStatus_t
using Handle = struct HandleObject*;
using Product = struct ProductObject*;        // cublasLtMatmulDesc_t
using Layout = struct LayoutObject*;          // cublasLtMatrixLayout_t
using Preference = struct PreferenceObject*;  // cublasLtMatmulPreference_t

inline constexpr Status kSuccess = 0;
inline constexpr Status kNoMemory = 3;  // of the host or the device
inline constexpr Status kInvalidValue = 7;
inline constexpr Status kNotSupported = 15;

// cudaDataType
inline constexpr int kF32 = 0;
inline constexpr int kF64 = 1;
inline constexpr int kF16 = 2;
inline constexpr int kBF16 = 14;
// cublasComputeType_t
inline constexpr int kComputeF32 = 68;
inline constexpr int kComputeF64 = 70;
// cublasLtMatmulDescAttributes_t
inline constexpr int kTransposeA = 3;
inline constexpr int kTransposeB = 4;
inline constexpr int kEpilogue = 7;
inline constexpr int kBiasPointer = 8;
inline constexpr int kMultiprocessors = 15;  // that the kernel is chosen for; 0: all
// cublasOperation_t
inline constexpr int32_t kTransposed = 1;
// cublasLtEpilogue_t; the bias is a bit that the activations go with
inline constexpr uint32_t kEpilogueDefault = 1;
inline constexpr uint32_t kEpilogueRelu = 2;
inline constexpr uint32_t kEpilogueBias = 4;
inline constexpr uint32_t kEpilogueGelu = 32;  // by tanh
// cublasLtMatrixLayoutAttribute_t
inline constexpr int kBatchCount = 5;
inline constexpr int kBatchStride = 6;
// cublasLtMatmulPreferenceAttributes_t
inline constexpr int kMostWorkspace = 1;
inline constexpr int kReductionSchemes = 3;
inline constexpr int kAlignmentA = 5;
inline constexpr int kAlignmentB = 6;
inline constexpr int kAlignmentC = 7;
inline constexpr int kAlignmentD = 8;
// cublasLtReductionScheme_t
inline constexpr uint32_t kReduceInComputeType = 2;

/// cublasLtMatmulAlgo_t: which of the library's kernels, how configured.
struct Algorithm {
  uint64_t data[8] = {};
};

/// cublasLtMatmulHeuristicResult_t.
struct Choice {
  Algorithm algorithm;
  size_t workspace_bytes = 0;
  Status state = kNotSupported;
  float waves = 0;
  int reserved[4] = {};
};
static_assert(sizeof(Choice) == 96);

}  // namespace cublas

struct CublasLibrary {
  size_t (*version)() = nullptr;
  const char* (*status_name)(cublas::Status status) = nullptr;
  cublas::Status (*create)(cublas::Handle* handle) = nullptr;
  cublas::Status (*destroy)(cublas::Handle handle) = nullptr;
  cublas::Status (*product_create)(cublas::Product* product, int compute_type, int scale_type) = nullptr;
  cublas::Status (*product_destroy)(cublas::Product product) = nullptr;
  cublas::Status (*product_set)(cublas::Product product, int attribute, const void* value, size_t bytes) = nullptr;
  cublas::Status (*layout_create)(cublas::Layout* layout, int type, uint64_t rows, uint64_t columns,
                                  int64_t leading) = nullptr;
  cublas::Status (*layout_destroy)(cublas::Layout layout) = nullptr;
  cublas::Status (*layout_set)(cublas::Layout layout, int attribute, const void* value, size_t bytes) = nullptr;
  cublas::Status (*preference_create)(cublas::Preference* preference) = nullptr;
  cublas::Status (*preference_destroy)(cublas::Preference preference) = nullptr;
  cublas::Status (*preference_set)(cublas::Preference, int attribute, const void* value, size_t bytes) = nullptr;
  cublas::Status (*choose)(cublas::Handle, cublas::Product, cublas::Layout a, cublas::Layout b, cublas::Layout c,
                           cublas::Layout d, cublas::Preference, int most, cublas::Choice* choices,
                           int* count) = nullptr;
  cublas::Status (*examine)(cublas::Handle, cublas::Product, cublas::Layout a, cublas::Layout b, cublas::Layout c,
                            cublas::Layout d, const cublas::Algorithm*, cublas::Choice* result) = nullptr;
  cublas::Status (*multiply)(cublas::Handle, cublas::Product, const void* alpha, const void* a, cublas::Layout,
                             const void* b, cublas::Layout, const void* beta, const void* c, cublas::Layout, void* d,
                             cublas::Layout, const cublas::Algorithm*, void* workspace, size_t workspace_bytes,
                             driver::Stream) = nullptr;

  std::string path;  ///< the file that was loaded

  /// The library in the file `named`; if that is empty, in the one that $TOKAMAK_CUBLASLT names; if that is not set
  /// either, what is loaded already, the loader's usual names, the folders of a CUDA toolkit, those of Python packages.
  /// Loaded once and kept for ever.
  /// Errors: Unsupported, with everything that was tried.
  static const CublasLibrary& load(const std::string& named = {});

  /// "CUBLAS_STATUS_NOT_SUPPORTED (15)".
  std::string describe(cublas::Status status) const;
};

/// The files and names that load() tries, in order.
std::vector<std::string> cublasCandidates();

}  // namespace tokamak
