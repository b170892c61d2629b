#include "dist/sockets/message.h"

#include <algorithm>
#include <cstring>

#include "base/require.h"

namespace tokamak {

MessageWriter& MessageWriter::add(int64_t number) {
  const auto bytes = std::as_bytes(std::span(&number, 1));
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

MessageWriter& MessageWriter::add(std::span<const std::byte> bytes) {
  add(static_cast<int64_t>(bytes.size()));
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

MessageWriter& MessageWriter::add(const Breakage& breakage) {
  return add(static_cast<int64_t>(breakage.fault)).add(breakage.rank).add(std::string_view(breakage.text));
}

MessageWriter& MessageWriter::add(const CommunicationRequest& request) {
  add(static_cast<int64_t>(request.kind)).add(static_cast<int64_t>(request.dtype));
  add(static_cast<int64_t>(request.reduction)).add(request.root).add(request.send_to).add(request.receive_from);
  add(static_cast<int64_t>(request.program));
  return add(std::span<const int64_t>(request.counts)).add(std::span<const int64_t>(request.received));
}

std::span<const std::byte> MessageReader::next(size_t bytes) {
  TK_CHECK(if_short_ == ShortMessage::EndsInZeros || bytes <= rest_.size(),
           "a message of another rank has {} bytes where {} are expected", rest_.size(), bytes);
  const std::span<const std::byte> taken = rest_.first(std::min(bytes, rest_.size()));
  rest_ = rest_.subspan(taken.size());
  return taken;
}

int64_t MessageReader::number() {
  int64_t number = 0;
  const std::span<const std::byte> bytes = next(sizeof(number));
  if (!bytes.empty()) std::memcpy(&number, bytes.data(), bytes.size());
  return number;
}

std::vector<std::byte> MessageReader::bytes() {
  const std::span<const std::byte> bytes = next(static_cast<size_t>(number()));
  return {bytes.begin(), bytes.end()};
}

std::string MessageReader::text() {
  const std::span<const std::byte> bytes = next(static_cast<size_t>(number()));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<int64_t> MessageReader::numbers() {
  const std::span<const std::byte> bytes = next(static_cast<size_t>(number()));
  std::vector<int64_t> numbers(bytes.size() / sizeof(int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(int64_t));
  return numbers;
}

Breakage MessageReader::breakage() {
  Breakage breakage;
  breakage.fault = static_cast<CommunicationFault>(number());
  breakage.rank = number();
  breakage.text = text();
  return breakage;
}

CommunicationRequest MessageReader::request() {
  CommunicationRequest request;
  request.kind = static_cast<CommunicationKind>(number());
  request.dtype = static_cast<DataType>(number());
  request.reduction = static_cast<ReductionKind>(number());
  request.root = number();
  request.send_to = number();
  request.receive_from = number();
  request.program = static_cast<uint64_t>(number());
  request.counts = numbers();
  request.received = numbers();
  return request;
}

}  // namespace tokamak
