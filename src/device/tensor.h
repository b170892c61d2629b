// Memory with an owner (Buffer) and typed, strided views of it (Tensor).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>

#include "base/export.h"
#include "device/device.h"
#include "ir/memory_kind.h"
#include "symbolic/data_type.h"
#include "symbolic/element_type.h"

namespace tokamak {

struct TrackedMemory;

/// A piece of a device's memory. Calls that access it are ordered by the device's HazardTracker. The last owner gives
/// it back, ordered after the work of the stream that it then belongs to.
/// It keeps its device, where that is counted.
/// Thread safety: threads may use it side by side, but for moveTo(), settle(), lendAnew() and forbidWriting(), which
/// need it alone. The last owner may be any thread. Accesses of the memory are ordered by the tracker, those of host
/// code by hostData().
class TOKAMAK_EXPORT Buffer {
 public:
  /// Memory for work on `stream`. Errors: OutOfMemory.
  static std::shared_ptr<Buffer> allocate(Device& device, std::shared_ptr<Stream> stream, int64_t bytes,
                                          MemoryKind kind);
  /// Whose memory is borrowed: a caller's, whose code may look at it, or what an allocator gave for our use.
  enum class Lender : uint8_t { Caller, Allocator };
  /// Somebody else's memory; `keeper` (may be null) is let go when the buffer is.
  static std::shared_ptr<Buffer> borrow(Device& device, void* address, int64_t bytes, MemoryKind kind,
                                        std::shared_ptr<void> keeper, Lender lender = Lender::Caller);

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  void* address() const { return address_; }
  int64_t bytes() const { return bytes_; }
  MemoryKind kind() const { return kind_; }
  Device& device() const { return *device_; }
  /// Whether host code may dereference the address.
  bool isHostReadable() const;
  /// Somebody else's memory that must stay as it is: programs do not write it.
  bool isReadOnly() const { return is_read_only_; }
  void forbidWriting() { is_read_only_ = true; }
  /// Allocated from the device, not borrowed.
  bool isOwned() const { return stream_ != nullptr; }
  /// A caller's memory, which was wrapped or imported.
  bool isCallers() const { return is_callers_; }
  /// A borrowed one that is kept for whatever lies at its address when it is used next: what calls failed to write
  /// there does not concern that. To be said before the first call.
  void standForAddress() { is_of_address_ = true; }
  bool isOfAddress() const { return is_of_address_; }
  /// The stream that it was allocated on was synchronized: uses elsewhere need not wait for it.
  void settle() { is_settled_ = true; }
  /// A borrowed one stands for as many bytes of the same lender elsewhere from now on. Nobody else has it, and what
  /// calls do with the old ones does not concern it any more.
  void lendAnew(void* address, bool is_read_only);
  /// Work on `stream` uses the memory from now on, and the memory is given back there. The caller orders it after the
  /// uses on other streams.
  void moveTo(std::shared_ptr<Stream> stream);

 private:
  friend class HazardTracker;
  Buffer(Device& device, std::shared_ptr<Stream> stream, void* address, int64_t bytes, MemoryKind kind,
         std::shared_ptr<void> keeper);

  Device* device_;
  std::shared_ptr<Device> device_holder_;
  std::shared_ptr<Stream> stream_;  // null: borrowed
  void* address_;
  int64_t bytes_;
  MemoryKind kind_;
  std::shared_ptr<void> keeper_;
  bool is_read_only_ = false;
  bool is_callers_ = false;
  bool is_of_address_ = false;
  // The tracker's, guarded by its lock.
  mutable bool is_settled_ = true;
  mutable bool is_written_by_calls_ = false;
  mutable std::shared_ptr<TrackedMemory> tracked_;
};

/// A typed view of a buffer: element [i0, i1, ...] lies at offset + sum(i * stride) * sizeOf(dtype). Copies share the
/// buffer. At most kMaxRank axes, so that a tensor needs no heap of its own.
/// Thread safety: that of a value: threads may use copies of one tensor side by side, and one object while none of them
/// changes it. Calls order their accesses of the elements; host code that asked by hostData() orders its own.
class TOKAMAK_EXPORT Tensor {
 public:
  static constexpr size_t kMaxRank = 16;

  /// No tensor; only isDefined() may be asked.
  Tensor() = default;
  /// A view of `buffer` that starts `offset` bytes into it. Errors: Bind when it does not fit the buffer.
  Tensor(std::shared_ptr<Buffer> buffer, int64_t offset, DataType dtype, std::span<const int64_t> sizes,
         std::span<const int64_t> strides);

  /// Fresh row-major memory for work on `stream`; the host may not touch it before that stream was synchronized.
  /// Errors: OutOfMemory (also for sizes that no memory can hold), Bind for negative sizes.
  static Tensor empty(Device& device, std::shared_ptr<Stream> stream, DataType dtype, std::span<const int64_t> sizes,
                      MemoryKind kind);
  /// The same in Host memory that the host may touch at once: waits for the stream.
  static Tensor emptyOnHost(Device& device, std::shared_ptr<Stream> stream, DataType dtype,
                            std::span<const int64_t> sizes);
  /// Caller's memory at `address`; it must stay until all work on it is done, or as long as `keeper` is held.
  static Tensor borrow(Device& device, void* address, DataType dtype, std::span<const int64_t> sizes,
                       std::span<const int64_t> strides, MemoryKind kind, std::shared_ptr<void> keeper = nullptr,
                       Buffer::Lender lender = Buffer::Lender::Caller);

