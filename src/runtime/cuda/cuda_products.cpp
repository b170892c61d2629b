#include "runtime/cuda/cuda_products.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/require.h"

namespace tokamak {

namespace {

// What NVIDIA recommends for Hopper; earlier GPUs need less.
constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;
constexpr int kMostChoices = 8;

int libraryType(DataType dtype) {
  switch (dtype) {
    case DataType::F64: return cublas::kF64;
    case DataType::F16: return cublas::kF16;
    case DataType::BF16: return cublas::kBF16;
    default: return cublas::kF32;
  }
}

uint32_t epilogueOf(const LibraryProduct& product) {
  uint32_t epilogue = 0;
  if (product.bias == LibraryProduct::Bias::Epilogue) epilogue |= cublas::kEpilogueBias;
  if (product.activation == ProductActivation::Relu) epilogue |= cublas::kEpilogueRelu;
  if (product.activation == ProductActivation::GeluTanh) epilogue |= cublas::kEpilogueGelu;
  return epilogue == 0 ? cublas::kEpilogueDefault : epilogue;
}

// Only blocks that nobody uses any more are taken: the workspace is not given back while the device lives.
class NoStream final : public StreamClock {
 public:
  int64_t index() const override { return -1; }
  bool isDone(uint64_t) const override { return true; }
  bool waitDone(uint64_t) override { return true; }
};

}  // namespace

/// The library's descriptions of one product.
class CublasDescriptors {
 public:
  explicit CublasDescriptors(const CublasLibrary& library) : library_(library) {}
  CublasDescriptors(const CublasDescriptors&) = delete;
  CublasDescriptors& operator=(const CublasDescriptors&) = delete;
  ~CublasDescriptors() {
    for (const cublas::Layout made : {a, b, d})
      if (made != nullptr) library_.layout_destroy(made);
    if (product != nullptr) library_.product_destroy(product);
  }

  void describe(const CudaProducts& products, const LibraryProduct& wanted) {
    const auto check = [&](cublas::Status status) {
      products.check(status, "describing a product", wanted.toString());
    };
    const bool is_double = wanted.dtype == DataType::F64;
    check(library_.product_create(&product, is_double ? cublas::kComputeF64 : cublas::kComputeF32,
                                  is_double ? cublas::kF64 : cublas::kF32));
    const auto set = [&](int attribute, auto value) {
      check(library_.product_set(product, attribute, &value, sizeof(value)));
    };
    if (wanted.a.is_transposed) set(cublas::kTransposeA, cublas::kTransposed);
    if (wanted.b.is_transposed) set(cublas::kTransposeB, cublas::kTransposed);
    if (const uint32_t epilogue = epilogueOf(wanted); epilogue != cublas::kEpilogueDefault)
      set(cublas::kEpilogue, epilogue);
    if (wanted.bias == LibraryProduct::Bias::Epilogue)
      set(cublas::kBiasPointer, uint64_t{256});  // the call's address comes later; what is chosen may look at it
    if (wanted.multiprocessors > 0) set(cublas::kMultiprocessors, wanted.multiprocessors);
    const auto describeMatrix = [&](cublas::Layout& layout, const StoredMatrix& matrix, DataType dtype) {
      check(library_.layout_create(&layout, libraryType(dtype), static_cast<uint64_t>(matrix.rows),
                                   static_cast<uint64_t>(matrix.columns), matrix.leading));
      const auto count = static_cast<int32_t>(wanted.batch_count);
      check(library_.layout_set(layout, cublas::kBatchCount, &count, sizeof(count)));
      check(library_.layout_set(layout, cublas::kBatchStride, &matrix.batch_stride, sizeof(matrix.batch_stride)));
    };
    describeMatrix(a, wanted.a, wanted.dtype);
    describeMatrix(b, wanted.b, wanted.dtype);
    describeMatrix(d, wanted.d, wanted.result);
  }

  cublas::Product product = nullptr;
  cublas::Layout a = nullptr;
  cublas::Layout b = nullptr;
  cublas::Layout d = nullptr;

 private:
  const CublasLibrary& library_;
};

namespace {

class CublasWork final : public CudaWork {
 public:
  CublasWork(CudaProducts& products, LibraryProduct product, std::unique_ptr<const CublasDescriptors> descriptors,
             const cublas::Choice& choice, std::string name)
      : products_(products),
        product_(std::move(product)),
        descriptors_(std::move(descriptors)),
        choice_(choice),
        name_(std::move(name)) {}

