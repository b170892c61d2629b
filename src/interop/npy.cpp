#include "interop/npy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/output_file.h"
#include "base/require.h"
#include "base/text.h"
#include "device/tensor_copies.h"

namespace tokamak {

namespace {

// Longer than any header that is read.
constexpr int64_t kHeaderBytesRead = (1 << 20) + 12;

class File {
 public:
  explicit File(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "rbe")) {
    TK_REQUIRE(file_ != nullptr, Io, "npy: '{}' cannot be opened: {}", path, std::strerror(errno));
  }
  /// A copy of what a stream that cannot be positioned, such as a pipe, has left.
  File(std::FILE* from, std::string_view name) : path_(name), file_(std::tmpfile()) {
    TK_REQUIRE(file_ != nullptr, Io, "npy: {} cannot be kept in a temporary file: {}", name, std::strerror(errno));
    std::array<unsigned char, 1 << 16> piece;
    bool is_kept = true;
    while (const size_t count = std::fread(piece.data(), 1, piece.size(), from))
      is_kept &= std::fwrite(piece.data(), 1, count, file_) == count;
    TK_REQUIRE(std::ferror(from) == 0 && is_kept && std::fflush(file_) == 0, Io, "npy: {} cannot be read: {}", name,
               std::strerror(errno));
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::fclose(file_); }

  int64_t bytes() const {
    struct stat status = {};
    TK_REQUIRE(fstat(fileno(file_), &status) == 0 && S_ISREG(status.st_mode), Io, "npy: '{}' is not a regular file",
               path_);
    return status.st_size;
  }
  void read(int64_t offset, std::span<unsigned char> to) {
    const bool is_read = std::fseek(file_, static_cast<long>(offset), SEEK_SET) == 0 &&
                         std::fread(to.data(), 1, to.size(), file_) == to.size();
    TK_REQUIRE(is_read, Io, "npy: '{}' cannot be read to its end", path_);
  }

 private:
  std::string path_;
  std::FILE* file_;
};

int64_t dataBytes(const NpyHeader& header, int64_t file_bytes, const std::string& path) {
  const int64_t present = file_bytes - header.data_offset;
  int64_t bytes = sizeOf(header.dtype);
  const bool is_empty = std::ranges::find(header.sizes, 0) != header.sizes.end();
  for (const int64_t size : header.sizes) {
    if (is_empty) return 0;
    const bool overflows = __builtin_mul_overflow(bytes, size, &bytes);
    TK_REQUIRE(!overflows, Io, "npy: '{}': its shape ({}) has more elements than 63 bits can count", path,
               joined(header.sizes));
  }
  TK_REQUIRE(bytes <= present, Io, "npy: '{}': it is truncated: its shape ({}) takes {} bytes, {} are there", path,
             joined(header.sizes), bytes, present);
  return bytes;
}

std::vector<int64_t> stridesOf(const NpyHeader& header) {
  std::vector<int64_t> sizes = header.sizes;
  std::vector<int64_t> strides(sizes.size());
  if (header.is_column_major) std::ranges::reverse(sizes);
  fillRowMajorStrides(sizes, strides);
  if (header.is_column_major) std::ranges::reverse(strides);
  return strides;
}

std::string_view descrOf(DataType dtype) {
  switch (dtype) {
    case DataType::F64: return "<f8";
    case DataType::F32: return "<f4";
    case DataType::F16: return "<f2";
    case DataType::BF16: return "<u2";
    case DataType::I32: return "<i4";
    case DataType::I64: return "<i8";
    case DataType::Bool: return "|b1";
  }
  return "";
}

// Version 1, or 2 where the text is too long for it; data starts at a multiple of 64, as NumPy has it.
std::string headerBytes(const Tensor& tensor, std::string_view fortran_order) {
  const std::string shape = fmt::format("({}{})", joined(tensor.sizes()), tensor.rank() == 1 ? "," : "");
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descrOf(tensor.dtype()),
                                 fortran_order, shape);
  constexpr size_t kPrefix = 10;
  text.append(63 - (kPrefix + text.size()) % 64, ' ');
  text += '\n';
  // At most 16 axes of 20 characters: always short enough for version 1.
  const std::string length = {static_cast<char>(text.size() & 0xFFU), static_cast<char>(text.size() >> 8U)};
  return std::string("\x93NUMPY\x01", 7) + std::string(1, '\0') + length + text;
}

