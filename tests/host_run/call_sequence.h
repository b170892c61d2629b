// CallSequence: calls of small programs on shared memory, each beside what it must give if one call ran after the
// other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compile/multi_device_executor.h"
#include "interop/dlpack.h"

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
/// Moved: one that stood for other memory before.
enum class HandleKind : uint8_t { Own, View, Wrap, Import, Moved };
enum class StreamKind : uint8_t { None, First, Second };
inline constexpr CallKind kCallKinds[] = {CallKind::Returned, CallKind::Given, CallKind::Update,
                                          CallKind::HiddenUpdate};
inline constexpr HandleKind kHandleKinds[] = {HandleKind::Own, HandleKind::View, HandleKind::Wrap, HandleKind::Import,
                                              HandleKind::Moved};
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
  /// A call of somebody else's writes a memory, by a stream of its own, and fails. What reads it must be skipped, and
  /// who reads that must be told.
  void lose(size_t memory);
  /// Reads all that is left; how many reads were wrong since restart(): of other numbers, of what was never written, or
  /// raised though it was.
  int64_t countWrong();
  /// How many reads and calls were told of a failure, ever.
  int64_t told() const { return told_; }
  /// How many handles were moved, ever.
  int64_t moves() const { return moves_; }

 private:
  /// Of Unknown a stream decides: what follows a failure there is skipped until somebody was told.
  enum class State : uint8_t { There, Lost, Unknown };
  struct Memory {
    Tensor tensor;
    float number = 0;
    State state = State::There;
    bool is_told = false;  ///< who reads it knows that it is lost
  };

  std::unique_ptr<MultiDeviceExecutor> program(CallKind kind, const HostIrEvaluatorParams& evaluator) const;
  Tensor handleOf(const Tensor& tensor, HandleKind handle);
  Tensor fresh(float number);
  void refill(const Tensor& tensor, float number);
  Tensor readable(const Tensor& tensor);
  void check(const Tensor& read, float number);
  void checkOne(Memory& memory, HandleKind handle);
  bool mayUse(Memory& memory, const std::function<void()>& use);
  void noteWrong(std::string_view what);
  void tellStreams();

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
  bool has_failures_ = false;
  bool is_infected_[3] = {};  ///< streams, by failures that perhaps nobody was told of
  std::vector<std::shared_ptr<Stream>> failing_;
  std::vector<std::string> story_;  ///< of this sequence, told where a read is wrong
  int stories_ = 0;
  Tensor moved_[2];
  int64_t moves_ = 0;
  int64_t wrong_ = 0;
  int64_t told_ = 0;
};

/// Every pair of calls by every pair of handles in which the second reads what the first wrote, and in which it
/// overwrites what the first read, `turns` of each. A third call follows, of every kind by every handle, and on
/// every three streams, by and by. How many reads were wrong.
int64_t countWrongChains(CallSequence& sequence, int64_t turns);
/// Sequences of `calls` calls on three memories, with reads and writes of the host, from a seed.
int64_t countWrongSequences(CallSequence& sequence, int64_t sequences, int64_t calls, uint64_t seed);

/// The same where calls fail: every other one without streams, so that it is known what each read must give. After each
/// sequence good calls must go well.
int64_t countWrongFailures(CallSequence& sequence, int64_t sequences, int64_t calls, uint64_t seed);

/// How often a test repeats itself: $TOKAMAK_CALL_ORDER_RUNS, or `few`; under a sanitizer, where a turn takes seconds,
/// hardly ever.
int64_t repetitions(int64_t few);

}  // namespace tokamak
