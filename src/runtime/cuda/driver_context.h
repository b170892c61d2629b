// DriverContext: a device's primary context, and the one way to call the driver: every status is checked here.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "runtime/cuda/driver_library.h"

namespace tokamak {

/// Retains the primary context while it lives. Some errors (an illegal address, say) lose the whole context: all later
/// calls fail, with the first cause. Thread-safe.
class DriverContext {
 public:
  /// Errors: Usage for a device that is not there, Device.
  DriverContext(const DriverLibrary& library, int64_t ordinal);
  DriverContext(const DriverContext&) = delete;
  DriverContext& operator=(const DriverContext&) = delete;
  ~DriverContext();

  const DriverLibrary& driver() const { return library_; }
  driver::Device device() const { return device_; }
  /// "cuda:0".
  const std::string& name() const { return name_; }

  /// Raises what `status` means, if it is no success; the operation's text is made only then.
  /// Errors: OutOfMemory; Compile for code that cannot be loaded; Device for all else.
  template <class... Args>
  void check(driver::Result status, fmt::format_string<Args...> operation, Args&&... args) {
    if (status != driver::kSuccess) [[unlikely]]
      fail(status, operation, fmt::make_format_args(args...));
  }

  /// The status of `call()`; if it finds no memory, of another one after what is cached was given back.
  template <class Call>
  driver::Result withRoom(const Call& call) {
    const driver::Result status = call();
    if (status != driver::kOutOfMemory || !give_back_cache_) [[likely]]
      return status;
    give_back_cache_();
    return call();
  }
  /// What to call on a shortage of memory; set before others use the context.
  void onShortage(std::function<void()> give_back_cache) { give_back_cache_ = std::move(give_back_cache); }

  /// Calls `use(driver)` with the context current, for calls that must not raise: releases and queries. False, without
  /// the call, if the context cannot be made current.
  template <class Use>
  bool quietly(const Use& use) {
    bool is_pushed = false;
    if (enter(is_pushed) != driver::kSuccess) return false;
    use(library_);
    leave(is_pushed);
    return true;
  }

  /// Of an attribute of the device.
  int attribute(int number);
  /// Whether a call has said that the context is lost.
  bool isLost() const { return is_lost_.load(); }
  /// Whether the driver knows this address: then the device reaches it. Pageable host memory is not known. Errors:
  /// Device; what a lost context says of addresses means nothing.
  bool isKnown(const void* address);
  /// The device that memory belongs to; nothing for memory of the host, and for what the driver does not know.
  std::optional<int64_t> ownerOf(const void* address);
  /// The device's address of a flag for stream memory operations; none where they cannot reach it. Errors: Device.
  std::optional<driver::Address> flagAddress(const void* flag);

 private:
  friend class CurrentContext;
  driver::Result enter(bool& is_pushed) const;
  void leave(bool is_pushed) const;
  [[noreturn]] void fail(driver::Result status, fmt::string_view operation, fmt::format_args args);
  std::string rememberLoss(const std::string& cause);

  const DriverLibrary& library_;
  std::string name_;
  driver::Device device_ = 0;
  driver::Context context_ = nullptr;
  std::atomic<bool> is_lost_ = false;
  std::mutex lost_mutex_;
  std::function<void()> give_back_cache_;
  std::string lost_;  // the first cause, when the context is lost
};

/// While it lives, the context is this thread's current one. A thread that has none keeps it; a caller's own comes
/// back.
class CurrentContext {
 public:
  explicit CurrentContext(DriverContext& context);
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext();

 private:
  DriverContext& context_;
  bool is_pushed_ = false;
};

inline driver::Address addressOf(const void* pointer) { return reinterpret_cast<driver::Address>(pointer); }

}  // namespace tokamak
