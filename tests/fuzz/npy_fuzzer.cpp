// Any bytes as a .npy file: refused with an Io or OutOfMemory error, or a tensor that is written and read back with the
// same bits. Three of four inputs are valid files with a few bytes or words exchanged.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/error.h"
#include "interop/npy.h"
#include "runtime/cpu/cpu_device.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace tokamak;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void requireTyped(const Error& error) {
  require(error.code() == ErrorCode::Io || error.code() == ErrorCode::OutOfMemory, error.what());
}

std::string scratch(const char* name) { return "/tmp/tokamak_npy_fuzzer_" + std::to_string(getpid()) + name; }

void write(const std::string& path, const uint8_t* data, size_t size) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  require(file != nullptr && std::fwrite(data, 1, size, file) == size && std::fclose(file) == 0,
          "the scratch file cannot be written");
}

std::vector<std::byte> elementsOf(const Tensor& tensor) {
  const auto* data = static_cast<const std::byte*>(tensor.hostData());
  const auto bytes = static_cast<size_t>(tensor.numel() * sizeOf(tensor.dtype()));
  return {data, data + bytes};
}

// A file that can be read is written and read back.
void readFile(const uint8_t* data, size_t size, NpyHalf half) {
  static CpuDevice device({.threads = 1, .memory_limit = int64_t{1} << 26});
  static const std::shared_ptr<Stream> stream = device.createStream();
  static const std::string in = scratch("_in.npy");
  static const std::string out = scratch("_out.npy");
  write(in, data, size);
  try {
    const Tensor tensor = readNpy(in, device, stream, half);
    writeNpy(out, tensor);
    const Tensor again = readNpy(out, device, stream, tensor.dtype() == DataType::BF16 ? NpyHalf::BFloat16 : half);
    require(std::ranges::equal(tensor.sizes(), again.sizes()) && tensor.dtype() == again.dtype(),
            "the file read back has another shape");
    if (tensor.isContiguous() && again.isContiguous())
      require(elementsOf(tensor) == elementsOf(again), "the file read back has other bits");
  } catch (const Error& error) {
    requireTyped(error);
  }
  std::remove(in.c_str());
  std::remove(out.c_str());
}

std::string fileWith(const std::string& header, size_t data_bytes) {
  std::string file = "\x93NUMPY\x01";
  file += '\0';
  file += static_cast<char>(header.size() & 0xFFU);
  file += static_cast<char>(header.size() >> 8U);
  return file + header + std::string(data_bytes, '\x3f');
}

constexpr const char* kHeaders[] = {("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                      "
                                     "                                 "
                                     "                 \n"),
                                    "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), }\n",
                                    "{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }\n",
                                    "{'descr': '<u2', 'fortran_order': False, 'shape': (), }\n",
                                    "{'descr': '<i8', 'fortran_order': False, 'shape': (0, 7), }\n",
                                    "{\"shape\": (1, 2, 3), \"fortran_order\": False, \"descr\": \"<i4\"}\n"};
constexpr const char* kPieces[] = {"'descr'",    "'<f2'", "'>f4'", "'|O'", "True", "False",
                                   "None",       "(",     ")",     ",",    "-1",   "9223372036854775807",
                                   "4294967296", "0",     "{",     "}",    ":",    "'"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const NpyHalf half = size % 2 == 0 ? NpyHalf::Refuse : NpyHalf::BFloat16;
  bool has_header = false;
  try {
    const NpyHeader header = parseNpyHeader({data, size}, static_cast<int64_t>(size), "fuzz", half);
    has_header = true;
    require(header.data_offset >= 0 && header.data_offset <= static_cast<int64_t>(size),
            "the data starts outside the file");
    for (const int64_t extent : header.sizes) require(extent >= 0, "a size is negative");
  } catch (const Error& error) {
    requireTyped(error);
  }
  // Files take time; those with a broken header are refused by it.
  static int64_t count = 0;
  if (has_header || ++count % 16 == 0) readFile(data, size, half);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  if (below(4) == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string header = kHeaders[below(std::size(kHeaders))];
  for (size_t changes = below(3); changes > 0; --changes) {
    const size_t at = below(header.size());
    const std::string piece = kPieces[below(std::size(kPieces))];
    if (below(2) == 0)
      header.insert(at, piece);
    else
      header.replace(at, std::min(header.size() - at, piece.size()), piece);
  }
  std::string file = fileWith(header, below(64));
  for (size_t changes = below(3); changes > 0; --changes) file[below(file.size())] = static_cast<char>(below(256));
  if (below(8) == 0) file.resize(below(file.size()));
  const size_t length = std::min(file.size(), max_size);
  std::copy_n(file.begin(), length, data);
  return length;
}
