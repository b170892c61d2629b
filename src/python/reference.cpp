#include "python/reference.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/require.h"
#include "compile/multi_device_executor.h"
#include "oracle/reference.h"
#include "python/arrays.h"
#include "python/definition.h"
#include "python/unlocked.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tokamak::python {

namespace {

/// What a definition must give for some inputs, in float64.
class PythonReference {
 public:
  // Arrays on the host are read here, and never again.
  PythonReference(const std::shared_ptr<Definition>& definition, const std::shared_ptr<OpenedDevice>& device,
                  const nb::list& given)
      : fusion_(definition->sharedFusion()), device_(device) {
    const std::vector<Val*>& wanted = fusion_->inputs();
    TK_REQUIRE(given.size() == wanted.size(), Bind, "{} inputs for a definition that has {}", given.size(),
               wanted.size());
    CallArrays arrays(*device, device->device->createStream());
    std::vector<oracle::Input> inputs;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Argument argument =
          arrays.argument(given[i].ptr(), asTensor(wanted[i]), wanted[i]->dtype(), "input " + std::to_string(i));
      if (const auto* const tensor = std::get_if<Tensor>(&argument.value()))
        inputs.emplace_back(oracle::load(stored(*tensor)));
      else
        inputs.emplace_back(std::get<ScalarValue>(argument.value()));
    }
    const Unlocked unlocked;
    reference_ = std::make_unique<oracle::Reference>(*fusion_, std::move(inputs));
  }

  // Of each output, in the definition's order: the place among the inputs of the one that it updates, or None.
  nb::list updates() const {
    const std::vector<size_t> tensors = tensorPlacesOf(fusion_->inputs());
    std::vector<nb::object> told(fusion_->outputs().size(), nb::none());
    for (const auto& [output, input] : MultiDeviceExecutor::outputsOf(*fusion_).in_place)
      told[output] = nb::cast(tensors[input]);
    nb::list list;
    for (const nb::object& each : told) list.append(each);
    return list;
  }

  /// Of an output: its type, its sizes, its values in row-major order (float64, or int64), and what each may differ by.
  nb::tuple exact(size_t output) const {
    requireOutput(output);
    const oracle::OracleTensor& tensor = reference_->exact().outputs[output];
    const bool is_floating = isFloatingType(tensor.dtype);
    std::vector<double> numbers, bounds;
    std::vector<int64_t> integers;
    for (const oracle::Element& each : tensor.elements) {
      if (is_floating)
        numbers.push_back(each.number);
      else
        integers.push_back(each.integer);
      bounds.push_back(oracle::boundOf(each));
    }
    const auto bytesOf = [](const auto& values) {
      return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
    };
    return nb::make_tuple(std::string(dataTypeName(tensor.dtype)), tensor.sizes,
                          is_floating ? bytesOf(numbers) : bytesOf(integers), bytesOf(bounds));
  }

  /// Whether an array on the host is what the output must be, and what was found.
  std::pair<bool, std::string> compare(size_t output, nb::handle array) const {
    requireOutput(output);
    CallArrays arrays(*device_, device_->device->createStream());
    const Argument argument = arrays.argument(array.ptr(), fusion_->outputs()[output],
                                              fusion_->outputs()[output]->dtype(), "output " + std::to_string(output));
    const auto* const tensor = std::get_if<Tensor>(&argument.value());
    if (tensor == nullptr) throw nb::type_error("an output is an array");
    const oracle::Comparison found = reference_->compare(output, stored(*tensor));
    return {found.isOk(), oracle::toString(found)};
  }

 private:
  void requireOutput(size_t output) const {
    if (output >= fusion_->outputs().size()) throw nb::index_error("the definition has no such output");
  }
  static oracle::StoredTensor stored(const Tensor& tensor) {
    return {tensor.dtype(), tensor.sizes(), tensor.strides(), static_cast<const std::byte*>(tensor.hostDataToRead())};
  }

  std::shared_ptr<const Fusion> fusion_;
  std::shared_ptr<OpenedDevice> device_;
  std::unique_ptr<oracle::Reference> reference_;
};

}  // namespace

void bindReference(nb::module_& m) {
  nb::class_<PythonReference>(m, "Reference")
      .def("__init__", [](PythonReference* made, const std::shared_ptr<Definition>& definition,
                          const std::shared_ptr<OpenedDevice>& device,
                          const nb::list& inputs) { new (made) PythonReference(definition, device, inputs); })
      .def_prop_ro("updates", &PythonReference::updates)
      .def("exact", &PythonReference::exact, "output"_a)
      .def("compare", &PythonReference::compare, "output"_a, "array"_a);
}

}  // namespace tokamak::python
