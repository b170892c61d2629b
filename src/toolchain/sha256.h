// SHA-256 (FIPS 180-4): names and checksums of what the kernel cache keeps.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tokamak {

using Sha256Digest = std::array<uint8_t, 32>;

/// A running digest: the bytes of all texts added, one after the other.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  /// The digest; nothing may be added after.
  Sha256Digest finish();

 private:
  void addBlock(const uint8_t* block);
  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> pending_ = {};
  size_t pending_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

Sha256Digest sha256(std::string_view bytes);

/// Lower-case hexadecimal digits of the first `bytes` bytes.
std::string hexOf(const Sha256Digest& digest, size_t bytes = 32);

}  // namespace tokamak