// Row by row along the last axis, gathered into one buffer so that strided tensors are written in pieces of some size.
void writeElements(OutputFile& file, const Tensor& tensor) {
  const auto element = static_cast<size_t>(sizeOf(tensor.dtype()));
  const auto* const first = static_cast<const unsigned char*>(tensor.data());
  std::vector<unsigned char> piece;
  constexpr size_t kPiece = 1 << 20;
  piece.reserve(kPiece + element);
  forEachElement(tensor.sizes(), tensor.strides(), [&](int64_t offset) {
    const unsigned char* const from = first + offset * static_cast<int64_t>(element);
    piece.insert(piece.end(), from, from + element);
    if (piece.size() >= kPiece) {
      file.write(piece);
      piece.clear();
    }
  });
  file.write(piece);
}

bool isColumnMajor(const Tensor& tensor) {
  int64_t expected = 1;
  for (size_t axis = 0; axis < static_cast<size_t>(tensor.rank()); ++axis) {
    if (tensor.sizes()[axis] == 1) continue;
    if (tensor.strides()[axis] != expected) return false;
    expected *= tensor.sizes()[axis];
  }
  return true;
}

Tensor readFrom(File& file, const std::string& path, Device& device, std::shared_ptr<Stream> stream, NpyHalf half) {
  const int64_t file_bytes = file.bytes();
  std::vector<unsigned char> start(static_cast<size_t>(std::min(file_bytes, kHeaderBytesRead)));
  file.read(0, start);
  const NpyHeader header = parseNpyHeader(start, file_bytes, path, half);
  const int64_t bytes = dataBytes(header, file_bytes, path);

  Stream* const queue = stream.get();
  auto buffer = Buffer::allocate(device, std::move(stream), bytes, MemoryKind::Host);
  device.synchronize(*queue);  // earlier work of the stream may still use the memory
  const std::span<unsigned char> data(static_cast<unsigned char*>(buffer->address()), static_cast<size_t>(bytes));
  file.read(header.data_offset, data);
  if (header.dtype == DataType::Bool) {
    const auto bad = std::ranges::find_if(data, [](unsigned char byte) { return byte > 1; });
    TK_REQUIRE(bad == data.end(), Io, "npy: '{}': element {} of its booleans is {}; legal are 0 and 1", path,
               bad - data.begin(), static_cast<int>(*bad));
  }
  return {std::move(buffer), 0, header.dtype, header.sizes, stridesOf(header)};
}

}  // namespace

Tensor readNpy(const std::string& path, Device& device, std::shared_ptr<Stream> stream, NpyHalf half) {
  File file(path);
  return readFrom(file, path, device, std::move(stream), half);
}

Tensor readNpyFromStandardInput(Device& device, std::shared_ptr<Stream> stream, NpyHalf half) {
  constexpr std::string_view kName = "standard input";
  File file(stdin, kName);
  return readFrom(file, std::string(kName), device, std::move(stream), half);
}

void writeNpy(const std::string& path, const Tensor& tensor) {
  const auto* const data = static_cast<const unsigned char*>(tensor.hostDataToRead());
  const bool is_row_major = tensor.isContiguous();
  const bool is_column_major = !is_row_major && isColumnMajor(tensor);
  OutputFile file("npy", path);
  const std::string header = headerBytes(tensor, is_column_major ? "True" : "False");
  file.write(header);
  if (is_row_major || is_column_major) {
    file.write({data, static_cast<size_t>(tensor.numel() * sizeOf(tensor.dtype()))});
  } else {
    writeElements(file, tensor);
  }
  file.finish();
}

}  // namespace tokamak
