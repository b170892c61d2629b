#include "draw_commands.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "ir/ops/math/load_store_op.h"
#include "schedule/commands.h"

namespace tokamak::generator {

namespace {

using ArgumentValue = DrawnCommand::Value;

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

std::string valueText(const ArgumentValue& value) {
  const auto name = [](const TensorName& tensor) { return fmt::format("T{}", tensor.label); };
  const auto names = [&](const std::vector<TensorName>& tensors) {
    std::vector<std::string> texts;
    for (const TensorName& tensor : tensors) texts.push_back(name(tensor));
    return fmt::format("[{}]", joined(texts));
  };
  return std::visit(
      Overloaded{name, names, [](const std::vector<int64_t>& list) { return fmt::format("[{}]", joined(list)); },
                 [](const std::string& word) {
                   return word.find(',') == std::string::npos ? word : fmt::format("\"{}\"", word);
                 },
                 [](auto plain) { return fmt::format("{}", plain); }},
      value);
}

TensorView* find(const Fusion& fusion, const TensorName& name) {
  for (TensorView* tensor : fusion.allTensors()) {
    if (tensor->label() == name.label) return tensor;
  }
  TK_RAISE(Schedule, "T{}: there is no such tensor", name.label);
}

FieldValue fieldOf(const Fusion& fusion, const ArgumentValue& value) {
  return std::visit(
      Overloaded{[&](const TensorName& name) -> FieldValue { return static_cast<Val*>(find(fusion, name)); },
                 [&](const std::vector<TensorName>& names) -> FieldValue {
                   std::vector<Val*> tensors;
                   for (const TensorName& name : names) tensors.push_back(find(fusion, name));
                   return tensors;
                 },
                 [](const auto& plain) -> FieldValue { return plain; }},
      value);
}

class CommandDrawer {
 public:
  CommandDrawer(const Fusion& fusion, Random& random)
      : fusion_(fusion), tensors_(fusion.allTensors()), random_(random) {}

  DrawnCommand draw() {
    struct Row {
      const char* name;
      int weight;
      void (CommandDrawer::*draw)();
    };
    static constexpr Row kRows[] = {
        {"split", 20, &CommandDrawer::split},
        {"merge", 10, &CommandDrawer::axis},
        {"reorder", 8, &CommandDrawer::order},
        {"swizzle", 3, &CommandDrawer::swizzle},
        {"parallelize", 22, &CommandDrawer::parallelize},
        {"propagate", 3, &CommandDrawer::nothing},
        {"transform_like", 4, &CommandDrawer::boundary},
        {"parallelize_like", 4, &CommandDrawer::someTensors},
        {"rfactor", 10, &CommandDrawer::rfactor},
        {"cache_before", 3, &CommandDrawer::nothing},
        {"cache_after", 5, &CommandDrawer::nothing},
        {"cache_fork", 3, &CommandDrawer::nothing},
        {"set_memory_type", 8, &CommandDrawer::memoryType},
        {"set_allocation", 3, &CommandDrawer::allocation},
        {"set_allocation_as_loop", 1, &CommandDrawer::nothing},
        {"circular_buffer", 2, &CommandDrawer::stages},
        {"pad_buffer", 3, &CommandDrawer::padding},
        {"inline_at", 12, &CommandDrawer::position},
        {"inline_most", 6, &CommandDrawer::everything},
    };
    std::vector<int> weights;
    for (const Row& row : kRows) weights.push_back(row.weight);
    const Row& row = kRows[random_.weighted(weights)];
    command_.name = row.name;
    tensor_ = fittingTensor();
    (this->*row.draw)();
    const bool gives_tensor = command_.name == "rfactor" || command_.name.starts_with("cache_");
    if (gives_tensor) command_.result = 1 + std::ranges::max(tensors_, {}, &TensorView::label)->label();
    return std::move(command_);
  }

 private:
  bool isIllegal() { return random_.chance(10); }

