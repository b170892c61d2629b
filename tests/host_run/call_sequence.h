// CallSequence: calls of small programs on shared memory, each beside what it must give if one call ran after the
// other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/multi_device_executor.h"
#include "runtime/dlpack.h"

namespace tokamak {

/// What the sequence runs on. Every tensor stands for one number; a program makes f(x) of x in several steps.
struct CallTarget {
  Device* device = nullptr;
  /// Text of a chain of ops from T0 to the last tensor, which also takes T1: f32[n, n]; `steps` ops.
  std::string op;  ///< "add" or "matmul"
  int steps = 12;
  std::string head = {};  ///< statements before them, the first of which makes T2 of T0
  int head_steps = 0;
  int64_t size = 256;
  std::function<float(float)> step;  ///< what one op does to the number
  std::function<void(float*, int64_t size, float)> fill;
  float operand = 1;  ///< the number of T1
  dlpack::Device dlpack_device;
  bool host_reads = true;  ///< host code reaches the memory
};

enum class CallKind : uint8_t { Returned, Given, Update, HiddenUpdate };
enum class HandleKind : uint8_t { Own, View, Wrap, Import };
enum class StreamKind : uint8_t { None, First, Second };
inline constexpr CallKind kCallKinds[] = {CallKind::Returned, CallKind::Given, CallKind::Update,
                                          CallKind::HiddenUpdate};
inline constexpr HandleKind kHandleKinds[] = {HandleKind::Own, HandleKind::View, HandleKind::Wrap, HandleKind::Import};
inline constexpr StreamKind kStreamKinds[] = {StreamKind::None, StreamKind::First, StreamKind::Second};

class CallSequence {
 public:
  CallSequence(const CallTarget& target, const HostIrEvaluatorParams& evaluator);
  ~CallSequence();

  /// Gives every memory a number, with no call under way.
  void restart(size_t memories);
  /// One call: it reads memory `from`, and writes `to` (Given), a new one in the place of `to` (Returned), or `from`
  /// (the others).
  void call(CallKind kind, HandleKind handle, StreamKind stream, size_t from, size_t to);
  /// The host reads, or writes, a memory by a handle of this kind.
  void hostRead(size_t memory, HandleKind handle);
  void hostWrite(size_t memory, HandleKind handle, float number);
  /// Reads all that is left; how many reads were wrong since restart().
  int64_t countWrong();

 private:
  struct Memory {
    Tensor tensor;
    float number = 0;
  };

  std::unique_ptr<MultiDeviceExecutor> program(CallKind kind, const HostIrEvaluatorParams& evaluator) const;
  Tensor handleOf(const Tensor& tensor, HandleKind handle);
  Tensor fresh(float number);
  void refill(const Tensor& tensor, float number);
  Tensor readable(const Tensor& tensor);
  void check(const Tensor& read, float number);

  CallTarget target_;
  DlpackExchange exchange_;
  std::shared_ptr<Stream> streams_[3];  // none, and two
  std::shared_ptr<Stream> import_stream_;
  std::shared_ptr<Stream> host_stream_;
  std::unique_ptr<MultiDeviceExecutor> programs_[std::size(kCallKinds)];
  Tensor operand_;
  std::vector<Memory> memories_;
  std::vector<Memory> results_;                 // that a later call may not change
  std::map<float, std::vector<float>> staged_;  // elements on their way, by number
  std::vector<float> expected_;
  bool is_under_way_ = false;
  int64_t wrong_ = 0;
};

/// Every pair of calls by every pair of handles in which the second reads what the first wrote, and in which it
/// overwrites what the first read, `turns` of each. A third call follows, of every kind by every handle, and on
/// every three streams, by and by. How many reads were wrong.
int64_t countWrongChains(CallSequence& sequence, int64_t turns);
/// Sequences of `calls` calls on three memories, with reads and writes of the host, from a seed.
int64_t countWrongSequences(CallSequence& sequence, int64_t sequences, int64_t calls, uint64_t seed);

/// How often a test repeats itself: $TOKAMAK_CALL_ORDER_RUNS, or `few`; under a sanitizer, where a turn takes seconds,
/// hardly ever.
int64_t repetitions(int64_t few);

}  // namespace tokamak
