// The fake driver's stream capture and graphs. What a captured stream is told becomes a node behind those that it was
// told before; events that were recorded in a capture bring other streams into it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "fake_kernels.h"

namespace fake {

class Stream;
struct Context;

/// Its destructor is called when the last graph that holds it is gone.
struct UserObject {
  void* data = nullptr;
  void (*destroy)(void*) = nullptr;
  ~UserObject() { destroy(data); }
};

struct Node {
  std::function<void()> work;  ///< of what is no kernel
  Kernel kernel = nullptr;
  const Function* function = nullptr;
  Launch launch;
  std::vector<const Node*> dependencies;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;  ///< in the order in which they were captured
  std::vector<std::shared_ptr<UserObject>> kept;
};

/// A graph's nodes as they were when it was made executable, and with what was changed since.
struct GraphExec {
  struct Item {
    std::function<void()> work;
    Kernel kernel = nullptr;
    std::shared_ptr<const Launch> launch;
  };
  std::vector<Item> items;
  std::map<const Node*, size_t> numbers;
  std::vector<std::shared_ptr<UserObject>> kept;
};

/// One capture: from its beginning on a stream to its end there.
struct Capture {
  uint64_t id = 0;
  int mode = 0;
  const Stream* origin = nullptr;
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  bool is_invalid = false;
  std::vector<Stream*> streams;
};

using Tail = std::vector<Node*>;

/// Guards all captures.
std::mutex& captureMutex();
/// How many captures forbid other threads to do what is unsafe.
int strictCaptures();
/// Of the calling thread; 0: strict, 2: relaxed.
int& captureMode();

int beginCapture(Stream& stream, int mode);
int endCapture(Stream& stream, Graph** graph);
/// Adds a node behind the stream's tail; false when the stream is not captured.
bool capture(Stream& stream, Node node);
/// 0, or why the wait is illegal. `is_captured`: whether the stream is (now) part of a capture, which then holds the
/// wait.
int captureWait(Stream& stream, const std::shared_ptr<Capture>& of_event, const Tail& tail, bool& is_captured);
/// The capture that the stream is part of, or null.
std::shared_ptr<Capture> captureOf(Stream& stream);

std::unique_ptr<GraphExec> instantiate(const Graph& graph);
/// All items, one after the other, on the stream.
void launchGraph(const GraphExec& exec, Stream& stream);

}  // namespace fake
