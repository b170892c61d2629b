// MPI messages: what the ranks of an MPI job tell one another beside the data of communications.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dist/sockets/message.h"

namespace tokamak {

enum class MpiMessageKind : uint8_t {
  Arrival,         ///< operations that a rank has come to, and where their data are to go
  Broken,          ///< a rank knows that a team is broken, and sends no more data of it
  Exchange,        ///< what a rank gives to an exchange
  ExchangeBroken,  ///< an exchange has failed
  Leaving,         ///< a rank begins to leave the job; which processes it knows to be dead
  Left,            ///< its works are over
};

/// Which communicators talk: the n-th ones that their processes made over so many ranks.
struct MpiJobKey {
  int64_t ranks = 0;
  int64_t number = 0;
  auto operator<=>(const MpiJobKey&) const = default;
};

/// A message that says what it is, and who talks.
class MpiMessageWriter : public MessageWriter {
 public:
  MpiMessageWriter(MpiMessageKind kind, const MpiJobKey& job);
};

/// Reads what a writer wrote, in its order. The bytes outlive it. Errors: Internal for a message that is shorter.
class MpiMessageReader : public MessageReader {
 public:
  explicit MpiMessageReader(std::span<const std::byte> bytes);

  MpiMessageKind kind() const { return kind_; }
  const MpiJobKey& job() const { return job_; }

 private:
  MpiMessageKind kind_ = MpiMessageKind::Arrival;
  MpiJobKey job_;
};

}  // namespace tokamak
