// Messages: numbers, texts and requests as bytes that ranks send one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dist/communication_error.h"
#include "dist/communication_request.h"

namespace tokamak {

/// Numbers as 8 bytes each, as the host has them; texts and lists behind their lengths.
class MessageWriter {
 public:
  MessageWriter& add(int64_t number);
  MessageWriter& add(std::string_view text) { return add(std::as_bytes(std::span(text))); }
  MessageWriter& add(std::span<const int64_t> numbers) { return add(std::as_bytes(numbers)); }
  MessageWriter& add(std::span<const std::byte> bytes);
  MessageWriter& add(const Breakage& breakage);
  MessageWriter& add(const CommunicationRequest& request);
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads what a writer wrote, in its order. The bytes outlive it. A message that is shorter has zeros and empty lists
/// at its end.
class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  int64_t number();
  std::string text();
  std::vector<int64_t> numbers();
  std::vector<std::byte> bytes();
  Breakage breakage();
  CommunicationRequest request();

 private:
  std::span<const std::byte> next(size_t bytes);

  std::span<const std::byte> rest_;
};

}  // namespace tokamak
