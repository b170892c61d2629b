#include "host/lower/use_order.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "ir/ops/host/collective_permute.h"
#include "ir/ops/host/communication.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/get_current_stream.h"
#include "ir/ops/host/if_then_else.h"
#include "ir/ops/host/p2p_communication.h"
#include "ir/ops/host/set_current_stream.h"
#include "ir/ops/host/synchronize.h"
#include "ir/ops/host/wait.h"

namespace tokamak {

namespace {

const char* const kCallers = "caller";

std::string communicationKey(int64_t number) { return fmt::format("communication {}", number); }

// The family of a stream in a loop's body: the streams of all iterations.
std::string familyKey(const std::string& member, const ForLoop& loop) {
  return fmt::format("{} for {} from {} to {} by {}", member, toString(*loop.index), toString(*loop.start),
                     toString(*loop.stop), toString(*loop.step));
}

// Whether a stream differs between iterations: its text mentions the index.
bool mayVary(const std::string& key, const ForLoop& loop) {
  return key.find(toString(*loop.index)) != std::string::npos;
}

// Whether the members of `loop` are all workers, and `family` consists of workers: "Stream ( X % numberOfStreams )".
bool coversAllWorkers(const std::string& member, const ForLoop& loop, const std::string& workers,
                      const std::string& family) {
  const std::string index = toString(*loop.index);
  const bool is_each = member == "Stream " + index || member == fmt::format("Stream ( {} % {} )", index, workers);
  const bool is_full = loop.start->isConstantInt(0) && loop.step->isConstantInt(1) && toString(*loop.stop) == workers;
  return is_each && is_full && family.starts_with("Stream ( ") &&
         family.find(fmt::format(" % {} ) for ", workers)) != std::string::npos;
}

std::optional<std::string> communicationOf(const Expr& expr) {
  if (const auto* op = expr.as<Communication>()) return communicationKey(op->number);
  if (const auto* op = expr.as<P2pCommunication>()) return communicationKey(op->number);
  if (const auto* op = expr.as<CollectivePermute>()) return communicationKey(op->number);
  return std::nullopt;
}

}  // namespace

UseOrder::UseOrder(const HostIrContainer& program, const BufferRoots& roots)
    : program_(&program), roots_(&roots), current_(kCallers) {
  names_[program.defaultStream()] = kCallers;
}

UseOrder UseOrder::forBody() {
  UseOrder body(*program_, *roots_);
  body.scope_ = unknownStream();
  body.current_ = body.unknownStream();
  body.names_ = names_;
  return body;
}

UseOrder::Key UseOrder::unknownStream() { return fmt::format("{}.{}", scope_, ++unknown_streams_); }

bool UseOrder::isOnCallersStream() const { return current_ == kCallers; }

UseOrder::Key UseOrder::keyOf(const StreamVal& stream) const {
  if (stream.index() != nullptr) return fmt::format("Stream {}", toString(*stream.index()));
  const auto found = names_.find(&stream);
  return found == names_.end() ? fmt::format("stream {}", stream.id()) : found->second;
}

bool UseOrder::isOver(const TensorView* root) const {
  const auto uses = uses_.find(root);
  return uses == uses_.end() ||
         std::ranges::all_of(uses->second, [&](const auto& use) { return use.second.contains(current_); });
}

void UseOrder::use(const Expr& expr, const Key& executor) {
  for (const auto vals : {expr.inputs(), expr.outputs()}) {
    for (TensorView* tensor : tensorsOf(vals)) uses_[roots_->root(tensor)][executor] = {executor};
  }
}

void UseOrder::synchronize(const Key& with) {
  waits_.insert({current_, with});
  for (auto& [root, uses] : uses_) {
    for (auto& [executor, after] : uses) {
      if (after.contains(with)) after.insert(current_);
    }
  }
}

void UseOrder::take(const Expr& expr) {
  if (const auto* get = expr.as<GetCurrentStream>()) {
    names_[get->stream] = current_;
  } else if (const auto* set = expr.as<SetCurrentStream>()) {
    current_ = keyOf(*set->stream);
  } else if (const auto* wait = expr.as<Synchronize>()) {
    synchronize(keyOf(*wait->stream));
  } else if (const auto* join = expr.as<Wait>()) {
    synchronize(communicationKey(join->communication));
  } else if (const auto* loop = expr.as<ForLoop>()) {
    takeLoop(*loop);
  } else if (expr.is<IfThenElse>()) {
    takeCondition(expr);
  } else {
    use(expr, communicationOf(expr).value_or(current_));
  }
}

// The order within one iteration. Streams that may differ at the start of the next one are not known.
UseOrder UseOrder::iterationOf(const ForLoop& loop) {
  UseOrder first = forBody();
  first.current_ = current_;
  for (const Expr* expr : loop.body.exprs) first.take(*expr);
  UseOrder later = forBody();
  bool is_same = first.current_ == current_;
  if (is_same) later.current_ = current_;
  for (const auto& [stream, key] : names_) {
    if (first.names_.at(stream) == key) continue;
    later.rename(stream);
    is_same = false;
  }
  if (is_same) return first;
  for (const Expr* expr : loop.body.exprs) later.take(*expr);
  return later;
}

void UseOrder::rename(const StreamVal* stream) { names_[stream] = unknownStream(); }

void UseOrder::takeLoop(const ForLoop& loop) {
  const UseOrder iteration = iterationOf(loop);
  joinFamilies(iteration, loop);
  const auto outside = [&](const Key& key) { return mayVary(key, loop) ? familyKey(key, loop) : key; };
  for (const auto& [root, uses] : iteration.uses_) {
    for (const auto& [executor, after] : uses) {
      std::set<Key> known = {outside(executor)};
      for (const Key& key : after) {
        if (!mayVary(key, loop)) known.insert(key);
      }
      const auto [place, is_first] = uses_[root].try_emplace(outside(executor), known);
      // (The loop may have no iterations, so earlier uses keep their order.)
      if (!is_first) std::erase_if(place->second, [&](const Key& key) { return !known.contains(key); });
    }
  }
  if (iteration.current_ != current_) current_ = unknownStream();
  for (const auto& [stream, key] : iteration.names_) {
    const auto before = names_.find(stream);
    if (before == names_.end() || before->second != key) rename(stream);
  }
}

// A stream that waits for another one in each iteration waits for its family of another loop over the same range.
void UseOrder::joinFamilies(const UseOrder& iteration, const ForLoop& loop) {
  const std::string workers = toString(*program_->numberOfStreams());
  for (const auto& [who, whom] : iteration.waits_) {
    if (mayVary(who, loop) || !mayVary(whom, loop)) continue;
    for (auto& [root, uses] : uses_) {
      for (auto& [family, after] : uses) {
        if (family == familyKey(whom, loop) || coversAllWorkers(whom, loop, workers, family)) after.insert(who);
      }
    }
  }
}

// Either branch may run: uses of both count, waits of neither do.
void UseOrder::takeCondition(const Expr& expr) {
  const auto& condition = *expr.as<IfThenElse>();
  const Key before = current_;
  for (const Block* branch : {&condition.then_body, &condition.else_body}) {
    UseOrder body = forBody();
    body.current_ = before;
    for (const Expr* inner : branch->exprs) body.take(*inner);
    for (const auto& [root, uses] : body.uses_) {
      for (const auto& [executor, known] : uses) uses_[root][executor] = {executor};
    }
    for (const auto& [stream, key] : body.names_) {
      const auto known = names_.find(stream);
      if (known == names_.end() || known->second != key) rename(stream);
    }
    if (body.current_ != before) current_ = unknownStream();
  }
}

}  // namespace tokamak
