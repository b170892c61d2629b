// Messages: numbers, texts and requests as bytes that ranks send one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// What a message is that ends before all is read.
enum class ShortMessage : uint8_t {
  EndsInZeros,  ///< one of somebody who may be no rank of ours: zeros and empty lists are read
  IsAFault,     ///< one of our own. Errors: Internal
};

/// Reads what a writer wrote, in its order. The bytes outlive it.
class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> bytes, ShortMessage if_short = ShortMessage::EndsInZeros)
      : rest_(bytes), if_short_(if_short) {}

  int64_t number();
  std::string text();
  std::vector<int64_t> numbers();
  std::vector<std::byte> bytes();
  Breakage breakage();
  CommunicationRequest request();

 private:
  std::span<const std::byte> next(size_t bytes);

  std::span<const std::byte> rest_;
  ShortMessage if_short_;
};

}  // namespace tokamak
