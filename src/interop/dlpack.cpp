#include "interop/dlpack.h"

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "device/hazard_tracker.h"
#include "device/in_flight_calls.h"

namespace tokamak {

namespace dlpack {

namespace {

struct TypeRow {
  DataType dtype;
  TypeCode code;
  uint8_t bits;
};

constexpr std::array kTypes = {
    TypeRow{DataType::F64, TypeCode::Float, 64}, TypeRow{DataType::F32, TypeCode::Float, 32},
    TypeRow{DataType::F16, TypeCode::Float, 16}, TypeRow{DataType::BF16, TypeCode::BFloat, 16},
    TypeRow{DataType::I32, TypeCode::Int, 32},   TypeRow{DataType::I64, TypeCode::Int, 64},
    TypeRow{DataType::Bool, TypeCode::Bool, 8}};

}  // namespace

std::optional<DataType> dataTypeOf(const Type& type) {
  if (type.lanes != 1) return std::nullopt;
  for (const TypeRow& row : kTypes)
    if (row.code == type.code && row.bits == type.bits) return row.dtype;
  return std::nullopt;
}

Type typeOf(DataType dtype) {
  for (const TypeRow& row : kTypes)
    if (row.dtype == dtype) return {.code = row.code, .bits = row.bits};
  TK_RAISE(Internal, "{} has no DLPack type", dataTypeName(dtype));
}

std::string nameOf(const Type& type) {
  constexpr std::array kNames = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  const auto code = static_cast<size_t>(type.code);
  if (code >= kNames.size())
    return fmt::format("type code {} of {} bits", code, static_cast<int>(type.bits));  // smaller floats, mostly
  std::string name = kNames[code];
  if (type.code != TypeCode::Bool) name += fmt::format("{}", type.bits);
  return type.lanes == 1 ? name : fmt::format("{}x{}", name, type.lanes);
}

}  // namespace dlpack

/// What was let go while work may still use it.
class DlpackExchange::Retired {
 public:
  explicit Retired(Device& device) : device_holder_(device.holder()), device_(device) {}

  void add(Stream& stream, std::function<void()> deleter) {
    std::unique_ptr<Event> done;
    try {
      done = device_.createEvent();
      device_.record(*done, stream);
    } catch (const Error&) {  // the device is lost: nothing runs any more
      if (!isDeferring()) return deleter();
      done = nullptr;
    }
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back({std::move(done), std::move(deleter)});
    }
    if (!isDeferring()) collect();
    if (is_closed_.load()) finish();
  }

  void defer() { is_deferring_.store(true); }
  bool isDeferring() const { return is_deferring_.load(); }

  void collect() {
    for (Item& item : take([&](const Item& one) { return isOver(one); })) item.deleter();
  }

  void close() {
    is_closed_.store(true);
    finish();
  }

 private:
  struct Item {
    std::unique_ptr<Event> done;
    std::function<void()> deleter;
  };

  bool isOver(const Item& item) const { return item.done == nullptr || device_.isDone(*item.done); }

  // Deleters run without the lock: they may let go of other tensors.
  template <class Wanted>
  std::vector<Item> take(const Wanted& wanted) {
    std::vector<Item> taken;
    const std::lock_guard lock(mutex_);
    std::vector<Item> left;
    for (Item& item : waiting_) (wanted(item) ? taken : left).push_back(std::move(item));
    waiting_ = std::move(left);
    return taken;
  }

  // Asking does not take a failure from those who synchronize.
  void finish() {
    for (Item& item : take([](const Item&) { return true; })) {
      while (!isOver(item)) std::this_thread::sleep_for(std::chrono::microseconds(20));
      item.deleter();
    }
  }

  const std::shared_ptr<Device> device_holder_;
  Device& device_;
  std::atomic<bool> is_closed_ = false;
  std::atomic<bool> is_deferring_ = false;
  std::mutex mutex_;
  std::vector<Item> waiting_;
};

