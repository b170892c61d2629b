// SharedCompilation: a compilation of a queue, and compilations by key.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/home_process.h"
#include "device/compilation.h"
#include "toolchain/compile_queue.h"

namespace tokamak {

/// A value that a thread of a queue makes. Who holds it holds the queue; its tasks hold neither. The last one who lets
/// go of it gives it up.
/// Thread safety: as Compilation.
class SharedCompilation final : public Compilation {
 public:
  using Value = std::shared_ptr<const void>;
  /// Makes the value. May raise Cancelled once the token asks for it; what it makes nevertheless is kept.
  using Make = std::function<Value(const std::stop_token& given_up)>;

  /// Without a thread of the queue's the value is made at once.
  SharedCompilation(std::shared_ptr<CompileQueue> queue, Make make);
  ~SharedCompilation() override;

  void join() override;
  void leave() override;
  void giveUp() override;
  bool isOver() const override;
  bool waitFor(std::chrono::milliseconds time, const std::stop_token& stop) override;

  /// Whether it ended in an error.
  bool hasFailed() const;
  /// Waits, and shows the progress line where that is asked for. Errors: those of its making, every time; Cancelled
  /// when the queue was ended, as by exit().
  Value value();

 private:
  struct State;
  void begin();

  const HomeProcess home_;
  std::shared_ptr<CompileQueue> queue_;
  std::shared_ptr<State> state_;
};

/// Those who ask for what somebody holds, and what has not failed, share it.
/// Thread safety: any threads may use it side by side.
class SharedCompilations {
 public:
  /// `text`: everything that the value depends on.
  std::shared_ptr<SharedCompilation> get(const std::string& text, const std::shared_ptr<CompileQueue>& queue,
                                         const SharedCompilation::Make& make);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<SharedCompilation>> known_;  // by digest
  size_t next_sweep_ = 64;
};

}  // namespace tokamak