  std::string_view name() const override { return name_; }
  int64_t hostBytes() const override {
    return static_cast<int64_t>(sizeof(CublasWork) + sizeof(CublasDescriptors) +
                                product_.calls.size() * sizeof(LibraryProduct::Call));
  }

  void makeReadyOn(DriverContext& /*context*/, driver::Stream stream) const override {
    if (choice_.workspace_bytes > 0) products_.workspaceOf(stream);
  }

  void enqueue(DriverContext& /*context*/, driver::Stream stream, std::span<void* const> addresses) const override {
    void* const workspace = choice_.workspace_bytes > 0 ? products_.workspaceOf(stream) : nullptr;
    // The bias is part of the description, so that calls go one after the other.
    std::unique_lock<std::mutex> lock;
    if (product_.bias == LibraryProduct::Bias::Epilogue) {
      lock = std::unique_lock(mutex_);
      void* const bias = addresses[product_.bias_operand];
      products_.check(products_.library().product_set(descriptors_->product, cublas::kBiasPointer,
                                                      static_cast<const void*>(&bias), sizeof(bias)),
                      "passing the bias to", name_);
    }
    for (const LibraryProduct::Call& call : product_.calls) multiply(call, stream, addresses, workspace);
  }

 private:
  void multiply(const LibraryProduct::Call& call, driver::Stream stream, std::span<void* const> addresses,
                void* workspace) const {
    const auto at = [&](const StoredMatrix& matrix, int64_t offset, DataType dtype) -> void* {
      return static_cast<std::byte*>(addresses[matrix.operand]) + offset * sizeOf(dtype);
    };
    // A double or a float, as the type of the scales is.
    const bool is_double = product_.dtype == DataType::F64;
    const std::array<double, 2> doubles = {1, product_.bias == LibraryProduct::Bias::Before ? 1.0 : 0.0};
    const std::array<float, 2> floats = {1, static_cast<float>(doubles[1])};
    const auto scale = [&](size_t i) -> const void* {
      return is_double ? static_cast<const void*>(&doubles[i]) : static_cast<const void*>(&floats[i]);
    };
    const DataType dtype = product_.dtype;
    void* const d = at(product_.d, call.d, product_.result);
    products_.check(products_.library().multiply(
                        products_.handle(), descriptors_->product, scale(0), at(product_.a, call.a, dtype),
                        descriptors_->a, at(product_.b, call.b, dtype), descriptors_->b, scale(1), d, descriptors_->d,
                        d, descriptors_->d, &choice_.algorithm, workspace, choice_.workspace_bytes, stream),
                    "launching", name_);
  }

