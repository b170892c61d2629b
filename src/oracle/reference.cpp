#include "oracle/reference.h"

namespace tokamak::oracle {

Reference::Reference(const Fusion& fusion, std::vector<Input> inputs, ScalarBindings bindings)
    : fusion_(&fusion),
      inputs_(std::move(inputs)),
      bindings_(std::move(bindings)),
      exact_(evaluate(fusion, inputs_, {.bindings = bindings_})) {}

const Evaluation& Reference::typed(int number) const {
  auto& evaluation = typed_.at(static_cast<size_t>(number));
  if (!evaluation) {
    const Mode mode = number == 0 ? Mode::typed() : Mode::varied(static_cast<uint64_t>(number));
    evaluation = evaluate(*fusion_, inputs_, {.mode = mode, .bindings = bindings_});
  }
  return *evaluation;
}

Comparison Reference::compare(size_t output, const StoredTensor& actual) const {
  const TypedOutputs typed_outputs = [&](int number) -> const OracleTensor& { return typed(number).outputs[output]; };
  return oracle::compare(actual, exact_.outputs[output], typed_outputs);
}

}  // namespace tokamak::oracle
