// Random programs of several ranks, each with statements of its own, and their mutants.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "dist/communication_request.h"
#include "host/ir/host_ir_container.h"

namespace tokamak {

/// A communication of one rank. Its operands are buffers of its own.
struct RankOp {
  CommunicationKind kind = CommunicationKind::Allreduce;
  std::vector<int64_t> team;  ///< of collectives
  int64_t root = -1;
  int64_t peer = -1;  ///< of transfers
  int64_t count = 4;  ///< elements of a part
  bool is_double = false;
  ReductionKind reduction = ReductionKind::Sum;
};

/// A statement of one rank; `op` numbers the rank's communications.
struct RankStatement {
  enum class Kind : uint8_t {
    Write,  ///< of the op's input
    Post,
    Wait,  ///< for the op, or for the group that it is in
    Read,  ///< of the op's output
    ReadInput,
    StartGroup,
    EndGroup,    ///< `op`: the first one of the group
    SetStream,   ///< `stream`
    Synchronize  ///< the current stream waits for `stream`
  };
  Kind kind = Kind::Write;
  int64_t op = -1;
  int64_t stream = 0;
};

struct RankText {
  std::vector<RankOp> ops;
  std::vector<RankStatement> statements;
};

using RankTexts = std::vector<RankText>;

struct RankProgramShape {
  int64_t ranks = 2;
  int64_t events = 3;  ///< what two or more ranks do together
};

/// A program without faults: every rank has its part of the same events in the same order, and waits before it reads.
RankTexts legalProgram(std::mt19937& random, const RankProgramShape& shape);

struct RankMutant {
  std::string_view kind;
  RankTexts program;
};
/// One of each kind that the program has a place for, which may be no fault.
std::vector<RankMutant> mutantsOf(const RankTexts& program, std::mt19937& random);

/// Elements of what an op reads and writes on this rank; 0 where it has none.
BufferCounts elementsOf(const RankOp& op, int64_t rank);
/// The statement's group: the number of its first op, or -1.
std::vector<int64_t> groupsOf(const RankText& text);

/// The local host program's text.
std::string textOf(const RankText& text, int64_t rank);
std::vector<std::unique_ptr<HostIrContainer>> hostProgramsOf(const RankTexts& program);

}  // namespace tokamak