namespace {

DataType dtypeOf(const dlpack::Type& type) {
  const auto dtype = dlpack::dataTypeOf(type);
  TK_REQUIRE(dtype, Bind,
             "DLPack: elements of type {} were given; legal are float16, float32, float64, bfloat16, int32, int64 and "
             "bool",
             dlpack::nameOf(type));
  return *dtype;
}

// Which memory of this device it is. A device without an ordinal is the host.
MemoryKind memoryKindOf(const Device& device, const dlpack::Device& given) {
  using dlpack::DeviceType;
  const DeviceProperties& properties = device.properties();
  const bool is_gpu = properties.ordinal >= 0;
  if (is_gpu && (given.type == DeviceType::Cuda || given.type == DeviceType::CudaManaged)) {
    TK_REQUIRE(given.id == properties.ordinal, Bind, "DLPack: a tensor of CUDA device {} was given to {}", given.id,
               properties.name);
    return MemoryKind::Device;
  }
  if (given.type == DeviceType::CudaHost) return MemoryKind::Pinned;
  TK_REQUIRE(given.type == DeviceType::Cpu, Bind, "DLPack: a tensor of device type {} was given to {}; legal are {}",
             static_cast<int32_t>(given.type), properties.name,
             is_gpu ? "1 (CPU), 2 (CUDA), 3 (CUDA host) and 13 (CUDA managed)" : "1 (CPU) and 3 (CUDA host)");
  return is_gpu ? MemoryKind::Host : MemoryKind::Device;
}

dlpack::Device deviceOf(const Tensor& tensor) {
  const int64_t ordinal = tensor.device().properties().ordinal;
  if (ordinal < 0 || tensor.kind() == MemoryKind::Host) return {};
  if (tensor.kind() == MemoryKind::Pinned) return {.type = dlpack::DeviceType::CudaHost};
  return {.type = dlpack::DeviceType::Cuda, .id = static_cast<int32_t>(ordinal)};
}

// An array as a tensor would have it, checked.
struct Checked {
  DataType dtype = DataType::F32;
  MemoryKind kind = MemoryKind::Device;
  void* address = nullptr;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

Checked checkedOf(Device& device, const dlpack::Array& array) {
  Checked checked{.dtype = dtypeOf(array.type), .kind = memoryKindOf(device, array.device)};
  TK_REQUIRE(array.rank >= 0 && array.rank <= static_cast<int32_t>(Tensor::kMaxRank), Bind,
             "DLPack: an array of {} axes was given; legal are 0 to {}", array.rank, Tensor::kMaxRank);
  TK_REQUIRE(array.rank == 0 || array.sizes != nullptr, Bind, "DLPack: an array of {} axes was given without sizes",
             array.rank);
  checked.sizes.assign(array.sizes, array.sizes + array.rank);
  const int64_t numel = checkedNumel(checked.sizes);
  if (array.strides != nullptr) {
    checked.strides.assign(array.strides, array.strides + array.rank);
  } else {
    checked.strides.resize(checked.sizes.size());
    fillRowMajorStrides(checked.sizes, checked.strides);
  }
  TK_REQUIRE(array.data != nullptr || numel == 0, Bind, "DLPack: an array of {} elements lies at a null address",
             numel);
  if (array.data == nullptr) return checked;
  TK_REQUIRE(array.byte_offset <= UINTPTR_MAX - reinterpret_cast<uintptr_t>(array.data) &&
                 array.byte_offset <= static_cast<uint64_t>(INT64_MAX),
             Bind, "DLPack: {} bytes behind {} there is no memory", array.byte_offset, array.data);
  checked.address = static_cast<std::byte*>(array.data) + array.byte_offset;
  TK_REQUIRE(reinterpret_cast<uintptr_t>(checked.address) % static_cast<uintptr_t>(sizeOf(checked.dtype)) == 0, Bind,
             "DLPack: elements of {} bytes lie at {}; a multiple of their size is legal", sizeOf(checked.dtype),
             checked.address);
  if (numel > 0) device.requireMemory(checked.address, checked.kind);
  return checked;
}

void requireGiven(const Device& device, const void* given, const std::shared_ptr<Stream>& stream) {
  TK_REQUIRE(given != nullptr, Usage, "DLPack: no array was given");
  TK_REQUIRE(stream != nullptr, Usage, "DLPack: an array was given without a stream to use it on");
  device.requireOwn(*stream, "DLPack");
}

// Calls the deleter of what was taken, once nobody uses it.
template <class Given, class Retired>
struct Taken {
  Taken(std::shared_ptr<Retired> to, std::shared_ptr<Stream> on) : retired(std::move(to)), stream(std::move(on)) {}
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() {
    if (given == nullptr || given->deleter == nullptr) return;
    // The stream is held until its work is done.
    retired->add(*stream, [array = given, held = stream] { array->deleter(array); });
  }
  std::shared_ptr<Retired> retired;
  std::shared_ptr<Stream> stream;
  Given* given = nullptr;  // null: still the caller's
};

enum class Access : uint8_t { Free, ReadOnly };

template <class Given, class Retired>
Tensor takeArray(Device& device, Given* given, const std::shared_ptr<Stream>& stream,
                 const std::shared_ptr<Retired>& retired, Access access) {
  const Checked checked = checkedOf(device, given->array);
  auto taken = std::make_shared<Taken<Given, Retired>>(retired, stream);
  Tensor tensor =
      Tensor::borrow(device, checked.address, checked.dtype, checked.sizes, checked.strides, checked.kind, taken);
  if (access == Access::ReadOnly) tensor.buffer()->forbidWriting();
  // What is on the stream may be what makes the data.
  device.hazards().accessOn(*stream, tensor, MemoryAccess::Update);
  taken->given = given;
  return tensor;
}

// What is given, with what it refers to.
template <class Given>
struct Exported {
  explicit Exported(const Tensor& exported)
      : tensor(exported),
        sizes(exported.sizes().begin(), exported.sizes().end()),
        strides(exported.strides().begin(), exported.strides().end()) {
    given.context = this;
    given.deleter = [](Given* done) { delete static_cast<Exported*>(done->context); };
    given.array = {.data = exported.data(),
                   .device = deviceOf(exported),
                   .rank = static_cast<int32_t>(exported.rank()),
                   .type = dlpack::typeOf(exported.dtype()),
                   .sizes = sizes.data(),
                   .strides = strides.data()};
  }
  Tensor tensor;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  Given given;
};

void makeReady(Device& device, const Tensor& tensor, const std::shared_ptr<Stream>& stream) {
  TK_REQUIRE(tensor.isDefined() && &tensor.device() == &device, Bind,
             "DLPack: a tensor that is none of {}'s cannot be given away by it", device.properties().name);
  // Whoever gets it may write it, unless it says otherwise.
  const MemoryAccess access = tensor.buffer()->isReadOnly() ? MemoryAccess::Read : MemoryAccess::Update;
  const bool is_for_host = tensor.buffer()->isHostReadable();
  if (stream == nullptr || is_for_host) {
    tensor.waitReady();
    device.hazards().waitOnHost(tensor, access);
  }
  if (is_for_host) device.hazards().shareWithHost(tensor);
  if (stream == nullptr) return;
  device.requireOwn(*stream, "DLPack");
  if (!is_for_host) device.hazards().accessOn(*stream, tensor, access);
  tensor.buffer()->moveTo(stream);
}

}  // namespace

DlpackExchange::DlpackExchange(Device& device) : device_(device), retired_(std::make_shared<Retired>(device)) {}

DlpackExchange::~DlpackExchange() { retired_->close(); }

void DlpackExchange::collect() {
  device_.inFlightCalls().letGoOfWhatIsDone();
  retired_->collect();
}

void DlpackExchange::deferDeleters() { retired_->defer(); }

Tensor DlpackExchange::take(dlpack::ManagedVersioned* given, const std::shared_ptr<Stream>& stream) {
  requireGiven(device_, given, stream);
  TK_REQUIRE(given->version.major == 1, Unsupported, "DLPack: an array of version {}.{} was given; 1.x is understood",
             given->version.major, given->version.minor);
  if (!retired_->isDeferring()) collect();
  const bool is_read_only = (given->flags & dlpack::kReadOnly) != 0;
  return takeArray(device_, given, stream, retired_, is_read_only ? Access::ReadOnly : Access::Free);
}

Tensor DlpackExchange::take(dlpack::Managed* given, const std::shared_ptr<Stream>& stream) {
  requireGiven(device_, given, stream);
  if (!retired_->isDeferring()) collect();
  return takeArray(device_, given, stream, retired_, Access::Free);
}

dlpack::ManagedVersioned* DlpackExchange::give(const Tensor& tensor, const std::shared_ptr<Stream>& stream) const {
  makeReady(device_, tensor, stream);
  auto exported = std::make_unique<Exported<dlpack::ManagedVersioned>>(tensor);
  if (tensor.buffer()->isReadOnly()) exported->given.flags |= dlpack::kReadOnly;
  return &exported.release()->given;
}

dlpack::Managed* DlpackExchange::giveUnversioned(const Tensor& tensor, const std::shared_ptr<Stream>& stream) const {
  TK_REQUIRE(!tensor.isDefined() || !tensor.buffer()->isReadOnly(), Bind,
             "DLPack: a tensor that may not be written cannot be given as version 0.x, which does not say so");
  makeReady(device_, tensor, stream);
  return &std::make_unique<Exported<dlpack::Managed>>(tensor).release()->given;
}

}  // namespace tokamak
