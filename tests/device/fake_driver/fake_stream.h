// The fake driver's contexts, streams (a thread each) and events.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "fake_graph.h"

namespace fake {

class Stream;

inline constexpr int kMostDevices = 8;

struct Context {
  std::atomic<int> device = 0;
  std::atomic<int> users = 0;
  std::atomic<int> lost = 0;                               ///< the error that every call has from now on
  std::shared_ptr<Stream> default_stream;                  ///< once it was used
  std::array<std::atomic<bool>, kMostDevices> peers = {};  ///< whose memory it reaches
};

/// A point in a stream's work.
class Completion {
 public:
  void complete();
  void wait();
  bool isComplete();
  /// Once it is complete.
  std::chrono::steady_clock::time_point time();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_complete_ = false;
  std::chrono::steady_clock::time_point time_;
};

struct Event {
  std::mutex mutex;
  std::shared_ptr<Completion> recorded;
  std::shared_ptr<Capture> captured;  ///< the capture in which it was recorded last, if it was
  Tail tail;                          ///< behind what
};

class Stream {
 public:
  explicit Stream(Context& context);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  /// Runs what is left.
  ~Stream();
  static bool isLive(const void* handle);

  Context& context() { return context_; }
  /// Becomes a node where the stream is captured. Skipped once the context is lost.
  void push(std::function<void()> work);
  /// Runs in any case.
  std::shared_ptr<Completion> pushMark();
  void synchronize();

  std::shared_ptr<Capture> captured;  ///< null: what is pushed runs. Guarded by captureMutex(), as the tail is
  Tail tail;                          ///< what the next node comes after

 private:
  void run();

  Context& context_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool is_closing_ = false;
  std::thread thread_;
};

/// The stream of a handle. Null is the default stream of the current context, which lasts as long as that.
Stream* streamOf(void* stream);

}  // namespace fake
