// MPI messages: what the ranks of an MPI job tell one another beside the data of communications.
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

enum class MpiMessageKind : uint8_t {
  Arrival,         ///< operations that a rank has come to, and where their data are to go
  Broken,          ///< a rank knows that a team is broken, and sends no more data of it
  Exchange,        ///< what a rank gives to an exchange
  ExchangeBroken,  ///< an exchange has failed
  Leaving,         ///< a rank begins to leave the job
  Left,            ///< its works are over
};

/// Which communicators talk: the n-th ones that their processes made over so many ranks.
struct MpiJobKey {
  int64_t ranks = 0;
  int64_t number = 0;
  auto operator<=>(const MpiJobKey&) const = default;
};

/// Numbers as 8 bytes each; texts and lists behind their lengths.
class MpiMessageWriter {
 public:
  MpiMessageWriter(MpiMessageKind kind, const MpiJobKey& job);

  void add(int64_t number);
  void add(std::string_view text);
  void add(std::span<const int64_t> numbers);
  void add(std::span<const std::byte> bytes);
  void add(const Breakage& breakage);
  void add(const CommunicationRequest& request);
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads what a writer wrote, in its order. The bytes outlive it.
class MpiMessageReader {
 public:
  explicit MpiMessageReader(std::span<const std::byte> bytes);

  MpiMessageKind kind() const { return kind_; }
  const MpiJobKey& job() const { return job_; }
  int64_t number();
  std::string text();
  std::vector<int64_t> numbers();
  std::vector<std::byte> bytes();
  Breakage breakage();
  CommunicationRequest request();

 private:
  std::span<const std::byte> next(size_t bytes);

  std::span<const std::byte> rest_;
  MpiMessageKind kind_ = MpiMessageKind::Arrival;
  MpiJobKey job_;
};

}  // namespace tokamak
