// RankFinding: what is wrong with the communications of a job, with the two ranks and statements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/check/rank_job.h"

namespace tokamak {

struct RankFinding {
  enum class Kind : uint8_t {
    Race,       ///< one rank's program has a race, or another problem of the checker's (RaceReport)
    Refused,    ///< one rank's program raises an error when it is run
    Unordered,  ///< nothing orders two transfers between the same ranks, so that they may be taken for one another
    Mismatch,   ///< what two ranks post as one communication differs
    Missing,    ///< a rank does not post what another one posts
    Deadlock,   ///< ranks wait for one another
    Part,       ///< an op or a transfer puts together different parts (host/check/rank_part_check.h)
  };
  Kind kind = Kind::Race;
  int64_t first_rank = 0;
  int64_t second_rank = 0;  ///< the same where one rank alone is at fault
  std::string first_statement = {};
  std::string second_statement = {};  ///< empty where there is none
  std::string message = {};           ///< a sentence with all of it, and why
};

/// "race", "refused", "unordered", "mismatch", "missing", "deadlock", "part".
std::string_view rankFindingName(RankFinding::Kind kind);

/// "(0 1 2)"; of many ranks, the first ones and the last one.
std::string teamInWords(std::span<const int64_t> ranks);

/// A communication of a rank of a class, in words: "Allreduce of 16 f32 (sum)".
std::string requestInWords(const CommunicationRequest& request);

/// The statement that it comes from, as it prints; of a group, that of its first communication.
std::string statementOf(const RankClass& of, const PostedRequest& posted);

}  // namespace tokamak
