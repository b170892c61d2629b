#include "tools/printed_tensors.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "device/tensor_copies.h"

namespace tokamak::tools {

namespace {

std::vector<TensorView*> candidates(const Fusion& program, PrintedTensors::Inner inner) {
  if (inner == PrintedTensors::Inner::BecomeOutputs) return program.allTensors();
  std::vector<TensorView*> all = program.outputs();
  for (TensorView* input : tensorsOf(program.inputs())) all.push_back(input);
  return all;
}

}  // namespace

PrintedTensors::PrintedTensors(Fusion& program, const std::vector<std::string>& names, Inner inner) : names_(names) {
  const std::vector<TensorView*> known = candidates(program, inner);
  for (const std::string& name : names_) {
    const auto found = std::ranges::find_if(known, [&](const TensorView* tensor) { return nameOf(*tensor) == name; });
    if (found == known.end()) {
      std::vector<std::string> legal;
      for (const TensorView* tensor : known) legal.push_back(nameOf(*tensor));
      TK_RAISE(Usage, "--print {}: the program has no such tensor; it has {}", name, joined(legal));
    }
    const bool is_seen =
        program.isInput(*found) || std::ranges::find(program.outputs(), *found) != program.outputs().end();
    if (!is_seen) program.addOutput(*found);
  }
}

std::map<std::string, Tensor> PrintedTensors::copiesOf(const Fusion& program, const InputValues& inputs,
                                                       const std::shared_ptr<Stream>& stream) const {
  std::map<std::string, Tensor> copies;
  for (size_t i = 0; i < program.inputs().size(); ++i) {
    const TensorView* tensor = asTensor(program.inputs()[i]);
    if (tensor == nullptr || std::ranges::find(names_, nameOf(*tensor)) == names_.end()) continue;
    const Tensor host = toHost(std::get<Tensor>(inputs.values[i]), stream);
    const std::vector<std::byte> elements = denseBytes(host);
    Tensor kept = Tensor::empty(host.buffer()->device(), stream, host.dtype(), host.sizes(), MemoryKind::Host);
    kept.buffer()->device().synchronize(*stream);
    std::ranges::copy(elements, static_cast<std::byte*>(kept.hostData()));
    copies.emplace(nameOf(*tensor), std::move(kept));
  }
  return copies;
}

void PrintedTensors::report(const std::map<std::string, Tensor>& inputs, const std::vector<std::string>& names,
                            const std::vector<Tensor>& outputs, RunReport& report) const {
  for (const std::string& name : names_) {
    if (const auto input = inputs.find(name); input != inputs.end()) {
      report.values(name, input->second);
      continue;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (names[i] == name) report.values(name, outputs[i]);
    }
  }
}

}  // namespace tokamak::tools
