// Any bytes as what another library gives through DLPack: refused with a typed error, after which it is still the
// caller's, or a tensor of just these sizes, whose elements can be read, that goes out again as it came in, and whose
// deleter is called once.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "base/error.h"
#include "interop/dlpack.h"
#include "runtime/cpu/cpu_device.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace tokamak;

constexpr size_t kMostAxes = 20;
constexpr size_t kMostBytes = 512;

// What is given, without its pointers.
struct Input {
  uint32_t major = 1;
  uint32_t minor = 1;
  uint64_t flags = 0;
  int32_t device_type = 1;
  int32_t device_id = 0;
  int32_t rank = 0;
  dlpack::Type type = {.code = dlpack::TypeCode::Float, .bits = 32, .lanes = 1};
  uint64_t byte_offset = 0;
  uint16_t bytes = 0;  ///< of the memory that is there
  uint8_t has_sizes = 1;
  uint8_t has_strides = 0;
  uint8_t has_data = 1;
  uint8_t is_versioned = 1;
  uint8_t has_deleter = 1;
  std::array<int64_t, kMostAxes> sizes = {};
  std::array<int64_t, kMostAxes> strides = {};
};

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// The memory ends where it is said to, so that the address sanitizer sees what lies beyond.
struct Memory {
  explicit Memory(size_t bytes) : first(new(std::align_val_t{64}) std::byte[bytes]) { std::memset(first, 1, bytes); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { ::operator delete[](first, std::align_val_t{64}); }
  std::byte* first;
};

template <class Managed>
struct Given {
  explicit Given(const Input& input)
      : memory(std::make_unique<Memory>(input.bytes % kMostBytes)), sizes(input.sizes), strides(input.strides) {
    managed.context = this;
    if (input.has_deleter % 4 != 0) managed.deleter = [](Managed* self) { static_cast<Given*>(self->context)->end(); };
    managed.array = {.data = input.has_data % 8 != 0 ? memory->first : nullptr,
                     .device = {.type = static_cast<dlpack::DeviceType>(input.device_type), .id = input.device_id},
                     .rank = input.rank,
                     .type = input.type,
                     .sizes = input.has_sizes % 8 != 0 ? sizes.data() : nullptr,
                     .strides = input.has_strides % 2 != 0 ? strides.data() : nullptr,
                     .byte_offset = input.byte_offset};
  }
  void end() {
    ++deletions;
    memory = nullptr;
  }
  std::unique_ptr<Memory> memory;
  std::array<int64_t, kMostAxes> sizes;
  std::array<int64_t, kMostAxes> strides;
  int deletions = 0;
  Managed managed;
};

// Whether all elements lie in the memory that is there; only the producer knows.
bool fits(const Tensor& tensor, const Input& input) {
  if (tensor.numel() == 0) return true;
  __extension__ using Wide = __int128;
  Wide lowest = input.byte_offset;
  Wide highest = lowest + sizeOf(tensor.dtype());
  for (size_t i = 0; i < tensor.sizes().size(); ++i) {
    const Wide reach = static_cast<Wide>(tensor.sizes()[i] - 1) * tensor.strides()[i] * sizeOf(tensor.dtype());
    (reach < 0 ? lowest : highest) += reach;
  }
  return lowest >= 0 && highest <= static_cast<Wide>(input.bytes % kMostBytes) && tensor.numel() <= 4096;
}

void readElements(const Tensor& tensor) {
  std::vector<int64_t> index(tensor.sizes().size(), 0);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    int64_t rest = i;
    const auto* at = static_cast<const std::byte*>(tensor.hostDataToRead());
    for (size_t axis = index.size(); axis-- > 0; rest /= tensor.sizes()[axis])
      at += rest % tensor.sizes()[axis] * tensor.strides()[axis] * sizeOf(tensor.dtype());
    for (int64_t byte = 0; byte < sizeOf(tensor.dtype()); ++byte)
      require(at[byte] == std::byte{1}, "an element lies elsewhere");
  }
}

