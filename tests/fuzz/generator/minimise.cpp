#include "minimise.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "draw_data.h"

namespace tokamak::generator {

namespace {

class Minimiser {
 public:
  Minimiser(Program program, const Fails& fails, const MinimiseOptions& options)
      : best_(std::move(program)), fails_(&fails), left_(options.max_attempts) {}

  Program run() {
    bool has_changed = true;
    while (has_changed && left_ > 0) {
      has_changed = dropOutputs();
      has_changed = replaceNodes() || has_changed;
      has_changed = shrinkExtents() || has_changed;
      has_changed = simplifyNodes() || has_changed;
    }
    return best_;
  }

 private:
  // Takes the candidate if it is legal and still fails.
  bool take(const Program& candidate) {
    if (left_-- <= 0) return false;
    Program alive = withoutDead(candidate);
    if (alive.outputs.empty() || !isLegal(alive) || !(*fails_)(alive)) return false;
    best_ = std::move(alive);
    return true;
  }

  bool dropOutputs() {
    bool has_changed = false;
    for (size_t i = best_.in_place.size(); i-- > 0;) {
      Program candidate = best_;
      candidate.in_place.erase(candidate.in_place.begin() + static_cast<int64_t>(i));
      has_changed = take(candidate) || has_changed;
    }
    for (size_t i = best_.outputs.size(); i-- > 0 && best_.outputs.size() > 1;) {
      if (i >= best_.outputs.size()) continue;
      Program candidate = best_;
      const int output = candidate.outputs[i];
      candidate.outputs.erase(candidate.outputs.begin() + static_cast<int64_t>(i));
      std::erase_if(candidate.in_place, [&](const InPlace& alias) { return alias.output == output; });
      has_changed = take(candidate) || has_changed;
    }
    // An earlier result as the only output cuts everything after it.
    for (size_t i = 0; i + 1 < best_.nodes.size(); ++i) {
      if (best_.nodes[i].kind != NodeKind::Op) continue;
      Program candidate = best_;
      candidate.outputs = {static_cast<int>(i)};
      candidate.in_place.clear();
      if (take(candidate)) return true;
    }
    return has_changed;
  }

  // An op by one of its operands of the same form (every user reads that instead), or by an input of its form.
  bool replaceNodes() {
    bool has_changed = false;
    for (size_t i = best_.nodes.size(); i-- > 0;) {
      if (i >= best_.nodes.size() || best_.nodes[i].kind != NodeKind::Op) continue;
      has_changed = bypass(static_cast<int>(i)) || replaceByInput(i) || has_changed;
    }
    return has_changed;
  }

  bool bypass(int node) {
    ProgramBuilder builder;
    for (const Node& each : best_.nodes) builder.add(each);
    for (const Operand& operand : best_.nodes[static_cast<size_t>(node)].operands) {
      if (operand.node < 0 || builder.sizes(operand.node) != builder.sizes(node) ||
          builder.value(operand.node)->dtype() != builder.value(node)->dtype() ||
          builder.tensor(operand.node) == nullptr) {
        continue;
      }
      Program candidate = best_;
      const int other = operand.node;
      for (Node& user : candidate.nodes) {
        for (Operand& read : user.operands) {
          if (read.node == node) read.node = other;
        }
      }
      const bool is_input = candidate.nodes[static_cast<size_t>(other)].kind != NodeKind::Op;
      std::erase_if(candidate.in_place, [&](const InPlace& alias) { return alias.output == node; });
      if (is_input) std::erase(candidate.outputs, node);
      for (int& output : candidate.outputs) output = output == node ? other : output;
      std::ranges::sort(candidate.outputs);
      const auto twice = std::ranges::unique(candidate.outputs);
      candidate.outputs.erase(twice.begin(), twice.end());
      if (take(candidate)) return true;
    }
    return false;
  }

