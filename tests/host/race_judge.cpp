#include "host/race_judge.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

namespace tokamak {

namespace {

constexpr size_t kMaximumBytes = 1 << 11;  // of all buffers together
constexpr size_t kMaximumNodes = 2048;

using Bytes = std::bitset<kMaximumBytes>;

// First bytes of all elements, in order of their indices.
std::vector<int64_t> elementsOf(const Access& access) {
  std::vector<int64_t> elements = {access.offset};
  for (const Access::Dim& dim : access.dims) {
    std::vector<int64_t> wider;
    for (const int64_t at : elements) {
      for (int64_t i = 0; i < dim.size; ++i) wider.push_back(at + i * dim.stride);
    }
    elements = std::move(wider);
  }
  return elements;
}

bool isInside(const std::set<int64_t>& bytes, const StepBuffer& buffer) {
  return bytes.empty() || (*bytes.begin() >= 0 && *bytes.rbegin() < buffer.bytes);
}

bool isLifeStep(const Step& step) { return step.kind == StepKind::Allocate || step.kind == StepKind::Release; }

// A node of the order graph: a step, the communication that a Post starts, the entry or the exit.
struct Node {
  int64_t step = 0;
  bool is_silent = true;  // touches no memory
  Bytes reads = {};
  Bytes writes = {};
  std::vector<size_t> after = {};  // nodes that must have finished, all earlier in the graph
};

class Graph {
 public:
  explicit Graph(const StepList& list) : list_(list) {
    size_t end = 0;
    for (const StepBuffer& buffer : list.buffers) {
      base_.push_back(end);
      end += static_cast<size_t>(buffer.bytes);
    }
    if (end > kMaximumBytes || list.steps.size() * 2 > kMaximumNodes) throw std::length_error("too large to judge");
    addCaller(-1);
    last_of_stream_.resize(static_cast<size_t>(list.stream_count));
    last_of_stream_[0] = 0;
    for (size_t i = 0; i < list.steps.size(); ++i) addStep(i);
    addCaller(static_cast<int64_t>(list.steps.size()));
    nodes_.back().after.push_back(*last_of_stream_[0]);
  }

  const std::vector<Node>& nodes() const { return nodes_; }

  bool isConflict(const Node& a, const Node& b) const {
    return (a.writes & (b.reads | b.writes)).any() || (a.reads & b.writes).any();
  }

 private:
  void addCaller(int64_t step) {
    Node node{.step = step, .is_silent = false};
    for (size_t b = 0; b < list_.buffers.size(); ++b) {
      const bool is_theirs = list_.buffers[b].origin != StepBuffer::Origin::Intermediate;
      if (step == -1 && !is_theirs) continue;
      for (int64_t byte = 0; byte < list_.buffers[b].bytes; ++byte)
        node.writes.set(base_[b] + static_cast<size_t>(byte));
    }
    nodes_.push_back(std::move(node));
  }

  void addStep(size_t number) {
    const Step& step = list_.steps[number];
    Node node{.step = static_cast<int64_t>(number)};
    auto& last = last_of_stream_[static_cast<size_t>(step.stream)];
    if (last) node.after.push_back(*last);
    if (step.kind == StepKind::Wait && recorded_.contains(step.event)) node.after.push_back(recorded_[step.event]);
    if (step.kind == StepKind::Join && posted_.contains(step.event)) node.after.push_back(posted_[step.event]);
    if (step.kind == StepKind::Record) recorded_[step.event] = nodes_.size();
    last = nodes_.size();
    nodes_.push_back(std::move(node));
    if (step.kind == StepKind::Post) {
      posted_[step.event] = nodes_.size();
      nodes_.push_back(Node{.step = static_cast<int64_t>(number), .after = {nodes_.size() - 1}});
    }
    addBytes(step, nodes_.back());
  }

