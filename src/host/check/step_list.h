// StepList: a host program unrolled at given sizes: the steps of each stream in order, with the memory that they
// access. The recorder makes it, the checker proves it, the plan replays it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/work.h"
#include "ir/memory_kind.h"

namespace tokamak {

class Scalar;
class Work;

/// Memory that accesses refer to: an input, an output, or an allocation.
struct StepBuffer {
  /// Arena: memory of the plan itself, there from entry to exit; intermediates are placed in it.
  enum class Origin : uint8_t { Input, Output, Intermediate, Arena };
  Origin origin = Origin::Intermediate;
  int64_t number = 0;  ///< of the input or output; of intermediates, in order of allocation
  int64_t bytes = 0;
  MemoryKind kind = MemoryKind::Device;
  std::string name = {};  ///< for messages: "T3"
};

/// The elements a step reads or writes: `element_bytes` bytes at offset + sum over dims of i * stride, 0 <= i < size.
struct Access {
  struct Dim {
    int64_t size = 0;
    int64_t stride = 0;  ///< in bytes
    bool operator==(const Dim&) const = default;
  };
  int32_t buffer = 0;
  bool is_write = false;
  int64_t offset = 0;  ///< of the first element, in bytes from the start of the buffer
  int64_t element_bytes = 1;
  std::vector<Dim> dims = {};
};

enum class StepKind : uint8_t {
  Work,      ///< a launch: the accesses say what it touches
  Fill,      ///< sets the bytes of accesses[0], a write, to zero
  Allocate,  ///< accesses[0] is a write of the whole buffer
  Release,   ///< accesses[0] is a write of the whole buffer; no later access may follow
  Record,    ///< event `event` becomes this point of the stream
  Wait,      ///< later steps of the stream run after the last recorded point of `event` (in list order)
  /// Starts communication `event` on its own agent, ordered after the stream so far; accesses are the communication's.
  Post,
  Join,  ///< later steps of the stream run after communication `event`
};

/// An address a Work step passes: byte `offset` of a buffer.
struct StepAddress {
  int32_t buffer = 0;
  int64_t offset = 0;
};

struct Step {
  StepKind kind = StepKind::Work;
  int32_t stream = 0;  ///< 0 is the caller's
  int32_t event = -1;
  std::vector<Access> accesses = {};
  std::vector<StepAddress> addresses = {};
  std::shared_ptr<const Work> work = {};
  std::string text = {};                       ///< the statement it came from, for messages
  std::vector<const Scalar*> parameters = {};  ///< whose values a Work step passes behind the addresses
};

/// Steps in the order in which the host enqueues them. The caller reads and writes every input and output on stream 0
/// before all steps (entry), and again after all of them (exit).
struct StepList {
  std::vector<StepBuffer> buffers;
  std::vector<Step> steps;
  int32_t stream_count = 1;
  int32_t event_count = 0;
};

}  // namespace tokamak