  // Those that a command is for come more often.
  const TensorView* fittingTensor() {
    const TensorView* tensor = random_.pick(tensors_);
    for (int tries = 0; tries < 6 && !isIllegal(); ++tries) {
      const bool is_computed = tensor->definition() != nullptr;
      const bool is_reduction = std::ranges::any_of(tensor->loop(), &IterDomain::isReduction);
      const bool is_copy = is_computed && tensor->definition()->is<LoadStoreOp>();
      const bool has_buffer = is_reduction || is_copy || fusion_.isOutput(tensor);
      const std::string& name = command_.name;
      if (name == "rfactor" ? is_reduction
          : name == "circular_buffer" || name == "pad_buffer"
              ? is_copy || is_reduction
              : name == "cache_after" || (is_computed && (has_buffer || random_.chance(20))))
        break;
      tensor = random_.pick(tensors_);
    }
    return tensor;
  }

  void add(std::string name, ArgumentValue value) {
    command_.arguments.emplace_back(std::move(name), std::move(value));
  }
  void addTensor() { add("tensor", TensorName{tensor_->label()}); }
  int64_t anyAxis() {
    const int64_t count = tensor_->axisCount();
    if (count == 0 || isIllegal()) return random_.between(-count - 2, count + 2);
    return random_.below(count);
  }
  std::vector<int64_t> anyOrder() {
    std::vector<int64_t> axes(static_cast<size_t>(tensor_->axisCount()));
    std::iota(axes.begin(), axes.end(), 0);
    for (size_t i = axes.size(); i > 1; --i)
      std::swap(axes[i - 1], axes[static_cast<size_t>(random_.below(static_cast<int64_t>(i)))]);
    if (!axes.empty() && isIllegal()) axes[0] = anyAxis();
    if (!axes.empty() && random_.chance(3)) axes.pop_back();
    return axes;
  }

  void nothing() { addTensor(); }
  void everything() {
    if (random_.chance(40)) add("tensors", manyTensors());
  }
  void axis() {
    addTensor();
    add("axis", anyAxis());
  }
  void split() {
    axis();
    constexpr int64_t kFactors[] = {1, 2, 2, 3, 4, 4, 5, 8, 16, 100};
    constexpr int64_t kIllegal[] = {0, -1, -100, INT64_MIN};
    add("factor", isIllegal() ? random_.pick(kIllegal) : random_.pick(kFactors));
    if (random_.chance(25)) add("inner_split", false);
  }
  void order() {
    addTensor();
    add("order", anyOrder());
  }
  void allocation() {
    addTensor();
    add("axes", anyOrder());
  }
  void swizzle() {
    addTensor();
    add("axis_x", anyAxis());
    add("axis_y", anyAxis());
    if (random_.chance(50)) add("type", std::string(isIllegal() ? "zigzag" : "cyclic_shift"));
  }
  void parallelize() {
    addTensor();
    constexpr std::string_view kTypes[] = {"BIDx",   "BIDy",   "TIDx",     "TIDy", "TIDz",  "Vectorize", "Unroll",
                                           "Serial", "Stream", "Unswitch", "DIDx", "Group", "Mma",       "Bulk"};
    constexpr int kWeights[] = {20, 6, 20, 8, 2, 14, 10, 3, 1, 1, 1, 1, 1, 1};
    const std::string_view type = kTypes[random_.weighted(kWeights)];
    const bool is_last = type == "Vectorize" && tensor_->axisCount() > 0 && random_.chance(80);
    add("axis", is_last ? tensor_->axisCount() - 1 : anyAxis());
    add("type", std::string(random_.chance(1) ? "TIDw" : type));
  }
  std::vector<TensorName> manyTensors() {
    std::vector<TensorName> names;
    for (const TensorView* tensor : tensors_) {
      if (random_.chance(30)) names.push_back({tensor->label()});
    }
    return names;
  }
  void boundary() {
    addTensor();
    if (random_.chance(50)) add("boundary", manyTensors());
  }
  void someTensors() {
    addTensor();
    if (random_.chance(50)) add("tensors", manyTensors());
    if (random_.chance(30)) add("types", std::string("BIDx, TIDx"));
  }
  void rfactor() {
    addTensor();
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < tensor_->axisCount(); ++i) {
      if (random_.chance(tensor_->axis(i)->isReduction() ? 50 : 4)) axes.push_back(i);
    }
    if (isIllegal()) axes.push_back(anyAxis());
    add("axes", std::move(axes));
  }
  void memoryType() {
    addTensor();
    constexpr std::string_view kTypes[] = {"local", "shared", "global", "texture"};
    constexpr int kWeights[] = {30, 50, 18, 2};
    add("type", std::string(kTypes[random_.weighted(kWeights)]));
  }
  void stages() {
    addTensor();
    add("stages", random_.between(isIllegal() ? -1 : 2, 4));
    if (random_.chance(50)) add("prefetch", random_.between(0, 4));
  }
  void padding() {
    axis();
    add("elements", random_.between(isIllegal() ? -2 : 0, 3));
  }
  void position() {
    addTensor();
    add("position", isIllegal() ? anyAxis() : random_.between(-1, tensor_->axisCount()));
  }