  void addBytes(const Step& step, Node& node) {
    for (const Access& access : step.accesses) {
      const StepBuffer& buffer = list_.buffers[static_cast<size_t>(access.buffer)];
      std::set<int64_t> bytes = bytesOf(access);
      if (isLifeStep(step)) {
        bytes.clear();
        for (int64_t byte = 0; byte < buffer.bytes; ++byte) bytes.insert(byte);
      }
      if (!isInside(bytes, buffer)) continue;
      for (const int64_t byte : bytes) {
        node.is_silent = false;
        (access.is_write ? node.writes : node.reads)
            .set(base_[static_cast<size_t>(access.buffer)] + static_cast<size_t>(byte));
      }
    }
  }

  const StepList& list_;
  std::vector<size_t> base_;  // of each buffer in the numbering of all bytes
  std::vector<Node> nodes_;
  std::vector<std::optional<size_t>> last_of_stream_;
  std::map<int32_t, size_t> recorded_;
  std::map<int32_t, size_t> posted_;
};

// Runs a graph of at most 64 nodes in every order. Synchronisation runs as soon as it can: it only ever lets more run.
class OrderRunner {
 public:
  static constexpr size_t kMostNodes = 64;
  explicit OrderRunner(const Graph& graph) : nodes_(graph.nodes()), seen_before_(nodes_.size(), 0) {
    if (nodes_.size() > kMostNodes) throw std::length_error("too large to run in all orders");
    for (const Node& node : nodes_) {
      uint64_t needed = 0;
      for (const size_t before : node.after) needed |= bit(before);
      needed_.push_back(needed);
      all_ = (all_ << 1) | 1;
    }
  }

  int64_t runAll() {
    run(0);
    return order_count_;
  }

  // Whether some order ran a before b.
  bool ranBefore(size_t a, size_t b) const { return (seen_before_[b] & bit(a)) != 0; }

 private:
  static uint64_t bit(size_t node) { return uint64_t{1} << node; }

  bool isReady(size_t node, uint64_t done) const { return (done & bit(node)) == 0 && (needed_[node] & ~done) == 0; }

  void run(uint64_t done) {
    // Nodes are numbered in list order, so one pass sees all silent nodes that others let run.
    for (size_t node = 0; node < nodes_.size(); ++node) {
      if (nodes_[node].is_silent && isReady(node, done)) done |= bit(node);
    }
    if (done == all_) {
      ++order_count_;
      return;
    }
    for (size_t node = 0; node < nodes_.size(); ++node) {
      if (!isReady(node, done)) continue;
      seen_before_[node] |= done;
      run(done | bit(node));
    }
  }

  const std::vector<Node>& nodes_;
  std::vector<uint64_t> needed_;
  std::vector<uint64_t> seen_before_;
  uint64_t all_ = 0;
  int64_t order_count_ = 0;
};

}  // namespace

std::set<int64_t> bytesOf(const Access& access) {
  std::set<int64_t> bytes;
  for (const int64_t at : elementsOf(access)) {
    for (int64_t b = 0; b < access.element_bytes; ++b) bytes.insert(at + b);
  }
  return bytes;
}

bool canRunInAllOrders(const StepList& list) { return Graph(list).nodes().size() <= OrderRunner::kMostNodes; }

StepPairs racesByAllOrders(const StepList& list, int64_t& order_count) {
  const Graph graph(list);
  OrderRunner runner(graph);
  order_count += runner.runAll();
  StepPairs races;
  const auto& nodes = graph.nodes();
  for (size_t b = 0; b < nodes.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      if (graph.isConflict(nodes[a], nodes[b]) && runner.ranBefore(a, b) && runner.ranBefore(b, a)) {
        races.insert({nodes[a].step, nodes[b].step});
      }
    }
  }
  return races;
}

