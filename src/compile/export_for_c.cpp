#include "compile/export_for_c.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/library_version.h"
#include "base/require.h"
#include "base/text.h"
#include "compile/multi_device_executor.h"
#include "ir/text/names.h"
#include "toolchain/c_compiler.h"

namespace tokamak {

namespace {

bool isIdentifier(std::string_view name) {
  const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto isPart = [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && isLetter(name[0]) && std::ranges::all_of(name, isPart);
}

struct CInput {
  std::string name;       ///< of the parameter
  std::string type;       ///< "const tokamak_tensor*"
  std::string kind;       ///< TOKAMAK_ARGUMENT_TENSOR
  std::string member;     ///< of the argument's union
  std::string described;  ///< "x: f32[n, m]"
};

// A name that is no keyword and no macro in any C or C++, and none of a thing that the function uses.
std::string parameterName(const std::string& input) { return "in_" + input; }

std::vector<CInput> inputsOf(const Fusion& fusion) {
  const FusionNames names(fusion);
  std::vector<CInput> inputs;
  for (Val* input : fusion.inputs()) {
    if (const TensorView* tensor = asTensor(input)) {
      const std::string name = names.nameOf(*tensor);
      inputs.push_back(
          {parameterName(name), "const tokamak_tensor*", "TOKAMAK_ARGUMENT_TENSOR", "tensor", toString(*tensor)});
      continue;
    }
    const Scalar& scalar = *asScalar(input);
    const std::string name = names.nameOf(scalar);
    const std::string described = fmt::format("{}: {}", name, dataTypeName(scalar.dtype()));
    if (isFloatingType(scalar.dtype()))
      inputs.push_back({parameterName(name), "double", "TOKAMAK_ARGUMENT_FLOAT", "floating", described});
    else
      inputs.push_back({parameterName(name), "int64_t", "TOKAMAK_ARGUMENT_INTEGER", "integer", described});
  }
  return inputs;
}

std::string headerOf(const Fusion& fusion, const std::string& name) {
  const std::vector<CInput> inputs = inputsOf(fusion);
  const FusionNames names(fusion);
  std::vector<std::string> outputs;
  for (const size_t i : MultiDeviceExecutor::outputsOf(fusion).given)
    outputs.push_back(names.nameOf(*fusion.outputs()[i]));
  std::string parameters;
  std::string described;
  std::string arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    parameters += fmt::format(", {} {}", inputs[i].type, inputs[i].name);
    described += fmt::format(" *   {}\n", inputs[i].described);
    arguments += fmt::format("  inputs[{0}].kind = {1};\n  inputs[{0}].of.{2} = {3};\n", i, inputs[i].kind,
                             inputs[i].member, inputs[i].name);
  }
  return fmt::format(
      R"(/* The program {program}, exported by Tokamak {version}. Link {name}.o and the library of Tokamak. */
#ifndef TOKAMAK_EXPORTED_{name}_H
#define TOKAMAK_EXPORTED_{name}_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tokamak/c.h>

#ifdef __cplusplus
extern "C" {{
#endif
extern const unsigned char {name}_tk[];
extern const uint64_t {name}_tk_size;
#ifdef __cplusplus
}}
#endif

/* Makes the program ready for a device, once. Free it by tokamak_program_free(). Errors: UNSUPPORTED where the object
 * has no code for the device. */
static inline tokamak_error* {name}_load(tokamak_device* device, tokamak_program** program) {{
  return tokamak_program_load_bytes(device, {name}_tk, (size_t){name}_tk_size, "{name}", NULL, program);
}}

/* Runs it with these inputs:
{described} * `given` and `results`: memory for, and handles of, {count} outputs ({outputs}), as of tokamak_program_run(), which
 * also says what `stream` is. Any threads may call it side by side. Errors: BIND for sizes that it was not exported
 * for. */
static inline tokamak_error* {name}_run(tokamak_program* program{parameters}, const tokamak_tensor* const* given,
                                        tokamak_stream* stream, tokamak_tensor** results) {{
  tokamak_argument inputs[{room}];
  memset(inputs, 0, sizeof inputs);
{arguments}  return tokamak_program_run(program, inputs, {inputs}, given, stream, results);
}}

#endif
)",
      fmt::arg("program", fusion.name()), fmt::arg("version", libraryVersion()), fmt::arg("name", name),
      fmt::arg("described", described), fmt::arg("count", outputs.size()), fmt::arg("outputs", joined(outputs)),
      fmt::arg("parameters", parameters), fmt::arg("arguments", arguments), fmt::arg("inputs", inputs.size()),
      fmt::arg("room", std::max<size_t>(1, inputs.size())));
}

}  // namespace

CExport exportForC(const Fusion& fusion, std::string_view file, const std::string& name) {
  TK_REQUIRE(isIdentifier(name), Usage, "export: '{}' is no name that functions of C may begin with", name);
  TK_REQUIRE(!name.starts_with("tokamak"), Usage, "export: '{}' begins as the library's own functions do", name);
  return {.object = CCompiler().embed(file, name + "_tk"), .header = headerOf(fusion, name)};
}

}  // namespace tokamak
