// Tensor types as text: "f32[i0, 1 ex i2, r{i3}] strided in host".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/tensor_view.h"
#include "ir/text/scalar_text.h"

namespace tokamak {

struct WrittenAxis {
  std::optional<IterKind> kind;  ///< nothing: Broadcast for the extent 1, else Iteration
  Scalar* extent = nullptr;
  Scalar* expanded_extent = nullptr;
  bool is_rfactor = false;
  bool is_strided = false;
  size_t offset = 0;
};

/// A type as it stands in a text, not yet a tensor's.
struct WrittenType {
  DataType dtype = DataType::F32;
  std::vector<WrittenAxis> axes;
  bool is_strided = false;
  std::optional<std::vector<std::optional<bool>>> contiguity;
  std::optional<std::vector<int64_t>> stride_order;
  std::optional<std::vector<int64_t>> stride_order_hint;
  std::optional<std::vector<int64_t>> allocation;  ///< numbers of logical axes, from the slowest to the fastest
  std::optional<MemoryKind> memory_kind;
  std::optional<MemoryType> memory_type;
  std::optional<DeviceMesh> mesh;
  std::vector<Partial> partials;
  size_t offset = 0;
};

/// Errors: Parse.
WrittenType parseTensorType(TokenStream& tokens, ScalarParser& scalars);

/// A tensor of this type. Errors: Parse.
TensorView* makeTensor(Fusion& fusion, const TokenStream& tokens, const WrittenType& type);

/// Gives `tensor`, which an op made, what was written: layout, memory, mesh. An axis may have the extent that another
/// operand has there. Axes without reductions may be written as well as all. Errors: Parse when the type is not that of
/// the tensor.
void applyType(const TokenStream& tokens, TensorView& tensor, const WrittenType& type);

/// The canonical text.
std::string tensorTypeText(const TensorView& tensor, const SymbolNamer& name);
/// The same with these axes, of which those numbered are reduction axes, instead of the tensor's; dense.
std::string reducedTypeText(const TensorView& tensor, const Axes& axes, std::span<const int64_t> reduced,
                            const SymbolNamer& name);
/// Whether the allocation domain is made of logical axes: it is written as a mark of the type then, and else as a
/// command.
bool isAllocationOfLogical(const TensorDomain& domain);

}  // namespace tokamak