StepPairs racesByClosure(const StepList& list) {
  const Graph graph(list);
  const auto& nodes = graph.nodes();
  std::vector<std::bitset<kMaximumNodes>> finished(nodes.size());
  StepPairs races;
  for (size_t b = 0; b < nodes.size(); ++b) {
    for (const size_t before : nodes[b].after) {
      finished[b] |= finished[before];
      finished[b].set(before);
    }
    if (nodes[b].is_silent) continue;
    for (size_t a = 0; a < b; ++a) {
      if (!nodes[a].is_silent && !finished[b].test(a) && graph.isConflict(nodes[a], nodes[b])) {
        races.insert({nodes[a].step, nodes[b].step});
      }
    }
  }
  return races;
}

namespace {

bool hasUse(const Step& step, int32_t buffer) {
  return std::any_of(step.accesses.begin(), step.accesses.end(), [&](const Access& a) { return a.buffer == buffer; });
}

void addLifeProblems(const StepList& list, size_t number, int32_t buffer, std::set<std::string>& problems) {
  const auto came = [&](StepKind kind) {
    return std::any_of(list.steps.begin(), list.steps.begin() + static_cast<std::ptrdiff_t>(number),
                       [&](const Step& step) { return step.kind == kind && hasUse(step, buffer); });
  };
  const bool is_intermediate = list.buffers[static_cast<size_t>(buffer)].origin == StepBuffer::Origin::Intermediate;
  const StepKind kind = list.steps[number].kind;
  const std::string at = " at step " + std::to_string(number);
  if (kind == StepKind::Allocate) {
    if (came(StepKind::Allocate)) problems.insert("double allocate" + at);
    return;
  }
  if (is_intermediate && !came(StepKind::Allocate)) problems.insert("before allocate" + at);
  if (kind == StepKind::Release && !is_intermediate) problems.insert("release of caller" + at);
  if (came(StepKind::Release)) problems.insert((kind == StepKind::Release ? "double release" : "after release") + at);
}

bool hasInnerOverlap(const StepList& list, const Step& step) {
  for (size_t a = 0; a < step.accesses.size(); ++a) {
    const Access& one = step.accesses[a];
    const auto bytes = bytesOf(one);
    if (!isInside(bytes, list.buffers[static_cast<size_t>(one.buffer)])) continue;
    Access moving = one;
    std::erase_if(moving.dims, [](const Access::Dim& dim) { return dim.stride == 0 && dim.size > 0; });
    const auto elements = static_cast<int64_t>(elementsOf(moving).size());
    if (one.is_write && static_cast<int64_t>(bytes.size()) != elements * one.element_bytes) return true;
    for (size_t b = 0; b < a; ++b) {
      const Access& other = step.accesses[b];
      if (other.buffer != one.buffer || (!one.is_write && !other.is_write)) continue;
      const auto others = bytesOf(other);
      if (!isInside(others, list.buffers[static_cast<size_t>(one.buffer)])) continue;
      const bool meets = std::any_of(others.begin(), others.end(), [&](int64_t byte) { return bytes.contains(byte); });
      const bool is_in_place = one.is_write != other.is_write && one.element_bytes == other.element_bytes &&
                               elementsOf(one) == elementsOf(other);
      if (meets && !is_in_place) return true;
    }
  }
  return false;
}

}  // namespace

std::set<std::string> otherProblems(const StepList& list) {
  std::set<std::string> problems;
  for (size_t i = 0; i < list.steps.size(); ++i) {
    const Step& step = list.steps[i];
    const std::string at = " at step " + std::to_string(i);
    for (const Access& access : step.accesses) {
      addLifeProblems(list, i, access.buffer, problems);
      if (!isLifeStep(step) && !isInside(bytesOf(access), list.buffers[static_cast<size_t>(access.buffer)])) {
        problems.insert("out of bounds" + at);
      }
    }
    if (!isLifeStep(step) && hasInnerOverlap(list, step)) problems.insert("overlap" + at);
    const bool is_posted =
        std::any_of(list.steps.begin(), list.steps.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const Step& other) { return other.kind == StepKind::Post && other.event == step.event; });
    if (step.kind == StepKind::Join && !is_posted) problems.insert("join without post" + at);
  }
  return problems;
}

}  // namespace tokamak