  /// The caller's elements (a vector, a span, an array) as a row-major tensor, without a copy; they stay until all work
  /// on them is done. Those of a const range may only be read. They are memory of the host: for a GPU, of kind Host.
  /// Errors: Bind when `sizes` do not have as many elements.
  template <std::ranges::contiguous_range Range>
    requires std::ranges::borrowed_range<Range> && ElementType<std::ranges::range_value_t<Range>>
  static Tensor wrap(Device& device, Range&& elements,  // NOLINT(cppcoreguidelines-missing-std-forward)
                     std::span<const int64_t> sizes) {
    using Given = std::remove_reference_t<std::ranges::range_reference_t<Range>>;
    return wrapHost(device,
                    const_cast<std::remove_const_t<Given>*>(
                        std::ranges::data(elements)),  // NOLINT(cppcoreguidelines-pro-type-const-cast)
                    static_cast<int64_t>(std::ranges::size(elements)), dataTypeOf<std::ranges::range_value_t<Range>>(),
                    sizes, std::is_const_v<Given>);
  }
  template <std::ranges::contiguous_range Range>
    requires std::ranges::borrowed_range<Range> && ElementType<std::ranges::range_value_t<Range>>
  static Tensor wrap(Device& device, Range&& elements,  // NOLINT(cppcoreguidelines-missing-std-forward)
                     std::initializer_list<int64_t> sizes) {
    return wrap(device, elements, std::span<const int64_t>(sizes.begin(), sizes.size()));
  }

  /// The same for elements at an address; row-major where `strides` (in elements) is null. Errors: Bind, OutOfMemory
  /// for sizes of more than 63 bits.
  static Tensor borrowHost(Device& device, void* address, DataType dtype, std::span<const int64_t> sizes,
                           const int64_t* strides, bool is_read_only);

  /// As another tensor that was borrowed with the same sizes, strides and type at another address; false, and nothing
  /// happened, where somebody else has the buffer. With a tensor that is borrowed without a keeper.
  bool tryBorrowAnew(void* address, bool is_read_only);

  bool isDefined() const { return buffer_ != nullptr; }
  DataType dtype() const { return dtype_; }
  int64_t rank() const { return static_cast<int64_t>(rank_); }
  std::span<const int64_t> sizes() const { return {sizes_.data(), rank_}; }
  /// In elements. As given, but for negative and huge ones of axes along which nothing moves: these are row-major ones.
  std::span<const int64_t> strides() const { return {strides_.data(), rank_}; }
  int64_t size(int64_t axis) const;
  int64_t numel() const { return numel_; }
  int64_t offsetBytes() const { return offset_; }
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  Device& device() const { return buffer_->device(); }
  MemoryKind kind() const { return buffer_->kind(); }
  /// The address of element [0, 0, ...], for work; the data may still be in the making.
  void* data() const { return static_cast<std::byte*>(buffer_->address()) + offset_; }
  /// Row-major without gaps. Tensors without elements are.
  bool isContiguous() const;

  /// Without `axis`, at `index` of it. Errors: Bind.
  Tensor select(int64_t axis, int64_t index) const;
  /// Elements start <= i < stop of `axis`. Errors: Bind.
  Tensor slice(int64_t axis, int64_t start, int64_t stop) const;

  /// Done when the call or work that made this tensor is; null when there was none. Views share it.
  const std::shared_ptr<Event>& readyEvent() const { return ready_; }
  /// For data that comes from work which the caller enqueued himself: accesses of this tensor wait for the event, too.
  void setReadyEvent(std::shared_ptr<Event> event) {
    ready_ = std::move(event);
    is_event_given_ = ready_ != nullptr;
  }
  /// That of a call, whose accesses the device's tracker knows.
  void setCallEvent(std::shared_ptr<Event> event) {
    ready_ = std::move(event);
    is_event_given_ = false;
  }
  bool hasGivenEvent() const { return is_event_given_; }
  /// Blocks until the last call that writes this memory, by whatever tensor, is done, and raises its failure.
  void waitReady() const;
  /// data() for host code that may write it: after all calls that access this memory. What later calls do is the
  /// caller's to wait for by asking again.
  /// Errors: Bind when host code cannot reach the memory, or may only read it; of the work that wrote it.
  void* hostData() const;
  /// The same for host code that only reads: calls that read this memory, too, may still run.
  const void* hostDataToRead() const;
  /// The same as C++ elements in row-major order. Errors: Bind for another type, and where there are gaps.
  template <ElementType T>
  std::span<const T> read() const {
    requireElements(dataTypeOf<T>());
    return {static_cast<const T*>(hostDataToRead()), static_cast<size_t>(numel_)};
  }

 private:
  static Tensor wrapHost(Device& device, void* address, int64_t count, DataType dtype, std::span<const int64_t> sizes,
                         bool is_read_only);
  void requireElements(DataType dtype) const;
  void requireHostReadable() const;

  std::shared_ptr<Buffer> buffer_;
  std::shared_ptr<Event> ready_;
  bool is_event_given_ = false;
  int64_t offset_ = 0;
  int64_t numel_ = 0;
  size_t rank_ = 0;
  DataType dtype_ = DataType::F32;
  std::array<int64_t, kMaxRank> sizes_ = {};
  std::array<int64_t, kMaxRank> strides_ = {};
};

/// The number of elements. Errors: Bind for a negative size or rank over 16, OutOfMemory when it does not fit 63 bits.
TOKAMAK_EXPORT int64_t checkedNumel(std::span<const int64_t> sizes);

/// Row-major strides in elements for `sizes`, written to `strides`. Of the same length; sizes as for checkedNumel.
TOKAMAK_EXPORT void fillRowMajorStrides(std::span<const int64_t> sizes, std::span<int64_t> strides);

}  // namespace tokamak