template <class Managed>
void exchangeOne(const Input& input) {
  static CpuDevice device({.threads = 1});
  static const std::shared_ptr<Stream> stream = device.createStream();
  static DlpackExchange exchange(device);
  Given<Managed> given(input);
  if constexpr (requires { given.managed.version; }) {
    given.managed.version = {input.major, input.minor};
    given.managed.flags = input.flags;
  }
  bool is_taken = false;
  try {
    const Tensor tensor = exchange.take(&given.managed, stream);
    is_taken = true;
    require(
        tensor.rank() == input.rank && std::ranges::equal(tensor.sizes(), std::span(input.sizes).first(tensor.rank())),
        "the tensor has other sizes");
    if (fits(tensor, input)) readElements(tensor);
    dlpack::ManagedVersioned* const back = exchange.give(tensor);
    require(back->array.data == tensor.data() && back->array.type.code == input.type.code &&
                back->array.type.bits == input.type.bits && back->array.rank == input.rank &&
                back->flags == (tensor.buffer()->isReadOnly() ? dlpack::kReadOnly : 0),
            "the tensor goes out as something else");
    require(given.deletions == 0, "it is deleted while it is used");
    back->deleter(back);
  } catch (const Error& error) {
    require(!is_taken && (error.code() == ErrorCode::Bind || error.code() == ErrorCode::Unsupported ||
                          error.code() == ErrorCode::OutOfMemory),
            error.what());
  }
  device.synchronize(*stream);
  exchange.collect();
  require(given.deletions == (is_taken && input.has_deleter % 4 != 0 ? 1 : 0), "it is not deleted once");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input;
  std::memcpy(&input, data, std::min(size, sizeof(input)));
  // Nobody can check what a producer says of his arrays' lengths.
  if (input.is_versioned % 2 != 0)
    exchangeOne<dlpack::ManagedVersioned>(input);
  else
    exchangeOne<dlpack::Managed>(input);
  return 0;
}

// Arrays that are almost right.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  if (below(4) == 0 || max_size < sizeof(Input)) return LLVMFuzzerMutate(data, size, max_size);
  constexpr std::array<dlpack::Type, 8> kTypes = {{{dlpack::TypeCode::Float, 64, 1},
                                                   {dlpack::TypeCode::Float, 32, 1},
                                                   {dlpack::TypeCode::Float, 16, 1},
                                                   {dlpack::TypeCode::BFloat, 16, 1},
                                                   {dlpack::TypeCode::Int, 32, 1},
                                                   {dlpack::TypeCode::Int, 64, 1},
                                                   {dlpack::TypeCode::Bool, 8, 1},
                                                   {dlpack::TypeCode::UInt, 8, 1}}};
  constexpr std::array<int64_t, 8> kLarge = {
      -1, INT64_MAX, INT64_MIN, int64_t{1} << 32, int64_t{1} << 61, int64_t{1} << 62, -(int64_t{1} << 40), 65537};
  Input input;
  input.flags = below(8);
  input.type = kTypes[below(kTypes.size())];
  input.rank = static_cast<int32_t>(below(5));
  input.bytes = static_cast<uint16_t>(below(kMostBytes));
  input.byte_offset = 8 * below(4);
  input.has_strides = static_cast<uint8_t>(below(2));
  input.is_versioned = static_cast<uint8_t>(below(2));
  for (int64_t& extent : input.sizes) extent = static_cast<int64_t>(below(5));
  for (int64_t& stride : input.strides) stride = static_cast<int64_t>(below(9)) - 2;
  for (size_t changes = below(3); changes > 0; --changes) {
    switch (below(7)) {
      case 0: input.sizes[below(4)] = kLarge[below(kLarge.size())]; break;
      case 1: input.strides[below(4)] = kLarge[below(kLarge.size())]; break;
      case 2: input.rank = static_cast<int32_t>(below(24)) - 2; break;
      case 3: input.byte_offset = random() * (below(2) == 0 ? 1ULL : 0x100000001ULL); break;
      case 4: input.device_type = static_cast<int32_t>(below(16)); break;
      case 5: input.major = static_cast<uint32_t>(below(4)); break;
      default: reinterpret_cast<uint8_t*>(&input)[below(sizeof(input))] = static_cast<uint8_t>(below(256)); break;
    }
  }
  std::memcpy(data, &input, sizeof(input));
  return sizeof(input);
}
