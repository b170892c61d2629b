#include "dist/mpi/mpi_message.h"

#include <cstring>

#include "base/require.h"

namespace tokamak {

MpiMessageWriter::MpiMessageWriter(MpiMessageKind kind, const MpiJobKey& job) {
  add(static_cast<int64_t>(kind));
  add(job.ranks);
  add(job.number);
}

void MpiMessageWriter::add(int64_t number) {
  const auto bits = std::as_bytes(std::span(&number, 1));
  bytes_.insert(bytes_.end(), bits.begin(), bits.end());
}

void MpiMessageWriter::add(std::string_view text) { add(std::as_bytes(std::span(text))); }

void MpiMessageWriter::add(std::span<const int64_t> numbers) { add(std::as_bytes(numbers)); }

void MpiMessageWriter::add(std::span<const std::byte> bytes) {
  add(static_cast<int64_t>(bytes.size()));
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void MpiMessageWriter::add(const Breakage& breakage) {
  add(static_cast<int64_t>(breakage.fault));
  add(breakage.rank);
  add(std::string_view(breakage.text));
}

void MpiMessageWriter::add(const CommunicationRequest& request) {
  for (const int64_t number :
       {static_cast<int64_t>(request.kind), static_cast<int64_t>(request.dtype),
        static_cast<int64_t>(request.reduction), request.root, request.send_to, request.receive_from})
    add(number);
  add(std::span<const int64_t>(request.counts));
  add(std::span<const int64_t>(request.received));
}

MpiMessageReader::MpiMessageReader(std::span<const std::byte> bytes) : rest_(bytes) {
  kind_ = static_cast<MpiMessageKind>(number());
  job_.ranks = number();
  job_.number = number();
}

std::span<const std::byte> MpiMessageReader::next(size_t bytes) {
  TK_CHECK(bytes <= rest_.size(), "a message of another rank has {} bytes where {} are expected", rest_.size(), bytes);
  const std::span<const std::byte> result = rest_.first(bytes);
  rest_ = rest_.subspan(bytes);
  return result;
}

int64_t MpiMessageReader::number() {
  int64_t number = 0;
  std::memcpy(&number, next(sizeof(number)).data(), sizeof(number));
  return number;
}

std::vector<std::byte> MpiMessageReader::bytes() {
  const std::span<const std::byte> bytes = next(static_cast<size_t>(number()));
  return {bytes.begin(), bytes.end()};
}

std::string MpiMessageReader::text() {
  const std::span<const std::byte> bytes = next(static_cast<size_t>(number()));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<int64_t> MpiMessageReader::numbers() {
  const std::span<const std::byte> bytes = next(static_cast<size_t>(number()));
  std::vector<int64_t> numbers(bytes.size() / sizeof(int64_t));
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

Breakage MpiMessageReader::breakage() {
  Breakage breakage;
  breakage.fault = static_cast<CommunicationFault>(number());
  breakage.rank = number();
  breakage.text = text();
  return breakage;
}

CommunicationRequest MpiMessageReader::request() {
  CommunicationRequest request;
  request.kind = static_cast<CommunicationKind>(number());
  request.dtype = static_cast<DataType>(number());
  request.reduction = static_cast<ReductionKind>(number());
  request.root = number();
  request.send_to = number();
  request.receive_from = number();
  request.counts = numbers();
  request.received = numbers();
  return request;
}

}  // namespace tokamak
