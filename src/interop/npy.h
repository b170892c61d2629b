// Tensors in and out of .npy files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "device/tensor.h"

namespace tokamak {

/// How the 16-bit unsigned integers of a file, which has no bfloat16, are meant.
enum class NpyHalf : uint8_t {
  Refuse,    ///< u2 is no type of ours
  BFloat16,  ///< they are the bits of bfloat16 values
};

/// What a file says about its array.
struct NpyHeader {
  DataType dtype = DataType::F32;
  bool is_column_major = false;
  std::vector<int64_t> sizes;
  int64_t data_offset = 0;  ///< in bytes from the file's start
};

/// Reads the header off `bytes`, the beginning of the file named `name`; `file_bytes`: the whole file's size.
/// Errors: Io, naming the file and what is wrong with it.
TOKAMAK_EXPORT NpyHeader parseNpyHeader(std::span<const unsigned char> bytes, int64_t file_bytes, std::string_view name,
                                        NpyHalf half);

/// Reads a file of version 1 to 3 into fresh Host memory that the host may use at once: f8 f4 f2 i4 i8 b1, and u2 as
/// bf16, little-endian, in either order (the tensor has column-major strides for Fortran order). Takes no more memory
/// than the file justifies. Errors: Io; OutOfMemory.
TOKAMAK_EXPORT Tensor readNpy(const std::string& path, Device& device, std::shared_ptr<Stream> stream,
                              NpyHalf half = NpyHalf::Refuse);

/// The same from standard input up to its end. Errors: Io; OutOfMemory.
TOKAMAK_EXPORT Tensor readNpyFromStandardInput(Device& device, std::shared_ptr<Stream> stream,
                                               NpyHalf half = NpyHalf::Refuse);

/// Writes a tensor that host code can reach, any strides; bf16 as u2. Waits for its data first. A regular file appears
/// whole or not at all; links are followed, devices and FIFOs written directly. Errors: Io, Bind.
TOKAMAK_EXPORT void writeNpy(const std::string& path, const Tensor& tensor);

}  // namespace tokamak