  bool replaceByInput(size_t node) {
    if (std::ranges::find(best_.outputs, static_cast<int>(node)) != best_.outputs.end()) return false;
    ProgramBuilder builder;
    for (const Node& each : best_.nodes) builder.add(each);
    const auto at = static_cast<int>(node);
    Program candidate = best_;
    candidate.nodes[node] = {
        .kind = NodeKind::TensorInput, .dtype = builder.value(at)->dtype(), .sizes = builder.sizes(at)};
    return take(candidate);
  }

  static void replaceSize(Program& program, int64_t from, int64_t to) {
    for (Node& node : program.nodes) {
      std::ranges::replace(node.sizes, from, to);
      if (node.op == OpKind::SliceOp) std::ranges::replace(node.numbers, from, to);
    }
  }

  bool shrinkExtents() {
    std::set<int64_t> sizes;
    for (const Node& node : best_.nodes) sizes.insert(node.sizes.begin(), node.sizes.end());
    bool has_changed = false;
    for (const int64_t size : sizes) {
      for (const int64_t smaller : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{5}, size / 2, size - 1}) {
        if (smaller >= size || smaller < 1) continue;
        Program candidate = best_;
        replaceSize(candidate, size, smaller);
        if (!take(candidate)) continue;
        has_changed = true;
        break;
      }
    }
    return has_changed;
  }

  // All of a node's schedule, then single steps of it.
  void dropLoopSteps(size_t node, bool& has_changed) {
    if (best_.nodes[node].loop_steps.empty()) return;
    Program candidate = best_;
    candidate.nodes[node].loop_steps.clear();
    if (take(candidate)) {
      has_changed = true;
      return;
    }
    for (size_t step = best_.nodes[node].loop_steps.size(); step-- > 0;) {
      candidate = best_;
      auto& steps = candidate.nodes[node].loop_steps;
      steps.erase(steps.begin() + static_cast<int64_t>(step));
      has_changed = take(candidate) || has_changed;
      if (node >= best_.nodes.size() || step > best_.nodes[node].loop_steps.size()) return;
    }
  }

  bool simplifyNodes() {
    bool has_changed = false;
    const auto tryChange = [&](auto change) {
      Program candidate = best_;
      if (change(candidate)) has_changed = take(candidate) || has_changed;
    };
    for (size_t i = 0; i < best_.nodes.size(); ++i) {
      const auto set = [&](auto member, const auto& value) {
        tryChange([&](Program& candidate) {
          if (i >= candidate.nodes.size() || candidate.nodes[i].*member == value) return false;
          candidate.nodes[i].*member = value;
          return true;
        });
      };
      set(&Node::layout, Layout::Contiguous);
      set(&Node::is_near_limits, false);
      dropLoopSteps(i, has_changed);
      set(&Node::symbolic, std::vector<bool>(best_.nodes[std::min(i, best_.nodes.size() - 1)].symbolic.size(), false));
      set(&Node::expanded, std::vector<bool>(best_.nodes[std::min(i, best_.nodes.size() - 1)].expanded.size(), false));
    }
    tryChange([](Program& candidate) { return std::exchange(candidate.values, Values::Exact) != Values::Exact; });
    for (const DataType dtype : kAllDataTypes) {
      tryChange([&](Program& candidate) {
        bool changes = false;
        for (Node& node : candidate.nodes) {
          changes = changes || (node.dtype == dtype && dtype != DataType::F32);
          if (node.dtype == dtype) node.dtype = DataType::F32;
        }
        return changes;
      });
    }
    return has_changed;
  }

  Program best_;
  const Fails* fails_;
  int64_t left_;
};

}  // namespace

bool isLegal(const Program& program) {
  try {
    const auto fusion = build(program);
    oracle::evaluate(*fusion, toOracle(drawData(program, program.seed)));
    return true;
  } catch (const Error&) {
    return false;
  }
}

Program minimise(Program program, const Fails& fails, const MinimiseOptions& options) {
  return Minimiser(std::move(program), fails, options).run();
}

}  // namespace tokamak::generator
