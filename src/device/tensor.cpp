#include "device/tensor.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "device/hazard_tracker.h"

namespace tokamak {

namespace {

std::string bracketed(std::span<const int64_t> numbers) { return fmt::format("[{}]", joined(numbers)); }

struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// The bytes that a view touches, seen from its first element. Errors: Bind when they do not fit 63 bits.
ByteRange touchedBytes(DataType dtype, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                       int64_t numel) {
  if (numel == 0) return {};
  __extension__ using Wide = __int128;
  Wide lowest = 0;
  Wide highest = 0;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const Wide reach = static_cast<Wide>(sizes[axis] - 1) * strides[axis];
    (reach < 0 ? lowest : highest) += reach;
  }
  // Elements come first: 127 bits of them times their size would not fit.
  constexpr auto kLimit = static_cast<Wide>(1) << 62;
  const bool has_place = lowest > -kLimit && highest < kLimit;
  const Wide begin = has_place ? lowest * sizeOf(dtype) : -kLimit;
  const Wide end = has_place ? (highest + 1) * sizeOf(dtype) : kLimit;
  TK_REQUIRE(begin > -kLimit && end < kLimit, Bind, "tensor: sizes {} with strides {} reach beyond any memory",
             bracketed(sizes), bracketed(strides));
  return {static_cast<int64_t>(begin), static_cast<int64_t>(end)};
}

int64_t checkedBytes(DataType dtype, std::span<const int64_t> sizes) {
  int64_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(checkedNumel(sizes), sizeOf(dtype), &bytes);
  TK_REQUIRE(!overflows, OutOfMemory, "tensor: {}{} takes more bytes than any memory has", dataTypeName(dtype),
             bracketed(sizes));
  return bytes;
}

void requireAxis(const char* operation, const Tensor& tensor, int64_t axis) {
  TK_REQUIRE(0 <= axis && axis < tensor.rank(), Bind, "{}: axis {} of a tensor of sizes {}; legal are 0 <= axis < {}",
             operation, axis, bracketed(tensor.sizes()), tensor.rank());
}

}  // namespace

int64_t checkedNumel(std::span<const int64_t> sizes) {
  TK_REQUIRE(sizes.size() <= Tensor::kMaxRank, Bind, "tensor: {} axes were asked for; at most {} are legal",
             sizes.size(), Tensor::kMaxRank);
  const bool has_negative = std::ranges::any_of(sizes, [](int64_t size) { return size < 0; });
  TK_REQUIRE(!has_negative, Bind, "tensor: sizes {} were asked for; a size is not negative", bracketed(sizes));
  if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
  int64_t numel = 1;
  for (const int64_t size : sizes) {
    const bool overflows = __builtin_mul_overflow(numel, size, &numel);
    TK_REQUIRE(!overflows, OutOfMemory, "tensor: sizes {} have more elements than any memory", bracketed(sizes));
  }
  return numel;
}

void fillRowMajorStrides(std::span<const int64_t> sizes, std::span<int64_t> strides) {
  int64_t stride = 1;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    strides[axis] = stride;
    // Only a tensor without elements can overflow here; its strides are never used.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(sizes[axis], 1), &stride)) stride = 0;
  }
}

Buffer::Buffer(Device& device, std::shared_ptr<Stream> stream, void* address, int64_t bytes, MemoryKind kind,
               std::shared_ptr<void> keeper)
    : device_(&device),
      device_holder_(device.holder()),
      stream_(std::move(stream)),
      address_(address),
      bytes_(bytes),
      kind_(kind),
      keeper_(std::move(keeper)) {}

Buffer::~Buffer() {
  if (tracked_ != nullptr) device_->hazards().letGo(*this);
  if (stream_ != nullptr) device_->release(address_, bytes_, kind_, *stream_);
}

std::shared_ptr<Buffer> Buffer::allocate(Device& device, std::shared_ptr<Stream> stream, int64_t bytes,
                                         MemoryKind kind) {
  TK_REQUIRE(stream != nullptr, Usage, "buffer: {} bytes were asked for without a stream", bytes);
  device.requireOwn(*stream, "buffer");
  // The owner comes first, so that the memory cannot be lost between the two.
  std::shared_ptr<Buffer> buffer(new Buffer(device, nullptr, nullptr, bytes, kind, nullptr));
  buffer->address_ = device.allocate(bytes, kind, *stream);
  buffer->stream_ = std::move(stream);
  buffer->is_settled_ = false;
  return buffer;
}

std::shared_ptr<Buffer> Buffer::borrow(Device& device, void* address, int64_t bytes, MemoryKind kind,
                                       std::shared_ptr<void> keeper, Lender lender) {
  std::shared_ptr<Buffer> buffer(new Buffer(device, nullptr, address, bytes, kind, std::move(keeper)));
  buffer->is_callers_ = lender == Lender::Caller;
  return buffer;
}