  const Fusion& fusion_;
  std::vector<TensorView*> tensors_;
  Random& random_;
  DrawnCommand command_;
  const TensorView* tensor_ = nullptr;
};

}  // namespace

std::string toString(const DrawnCommand& command) {
  std::vector<std::string> arguments;
  for (const auto& [name, value] : command.arguments) {
    const bool is_first = name == "tensor" || (command.name == "inline_most" && name == "tensors");
    arguments.push_back(is_first ? valueText(value) : fmt::format("{}={}", name, valueText(value)));
  }
  const std::string call = fmt::format("{}({})", command.name, joined(arguments));
  return command.result < 0 ? call : fmt::format("T{} = {}", command.result, call);
}

DrawnCommand drawCommand(const Fusion& fusion, Random& random) { return CommandDrawer(fusion, random).draw(); }

std::vector<DrawnCommand> drawExchange(const Fusion& fusion, Random& random) {
  std::vector<const TensorView*> readers;
  for (const TensorView* tensor : fusion.allTensors()) {
    if (tensor->definition() != nullptr && tensor->axisCount() > 0 &&
        !tensorsOf(tensor->definition()->inputs()).empty())
      readers.push_back(tensor);
  }
  if (readers.empty()) return {};
  const TensorView* reader = random.pick(readers);
  const std::vector<TensorView*> operands = tensorsOf(reader->definition()->inputs());
  TensorName operand{random.pick(operands)->label()};
  const TensorName tensor{reader->label()};
  std::vector<DrawnCommand> commands;
  if (random.pick(operands)->definition() == nullptr || random.chance(50)) {
    const int64_t made = 1 + std::ranges::max(fusion.allTensors(), {}, &TensorView::label)->label();
    commands.push_back({.name = "cache_after", .arguments = {{"tensor", operand}}, .result = made});
    operand.label = made;
  }
  int64_t rank = reader->axisCount();
  for (int64_t splits = random.between(0, 2); splits > 0; --splits) {
    commands.push_back(
        {.name = "split",
         .arguments = {{"tensor", tensor}, {"axis", random.below(rank++)}, {"factor", random.between(2, 4)}}});
  }
  const int64_t shared = random.between(0, rank - 1);
  const auto markThreads = [&](const TensorName& name) {
    commands.push_back(
        {.name = "parallelize",
         .arguments = {{"tensor", name}, {"axis", random.between(shared, rank - 1)}, {"type", std::string("TIDx")}}});
  };
  commands.push_back({.name = "transform_like", .arguments = {{"tensor", tensor}}});
  commands.push_back({.name = "set_memory_type", .arguments = {{"tensor", operand}, {"type", std::string("shared")}}});
  commands.push_back({.name = "inline_at", .arguments = {{"tensor", operand}, {"position", shared}}});
  markThreads(operand);
  markThreads(tensor);
  return commands;
}

void applyCommand(Fusion& fusion, const DrawnCommand& command) {
  const std::string text = toString(command);
  ScheduleCommand written{.name = command.name, .arguments = {}, .result = {}, .text = text, .place = "drawn"};
  for (const auto& [name, value] : command.arguments) written.arguments.push_back({name, fieldOf(fusion, value)});
  TensorView* made = scheduleCommands().apply(fusion, written);
  if (made != nullptr) made->setLabel(command.result);
}

void giveLabels(Fusion& fusion) {
  int64_t last = -1;
  for (const TensorView* tensor : fusion.allTensors()) last = std::max(last, tensor->label());
  for (TensorView* tensor : fusion.allTensors()) {
    if (tensor->label() < 0) tensor->setLabel(++last);
  }
}

}  // namespace tokamak::generator
