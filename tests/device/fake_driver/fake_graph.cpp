#include "fake_graph.h"

#include <algorithm>
#include <set>

#include "fake_stream.h"

namespace fake {

namespace {

constexpr int kIllegalState = 401;
constexpr int kInvalidated = 901;
constexpr int kUnmatched = 903;
constexpr int kUnjoined = 904;
constexpr int kIsolation = 905;

int strict_captures = 0;
uint64_t next_id = 1;

void addAncestors(const Node* node, std::set<const Node*>& seen) {
  if (!seen.insert(node).second) return;
  for (const Node* before : node->dependencies) addAncestors(before, seen);
}

}  // namespace

std::mutex& captureMutex() {
  static std::mutex mutex;
  return mutex;
}

int strictCaptures() {
  const std::lock_guard lock(captureMutex());
  return strict_captures;
}

int& captureMode() {
  thread_local int mode = 0;
  return mode;
}

int beginCapture(Stream& stream, int mode) {
  const std::lock_guard lock(captureMutex());
  if (stream.captured != nullptr) return kIllegalState;
  stream.captured = std::make_shared<Capture>();
  stream.captured->id = next_id++;
  stream.captured->mode = mode;
  stream.captured->origin = &stream;
  stream.captured->streams = {&stream};
  stream.tail.clear();
  if (mode != 2) ++strict_captures;
  return 0;
}

int endCapture(Stream& stream, Graph** graph) {
  const std::lock_guard lock(captureMutex());
  *graph = nullptr;
  const std::shared_ptr<Capture> captured = stream.captured;
  if (captured == nullptr) return kIllegalState;
  if (captured->origin != &stream) return kUnmatched;
  std::set<const Node*> joined;
  for (const Node* node : stream.tail) addAncestors(node, joined);
  bool is_joined = true;
  for (Stream* const other : captured->streams) {
    for (const Node* node : other->tail) is_joined = is_joined && joined.contains(node);
    other->captured = nullptr;
    other->tail.clear();
  }
  if (captured->mode != 2) --strict_captures;
  if (captured->is_invalid) return kInvalidated;
  if (!is_joined) return kUnjoined;
  *graph = captured->graph.release();
  return 0;
}

bool capture(Stream& stream, Node node) {
  const std::lock_guard lock(captureMutex());
  if (stream.captured == nullptr) return false;
  node.dependencies.assign(stream.tail.begin(), stream.tail.end());
  auto& nodes = stream.captured->graph->nodes;
  nodes.push_back(std::make_unique<Node>(std::move(node)));
  stream.tail = {nodes.back().get()};
  return true;
}

int captureWait(Stream& stream, const std::shared_ptr<Capture>& of_event, const Tail& tail, bool& is_captured) {
  const std::lock_guard lock(captureMutex());
  is_captured = stream.captured != nullptr || of_event != nullptr;
  if (!is_captured) return 0;
  const bool is_legal = of_event != nullptr && (stream.captured == nullptr || stream.captured == of_event);
  if (!is_legal) {
    if (stream.captured != nullptr) stream.captured->is_invalid = true;
    return kIsolation;
  }
  if (stream.captured == nullptr) {
    stream.captured = of_event;
    stream.tail.clear();
    of_event->streams.push_back(&stream);
  }
  for (Node* const node : tail)
    if (std::ranges::find(stream.tail, node) == stream.tail.end()) stream.tail.push_back(node);
  return 0;
}

std::shared_ptr<Capture> captureOf(Stream& stream) {
  const std::lock_guard lock(captureMutex());
  return stream.captured;
}

std::unique_ptr<GraphExec> instantiate(const Graph& graph) {
  auto exec = std::make_unique<GraphExec>();
  for (const auto& node : graph.nodes) {
    exec->numbers[node.get()] = exec->items.size();
    exec->items.push_back({node->work, node->kernel, std::make_shared<const Launch>(node->launch)});
  }
  exec->kept = graph.kept;
  return exec;
}

void launchGraph(const GraphExec& exec, Stream& stream) {
  stream.push([items = exec.items, &context = stream.context()] {
    for (const GraphExec::Item& item : items) {
      if (context.lost.load() != 0) return;
      if (item.work) item.work();
      if (item.kernel == nullptr) continue;
      if (const int status = item.kernel(*item.launch); status != 0) context.lost.store(status);
    }
  });
}

}  // namespace fake
