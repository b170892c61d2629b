// Agreed steps: a step that ranks of processes of their own take together, and fail in together.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "dist/communicator.h"

namespace tokamak {

/// The same on all ranks of a job: one of them may say it for all.
class AgreedError final : public Error {
 public:
  using Error::Error;
};

/// Runs the step, and waits until all ranks of the job have run theirs. Errors: AgreedError where it failed on some:
/// "rank 2: ..." of the first of those, with its code, and behind it what others say that differs; not what a rank was
/// told of another's failure. What the step raised, or else CommunicationError, where a rank does not come.
void agree(Communicator& communicator, std::string_view step, const std::function<void()>& run);

/// What all ranks have to have alike: a name ("--size") and a text. Errors: AgreedError with the code Device, naming
/// what differs, and two ranks.
void requireAlike(Communicator& communicator, std::span<const std::pair<std::string, std::string>> facts);

/// What rank 0 says, on all ranks.
int64_t saidByFirst(Communicator& communicator, int64_t own);

}  // namespace tokamak