bool Buffer::isHostReadable() const {
  return kind_ != MemoryKind::Device || device_->properties().host_reads_device_memory;
}

void Buffer::lendAnew(void* address, bool is_read_only) {
  device_->hazards().move(*this, address);
  is_read_only_ = is_read_only;
  is_written_by_calls_ = false;
}

void Buffer::moveTo(std::shared_ptr<Stream> stream) {
  if (stream_ != nullptr) stream_ = std::move(stream);
}

Tensor::Tensor(std::shared_ptr<Buffer> buffer, int64_t offset, DataType dtype, std::span<const int64_t> sizes,
               std::span<const int64_t> strides)
    : buffer_(std::move(buffer)), offset_(offset), numel_(checkedNumel(sizes)), rank_(sizes.size()), dtype_(dtype) {
  TK_REQUIRE(buffer_ != nullptr, Usage, "tensor: sizes {} without a buffer", bracketed(sizes));
  TK_REQUIRE(strides.size() == sizes.size(), Bind, "tensor: sizes {} with strides {}; one stride per axis is legal",
             bracketed(sizes), bracketed(strides));
  const ByteRange touched = touchedBytes(dtype, sizes, strides, numel_);
  TK_REQUIRE(
      offset >= 0 && offset <= buffer_->bytes() && touched.begin >= -offset && touched.end <= buffer_->bytes() - offset,
      Bind, "tensor: {}{} with strides {} at byte {} does not fit a buffer of {} bytes", dataTypeName(dtype),
      bracketed(sizes), bracketed(strides), offset, buffer_->bytes());
  std::ranges::copy(sizes, sizes_.begin());
  // Where nothing moves along an axis, its stride does not matter, and other libraries leave there what reversing made
  // of it, or what no memory has.
  constexpr int64_t kMost = int64_t{1} << 40;
  std::array<int64_t, kMaxRank> usual = {};
  fillRowMajorStrides(sizes, std::span(usual).first(rank_));
  for (size_t axis = 0; axis < rank_; ++axis) {
    const bool is_moved_along = sizes[axis] > 1 && numel_ > 0;
    const bool is_usable = is_moved_along || (strides[axis] >= 0 && strides[axis] <= kMost);
    strides_[axis] = is_usable ? strides[axis] : usual[axis];
  }
}

Tensor Tensor::empty(Device& device, std::shared_ptr<Stream> stream, DataType dtype, std::span<const int64_t> sizes,
                     MemoryKind kind) {
  const int64_t bytes = checkedBytes(dtype, sizes);
  std::array<int64_t, kMaxRank> strides = {};
  fillRowMajorStrides(sizes, std::span(strides).first(sizes.size()));
  return {Buffer::allocate(device, std::move(stream), bytes, kind), 0, dtype, sizes,
          std::span<const int64_t>(strides).first(sizes.size())};
}

Tensor Tensor::emptyOnHost(Device& device, std::shared_ptr<Stream> stream, DataType dtype,
                           std::span<const int64_t> sizes) {
  Stream* const queue = stream.get();
  Tensor tensor = empty(device, std::move(stream), dtype, sizes, MemoryKind::Host);
  device.synchronize(*queue);  // earlier work of the stream may still use the memory
  tensor.buffer()->settle();
  return tensor;
}

Tensor Tensor::borrow(Device& device, void* address, DataType dtype, std::span<const int64_t> sizes,
                      std::span<const int64_t> strides, MemoryKind kind, std::shared_ptr<void> keeper,
                      Buffer::Lender lender) {
  const int64_t numel = checkedNumel(sizes);
  TK_REQUIRE(strides.size() == sizes.size(), Bind, "tensor: sizes {} with strides {}; one stride per axis is legal",
             bracketed(sizes), bracketed(strides));
  TK_REQUIRE(address != nullptr || numel == 0, Bind, "tensor: sizes {} at a null address", bracketed(sizes));
  const ByteRange touched = touchedBytes(dtype, sizes, strides, numel);
  uintptr_t end = 0;
  const auto at = reinterpret_cast<uintptr_t>(address);
  TK_REQUIRE(at >= static_cast<uintptr_t>(-touched.begin) &&
                 !__builtin_add_overflow(at, static_cast<uintptr_t>(touched.end), &end),
             Bind, "tensor: sizes {} with strides {} reach beyond any memory from {}", bracketed(sizes),
             bracketed(strides), address);
  auto* const first = static_cast<std::byte*>(address) + touched.begin;
  auto buffer = Buffer::borrow(device, first, touched.end - touched.begin, kind, std::move(keeper), lender);
  return {std::move(buffer), -touched.begin, dtype, sizes, strides};
}