  CudaProducts& products_;
  LibraryProduct product_;
  std::unique_ptr<const CublasDescriptors> descriptors_;
  cublas::Choice choice_;
  std::string name_;
  mutable std::mutex mutex_;
};

}  // namespace

CudaProducts::CudaProducts(std::shared_ptr<DriverContext> context, Arena& memory, const std::string& library,
                           std::string target, std::shared_ptr<KernelCache> records)
    : context_(std::move(context)),
      memory_(memory),
      library_(CublasLibrary::load(library)),
      records_(std::move(records),
               {.library = fmt::format("cuBLASLt {}", library_.version()),
                .target = std::move(target),
                .preference = fmt::format("{} bytes of workspace, no sums in the order of blocks", kWorkspaceBytes)}) {
  const CurrentContext current(*context_);
  check(library_.create(&handle_), "opening", context_->name());
}

CudaProducts::~CudaProducts() {
  context_->quietly([&](const DriverLibrary&) { library_.destroy(handle_); });
}

void CudaProducts::check(cublas::Status status, const char* operation, const std::string& product) const {
  if (status == cublas::kSuccess) [[likely]]
    return;
  const std::string fault = library_.describe(status);
  TK_REQUIRE(status != cublas::kNoMemory, OutOfMemory, "{}: cuBLASLt, {} {}: it reports {}", context_->name(),
             operation, product, fault);
  TK_RAISE(Device, "{}: cuBLASLt, {} {}: it reports {}", context_->name(), operation, product, fault);
}

std::shared_ptr<const CudaWork> CudaProducts::make(const LibraryProduct& product, std::string name) {
  const CurrentContext current(*context_);
  auto descriptors = std::make_unique<CublasDescriptors>(library_);
  descriptors->describe(*this, product);
  const std::optional<cublas::Choice> choice = choose(product, *descriptors);
  if (!choice) return nullptr;
  return std::make_shared<CublasWork>(*this, product, std::move(descriptors), *choice, std::move(name));
}

std::optional<cublas::Choice> CudaProducts::choose(const LibraryProduct& product,
                                                   const CublasDescriptors& descriptors) {
  const std::string text = product.toString();
  const std::lock_guard lock(mutex_);
  if (const auto known = choices_.find(text); known != choices_.end()) return known->second;
  std::optional<cublas::Choice> choice = recordedChoice(text, descriptors);
  if (!choice) {
    choice = askLibrary(product, descriptors);
    if (choice) records_.store(text, choice->algorithm);
  }
  return choices_[text] = choice;
}

// What the library says of a recorded algorithm; nothing where there is none that it runs here.
std::optional<cublas::Choice> CudaProducts::recordedChoice(const std::string& product,
                                                           const CublasDescriptors& descriptors) {
  const std::optional<cublas::Algorithm> algorithm = records_.find(product);
  if (!algorithm) return std::nullopt;
  cublas::Choice choice;
  const cublas::Status status = library_.examine(handle_, descriptors.product, descriptors.a, descriptors.b,
                                                 descriptors.d, descriptors.d, &*algorithm, &choice);
  // The result's own state is only said to be set by the heuristic.
  if (status != cublas::kSuccess || choice.workspace_bytes > static_cast<size_t>(kWorkspaceBytes)) return std::nullopt;
  choice.state = cublas::kSuccess;
  choice.algorithm = *algorithm;
  return choice;
}

// The library's first choice among kernels whose sums do not depend on the order in which blocks finish.
std::optional<cublas::Choice> CudaProducts::askLibrary(const LibraryProduct& product,
                                                       const CublasDescriptors& descriptors) {
  const std::string text = product.toString();
  cublas::Preference preference = nullptr;
  check(library_.preference_create(&preference), "choosing a kernel for", text);
  const std::unique_ptr<cublas::PreferenceObject, cublas::Status (*)(cublas::Preference)> owner(
      preference, library_.preference_destroy);
  const auto set = [&](int attribute, auto value) {
    check(library_.preference_set(preference, attribute, &value, sizeof(value)), "choosing a kernel for", text);
  };
  const bool has_epilogue = product.bias == LibraryProduct::Bias::Epilogue;
  set(cublas::kMostWorkspace, static_cast<uint64_t>(kWorkspaceBytes));
  set(cublas::kReductionSchemes, cublas::kReduceInComputeType);
  set(cublas::kAlignmentA, static_cast<uint32_t>(product.a.alignment));
  set(cublas::kAlignmentB, static_cast<uint32_t>(product.b.alignment));
  set(cublas::kAlignmentC, static_cast<uint32_t>(product.d.alignment));
  set(cublas::kAlignmentD, static_cast<uint32_t>(has_epilogue ? std::min(product.d.alignment, product.bias_alignment)
                                                              : product.d.alignment));
  std::array<cublas::Choice, kMostChoices> choices;
  int count = 0;
  const cublas::Status status =
      library_.choose(handle_, descriptors.product, descriptors.a, descriptors.b, descriptors.d, descriptors.d,
                      preference, kMostChoices, choices.data(), &count);
  // "Invalid" is what it says of combinations that it does not have.
  const bool has_none = status == cublas::kNotSupported || status == cublas::kInvalidValue;
  if (!has_none) check(status, "choosing a kernel for", text);
  const auto found = std::find_if(choices.begin(), choices.begin() + (has_none ? 0 : count),
                                  [](const cublas::Choice& choice) { return choice.state == cublas::kSuccess; });
  if (found == choices.begin() + (has_none ? 0 : count)) return std::nullopt;
  return *found;
}

void* CudaProducts::workspaceOf(driver::Stream stream) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(workspaces_, stream, &std::pair<driver::Stream, void*>::first);
  if (found != workspaces_.end()) return found->second;
  NoStream nobody;
  workspaces_.emplace_back(stream, nullptr);
  try {
    workspaces_.back().second = memory_.allocate(kWorkspaceBytes, MemoryKind::Device, nobody).address;
  } catch (...) {
    workspaces_.pop_back();
    throw;
  }
  return workspaces_.back().second;
}

}  // namespace tokamak
