#include "host/ir/value_flow.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/host/allocate.h"
#include "ir/ops/host/deallocate.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/if_then_else.h"
#include "ir/ops/host/p2p_communication.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/math/load_store_op.h"

namespace tokamak {

const TensorView* ValueFlow::root(const TensorView* tensor) const {
  for (;;) {
    const TensorView* next = named(tensor);
    if (const auto view = state_.views.find(next); view != state_.views.end()) next = view->second;
    if (next == tensor) return tensor;
    tensor = next;
  }
}

void ValueFlow::run() {
  for (const Val* input : program_.inputs()) {
    if (input->kind() != ValKind::Tensor) continue;
    state_.known.insert(static_cast<const TensorView*>(input));
    state_.written.insert(static_cast<const TensorView*>(input));
  }
  runBlock(program_.topLevel());
  for (const TensorView* output : program_.outputs()) {
    if (!state_.written.contains(root(output)))
      report_(FlowFault::OutputMissing, fmt::format("nothing computes output {}", toString(*output)));
    else if (state_.freed.contains(root(output)))
      report_(FlowFault::UsedAfterFree,
              fmt::format("output {} is deallocated before the program ends", toString(*output)));
  }
}

void ValueFlow::runBlock(const Block& block) {
  for (const Expr* expr : block.exprs) runStatement(*expr);
}

void ValueFlow::runStatement(const Expr& expr) {
  if (const auto* op = expr.as<Allocate>()) {
    const TensorView* buffer = root(op->buffer);
    if (!state_.known.insert(buffer).second) return;  // it has a buffer, or had one
    state_.freed.erase(buffer);
    if (op->zero_init) state_.written.insert(buffer);
  } else if (const auto* dealloc = expr.as<Deallocate>()) {
    free(dealloc->buffer);
  } else if (const auto* loop = expr.as<ForLoop>()) {
    runLoop(loop->body);
  } else if (const auto* condition = expr.as<IfThenElse>()) {
    runCondition(condition->then_body, condition->else_body);
  } else if (const auto* select = expr.as<HirAliasSelect>()) {
    look(select->out, select->in, expr);
  } else if (const auto* slice = expr.as<HirAliasSlice>()) {
    look(slice->out, slice->in, expr);
  } else if (const auto* copy = expr.as<LoadStoreOp>();
             copy != nullptr && !isKnown(copy->out) && copy->in->memoryKind() == copy->out->memoryKind()) {
    read(copy->in, expr);  // without a place to write to, it binds the same tensor
    if (named(copy->out) != root(copy->in)) state_.views[named(copy->out)] = root(copy->in);
  } else if (expr.list() == OpList::Math && isNewView(expr)) {
    const TensorView* source = asTensor(expr.inputs()[0]);
    const TensorView* view = asTensor(expr.output(0));
    read(source, expr);
    if (named(view) != root(source)) state_.views[named(view)] = root(source);
  } else if (const auto* p2p = expr.as<P2pCommunication>(); p2p != nullptr && p2p->type == P2pType::Recv) {
    write(p2p->buffer, expr);
  } else {
    if (const auto* post = expr.as<PostOnStream>()) {
      const auto known = std::ranges::count_if(post->outs, [&](const TensorView* out) { return isKnown(out); });
      if (known != 0 && known != static_cast<std::ptrdiff_t>(post->outs.size())) {
        report_(FlowFault::PartlyPreallocated,
                fmt::format("outputs must be all or none preallocated in expr {}", expr.name()));
      }
    }
    for (const TensorView* tensor : tensorsOf(expr.inputs())) read(tensor, expr);
    for (const TensorView* tensor : tensorsOf(expr.outputs())) write(tensor, expr);
  }
}

bool ValueFlow::isNewView(const Expr& expr) const {
  TensorView* out = asTensor(expr.output(0));
  return program_.isView(out) && !isKnown(out);
}

// What an iteration gave and nothing had before the loop is forgotten at the next one.
void ValueFlow::runLoop(const Block& body) {
  const State before = state_;
  runBlock(body);
  forEachStatement(body, [&](const Expr& expr) {
    for (const TensorView* out : tensorsOf(expr.outputs())) {
      const TensorView* tensor = named(out);
      if (before.known.contains(tensor) || before.views.contains(tensor)) continue;
      state_.known.erase(tensor);
      state_.written.erase(tensor);
      state_.views.erase(tensor);
    }
  });
  runBlock(body);
}

void ValueFlow::runCondition(const Block& then_body, const Block& else_body) {
  const State before = state_;
  runBlock(then_body);
  State after_then = std::move(state_);
  state_ = before;
  runBlock(else_body);
  std::erase_if(state_.known, [&](const TensorView* tensor) { return !after_then.known.contains(tensor); });
  std::erase_if(state_.written, [&](const TensorView* tensor) { return !after_then.written.contains(tensor); });
  state_.freed.insert(after_then.freed.begin(), after_then.freed.end());
  std::erase_if(state_.views, [&](const auto& view) {
    const auto other = after_then.views.find(view.first);
    return other == after_then.views.end() || other->second != view.second;
  });
}

void ValueFlow::read(const TensorView* tensor, const Expr& expr) {
  const TensorView* buffer = root(tensor);
  if (state_.freed.contains(buffer)) {
    report_(FlowFault::UsedAfterFree,
            fmt::format("{} is read by {} after its Deallocate", toString(*tensor), expr.name()));
  } else if (!state_.known.contains(buffer)) {
    report_(FlowFault::ReadBeforeGiven,
            fmt::format("value {} must be precomputed before being retrieved by {}", toString(*tensor), expr.name()));
  } else if (!state_.written.contains(buffer)) {
    report_(FlowFault::ReadBeforeGiven,
            fmt::format("value {} is read by {}, but is only allocated", toString(*tensor), expr.name()));
  }
}

void ValueFlow::write(const TensorView* tensor, const Expr& expr) {
  const TensorView* buffer = root(tensor);
  const bool is_fresh = state_.known.insert(buffer).second;
  if (is_fresh) state_.freed.erase(buffer);
  if (state_.freed.contains(buffer)) {
    report_(FlowFault::UsedAfterFree,
            fmt::format("{} is written by {} after its Deallocate", toString(*tensor), expr.name()));
  }
  state_.written.insert(buffer);
}

// A view needs a buffer to look at, not yet its contents.
void ValueFlow::look(const TensorView* out, const TensorView* in, const Expr& expr) {
  const TensorView* buffer = root(in);
  if (state_.freed.contains(buffer)) {
    report_(FlowFault::UsedAfterFree,
            fmt::format("{} is looked at by {} after its Deallocate", toString(*in), expr.name()));
  } else if (!state_.known.contains(buffer) && !program_.isOutput(buffer)) {
    report_(FlowFault::ReadBeforeGiven,
            fmt::format("value {} must be precomputed before being retrieved by {}", toString(*in), expr.name()));
  }
  if (named(out) != buffer) state_.views[named(out)] = buffer;
}

void ValueFlow::free(const TensorView* tensor) {
  const TensorView* buffer = root(tensor);
  if (state_.freed.contains(buffer))
    report_(FlowFault::BadFree, fmt::format("{} is deallocated twice", toString(*tensor)));
  else if (program_.isInput(buffer))
    report_(FlowFault::BadFree, fmt::format("{} is deallocated, and the caller owns it", toString(*tensor)));
  else if (!state_.known.contains(buffer))
    report_(FlowFault::BadFree, fmt::format("{} is deallocated, and has no buffer", toString(*tensor)));
  state_.freed.insert(buffer);
}

}  // namespace tokamak