Tensor Tensor::wrapHost(Device& device, void* address, int64_t count, DataType dtype, std::span<const int64_t> sizes,
                        bool is_read_only) {
  const int64_t numel = checkedNumel(sizes);
  TK_REQUIRE(numel == count, Bind, "tensor: sizes {} have {} elements, and {} were given to be wrapped",
             bracketed(sizes), numel, count);
  return borrowHost(device, address, dtype, sizes, nullptr, is_read_only);
}

Tensor Tensor::borrowHost(Device& device, void* address, DataType dtype, std::span<const int64_t> sizes,
                          const int64_t* strides, bool is_read_only) {
  checkedNumel(sizes);  // as many axes as there is room for
  std::array<int64_t, kMaxRank> row_major = {};
  if (strides == nullptr) {
    fillRowMajorStrides(sizes, std::span(row_major).first(sizes.size()));
    strides = row_major.data();
  }
  const MemoryKind kind = device.properties().host_reads_device_memory ? MemoryKind::Device : MemoryKind::Host;
  Tensor tensor = borrow(device, address, dtype, sizes, {strides, sizes.size()}, kind);
  if (is_read_only) tensor.buffer()->forbidWriting();
  return tensor;
}

bool Tensor::tryBorrowAnew(void* address, bool is_read_only) {
  if (buffer_.use_count() != 1 || buffer_->isOwned()) return false;
  buffer_->lendAnew(static_cast<std::byte*>(address) - offset_, is_read_only);
  ready_ = nullptr;
  is_event_given_ = false;
  return true;
}

void Tensor::requireElements(DataType dtype) const {
  TK_REQUIRE(buffer_ != nullptr && dtype == dtype_ && isContiguous(), Bind,
             "read: a tensor of type {} with sizes {} and strides {} is not read as elements of type {} in row-major "
             "order",
             buffer_ == nullptr ? "none" : dataTypeName(dtype_), bracketed(sizes()), bracketed(strides()),
             dataTypeName(dtype));
}

int64_t Tensor::size(int64_t axis) const {
  requireAxis("size", *this, axis);
  return sizes_[static_cast<size_t>(axis)];
}

bool Tensor::isContiguous() const {
  if (numel_ == 0) return true;
  int64_t expected = 1;
  for (size_t axis = rank_; axis-- > 0;) {
    if (sizes_[axis] == 1) continue;  // its stride is never used
    if (strides_[axis] != expected) return false;
    expected *= sizes_[axis];
  }
  return true;
}

Tensor Tensor::select(int64_t axis, int64_t index) const {
  requireAxis("select", *this, axis);
  const auto a = static_cast<size_t>(axis);
  TK_REQUIRE(0 <= index && index < sizes_[a], Bind,
             "select: index {} of axis {} of sizes {}; legal are 0 <= index < {}", index, axis, bracketed(sizes()),
             sizes_[a]);
  Tensor view = *this;
  view.rank_ = rank_ - 1;
  std::copy(sizes_.begin() + axis + 1, sizes_.end(), view.sizes_.begin() + axis);
  std::copy(strides_.begin() + axis + 1, strides_.end(), view.strides_.begin() + axis);
  view.numel_ = checkedNumel(view.sizes());
  if (view.numel_ > 0) view.offset_ += index * strides_[a] * sizeOf(dtype_);
  return view;
}

Tensor Tensor::slice(int64_t axis, int64_t start, int64_t stop) const {
  requireAxis("slice", *this, axis);
  const auto a = static_cast<size_t>(axis);
  TK_REQUIRE(0 <= start && start <= stop && stop <= sizes_[a], Bind,
             "slice: {} to {} of axis {} of sizes {}; legal are 0 <= start <= stop <= {}", start, stop, axis,
             bracketed(sizes()), sizes_[a]);
  Tensor view = *this;
  view.sizes_[a] = stop - start;
  view.numel_ = checkedNumel(view.sizes());
  if (view.numel_ > 0) view.offset_ += start * strides_[a] * sizeOf(dtype_);  // an empty view stays inside the buffer
  return view;
}

void Tensor::waitReady() const {
  device().hazards().waitOnHost(*this, MemoryAccess::Read);
  if (ready_ != nullptr) device().synchronize(*ready_);
}

void* Tensor::hostData() const {
  requireHostReadable();
  TK_REQUIRE(!buffer_->isReadOnly(), Bind,
             "host data: a tensor of sizes {} lies in memory that may only be read, and is to be written",
             bracketed(sizes()));
  device().hazards().waitOnHost(*this, MemoryAccess::Update);
  if (ready_ != nullptr) device().synchronize(*ready_);
  return data();
}

const void* Tensor::hostDataToRead() const {
  requireHostReadable();
  waitReady();
  return data();
}

void Tensor::requireHostReadable() const {
  TK_REQUIRE(buffer_ != nullptr && buffer_->isHostReadable(), Bind,
             "host data: a tensor of sizes {} in {} memory of device {} cannot be read by host code; copy it first",
             bracketed(sizes()), memoryKindName(kind()), device().properties().name);
}

}  // namespace tokamak
