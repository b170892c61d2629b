#include "runtime/cuda/driver_context.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/require.h"

namespace tokamak {

namespace {

// After these the context answers every call with the same error.
constexpr std::array kContextLost = {
    214,                           // uncorrectable memory
    220,                           // uncorrectable NVLink
    226,                           // contained hardware error
    700, 702, 709, 710, 714, 715,  // illegal address, time-out, context destroyed, assert, stack, instruction
    716, 717, 718, 719, 721, 999,  // misaligned, address space, program counter, launch, tensor memory, unknown
};
// These are about code that cannot be loaded.
constexpr std::array kCodeRefused = {200, 209, 218, 221, 222, 223, 300, 301, 302, 303, 500};

bool isOneOf(driver::Result status, std::span<const int> list) { return std::ranges::find(list, status) != list.end(); }

}  // namespace

DriverContext::DriverContext(const DriverLibrary& library, int64_t ordinal)
    : library_(library), name_(fmt::format("cuda:{}", ordinal)) {
  int count = 0;
  check(library_.device_count(&count), "counting devices");
  TK_REQUIRE(0 <= ordinal && ordinal < count, Usage, "{}: there is no such device; legal are 0 <= number < {}", name_,
             count);
  check(library_.device_get(&device_, static_cast<int>(ordinal)), "opening {}", name_);
  check(library_.primary_retain(&context_, device_), "opening {}: its primary context", name_);
}

// The last one to let go destroys the context: then it may not stay this thread's current one.
DriverContext::~DriverContext() {
  library_.primary_release(device_);
  unsigned flags = 0;
  int is_active = 0;
  driver::Context present = nullptr;
  const bool is_over = library_.primary_state(device_, &flags, &is_active) == driver::kSuccess && is_active == 0;
  if (is_over && library_.context_get(&present) == driver::kSuccess && present == context_)
    library_.context_set(nullptr);
}

int DriverContext::attribute(int number) {
  int value = 0;
  check(library_.device_attribute(&value, number, device_), "{}: device attribute {}", name_, number);
  return value;
}

bool DriverContext::isKnown(const void* address) {
  const CurrentContext current(*this);
  unsigned type = 0;
  const driver::Result status = library_.pointer_attribute(&type, driver::kPointerMemoryType, addressOf(address));
  if (status == driver::kInvalidValue) return false;
  check(status, "{}: asking whose memory lies at {}", name_, address);
  return type != 0;
}

std::optional<int64_t> DriverContext::ownerOf(const void* address) {
  const CurrentContext current(*this);
  unsigned is_managed = 0;
  int ordinal = -1;
  const bool is_answered =
      library_.pointer_attribute(&is_managed, driver::kPointerIsManaged, addressOf(address)) == driver::kSuccess &&
      library_.pointer_attribute(&ordinal, driver::kPointerOrdinal, addressOf(address)) == driver::kSuccess;
  if (!is_answered || is_managed != 0 || ordinal < 0) return std::nullopt;
  return ordinal;
}

std::optional<driver::Address> DriverContext::flagAddress(const void* flag) {
  if (!isKnown(flag)) return std::nullopt;
  const CurrentContext current(*this);
  unsigned is_managed = 0;
  driver::Address address = 0;
  const bool is_answered =
      library_.pointer_attribute(&is_managed, driver::kPointerIsManaged, addressOf(flag)) == driver::kSuccess &&
      library_.pointer_attribute(&address, driver::kPointerDeviceAddress, addressOf(flag)) == driver::kSuccess;
  if (!is_answered || is_managed != 0 || address == 0) return std::nullopt;
  return address;
}

void DriverContext::fail(driver::Result status, fmt::string_view operation, fmt::format_args args) {
  const std::string what = fmt::vformat(operation, args);
  const std::string fault = library_.describe(status);
  if (isOneOf(status, kContextLost)) {
    const std::string first = rememberLoss(fmt::format("{}: the driver reports {}", what, fault));
    TK_REQUIRE(first.empty(), Device, "{}: {} is lost for this process; the first cause was: {}", what, name_, first);
  }
  TK_REQUIRE(status != driver::kOutOfMemory, OutOfMemory, "{}: the driver reports {}", what, fault);
  TK_REQUIRE(!isOneOf(status, kCodeRefused), Compile, "{}: the driver refuses the code with {}", what, fault);
  TK_RAISE(Device, "{}: the driver reports {}", what, fault);
}

// The cause that was there before; where there was none, this one is the first.
std::string DriverContext::rememberLoss(const std::string& cause) {
  const std::lock_guard lock(lost_mutex_);
  std::string before = lost_;
  if (before.empty()) lost_ = cause;
  is_lost_.store(true);
  return before;
}

// A thread without a context keeps this one; a caller's own comes back.
driver::Result DriverContext::enter(bool& is_pushed) const {
  driver::Context present = nullptr;
  if (library_.context_get(&present) != driver::kSuccess) present = nullptr;  // one that was destroyed
  if (present == context_) return driver::kSuccess;
  const driver::Result status = present == nullptr ? library_.context_set(context_) : library_.context_push(context_);
  is_pushed = present != nullptr && status == driver::kSuccess;
  return status;
}

void DriverContext::leave(bool is_pushed) const {
  driver::Context popped = nullptr;
  if (is_pushed) library_.context_pop(&popped);
}

CurrentContext::CurrentContext(DriverContext& context) : context_(context) {
  context.check(context.enter(is_pushed_), "{}: making its context current", context.name());
}

CurrentContext::~CurrentContext() { context_.leave(is_pushed_); }

}  // namespace tokamak
