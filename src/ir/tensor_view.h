// TensorView: a tensor of a fusion; TensorDomain: its axes under four views and its layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/export.h"
#include "ir/iter_domain.h"
#include "ir/memory_kind.h"
#include "ir/reduction_kind.h"
#include "symbolic/val.h"

namespace tokamak {

/// Where a tensor lives within a program. Global tensors own or borrow a buffer; a Local tensor of a host program is a
/// view that is never allocated.
enum class MemoryType : uint8_t { Local, Shared, Global, Tensor };

/// The letter in dumps: l s g t.
TOKAMAK_EXPORT char memoryTypeLetter(MemoryType type);
TOKAMAK_EXPORT std::optional<MemoryType> memoryTypeFromLetter(char letter);

using Axes = std::vector<IterDomain*>;

struct TensorDomain {
  /// Axes as the producers see them, when the op's result is a transform of them; else empty.
  Axes root;
  /// The shape as consumers see it. Reduction axes stay in it (and are skipped by consumers).
  Axes logical;
  /// The loop nest: a schedule splits, merges and reorders it. Starts equal to logical.
  Axes loop;
  /// Of a kernel's schedule: the first so many loops are shared with the tensor's consumers (docs/kernels.md).
  int64_t inline_position = 0;
  /// The layout *decision*: axes from the slowest to the fastest in memory. Empty: logical order.
  Axes allocation;
  /// Per axis of the layout (allocation, or logical when that is empty): true when dense with the next one in memory,
  /// nothing for broadcast and reduction axes.
  std::vector<std::optional<bool>> contiguity;
  /// The layout *requirement*: a permutation of the axes without reductions, stride_order[i] = rank of axis i, 0 the
  /// fastest. Always honoured.
  std::optional<std::vector<int64_t>> stride_order;
  /// The layout *hint*: the same form, inferred and revocable.
  std::optional<std::vector<int64_t>> stride_order_hint;
};

/// The devices a tensor is spread over, in row-major order of `shape` (one-dimensional: {n}).
struct TOKAMAK_EXPORT DeviceMesh {
  std::vector<int64_t> shape;
  std::vector<int64_t> devices;
  bool empty() const { return devices.empty(); }
  /// Whether the shape has as many places as there are devices, and one at least.
  bool isFilled() const;
  bool operator==(const DeviceMesh&) const = default;
};

/// Each rank has a term of the tensor. Its value is the reduction of the terms of ranks that differ in one dimension of
/// its mesh: that of `type` (DIDx, DIDy, DIDz).
struct Partial {
  ReductionKind kind = ReductionKind::Sum;
  ParallelType type = ParallelType::DIDx;
  bool operator==(const Partial&) const = default;
};

/// A tensor that is loaded ahead of its use: `stages` buffers in turn, each filled `prefetch` iterations before it is
/// read.
struct CircularBuffer {
  int64_t stages = 2;
  int64_t prefetch = 1;
  bool operator==(const CircularBuffer&) const = default;
};

/// In a buffer of a kernel: neighbours along the loop axis are `elements` further apart than what is inside of it
/// takes.
struct BufferPadding {
  int64_t axis = 0;
  int64_t elements = 0;
  bool operator==(const BufferPadding&) const = default;
};

/// A tensor of a fusion, with its schedule.
/// Thread safety: that of its fusion. Schedule commands, the setters and mutableDomain() change it.
class TOKAMAK_EXPORT TensorView final : public Val {
 public:
  const TensorDomain& domain() const { return domain_; }
  const Axes& logical() const { return domain_.logical; }
  const Axes& loop() const { return domain_.loop; }
  /// Axis `i` of the loop domain; negative counts from the end. Errors: Schedule when out of range.
  IterDomain* axis(int64_t i) const;
  int64_t axisCount() const { return static_cast<int64_t>(domain_.loop.size()); }
  int64_t inlinePosition() const { return domain_.inline_position; }

  /// The number T<label> in every text, or -1 when the tensor has none.
  int64_t label() const { return label_; }
  void setLabel(int64_t label) { label_ = label; }
  /// The name that the program gave it, which messages and the command line use instead of T<label>; else empty.
  const std::string& name() const { return name_; }
  void setName(std::string name) { name_ = std::move(name); }
  /// Takes the label and the name of `other`.
  void setNamesOf(const TensorView& other) { label_ = other.label_, name_ = other.name_; }

  MemoryType memoryType() const { return memory_type_; }
  void setMemoryType(MemoryType type) { memory_type_ = type; }
  MemoryKind memoryKind() const { return memory_kind_; }
  void setMemoryKind(MemoryKind kind) { memory_kind_ = kind; }
  const DeviceMesh& mesh() const { return mesh_; }
  void setMesh(DeviceMesh mesh) { mesh_ = std::move(mesh); }
  /// Over which dimensions of its mesh the tensor is partial, in the order of their types; whole tensors have none.
  const std::vector<Partial>& partials() const { return partials_; }
  void setPartials(std::vector<Partial> partials);

  const std::optional<CircularBuffer>& circularBuffer() const { return circular_buffer_; }
  void setCircularBuffer(std::optional<CircularBuffer> buffer) { circular_buffer_ = buffer; }

  const std::optional<BufferPadding>& bufferPadding() const { return buffer_padding_; }
  void setBufferPadding(std::optional<BufferPadding> padding) { buffer_padding_ = padding; }

  /// For schedules and lowering: replaces parts of the domain. Everything else treats the domain as fixed.
  TensorDomain& mutableDomain() { return domain_; }

 private:
  friend class Fusion;
  friend class FusionMutator;  // breaks fusions on purpose, in tests
  TensorView(ScalarArena& arena, DataType dtype, TensorDomain domain)
      : Val(arena, ValKind::Tensor, dtype), domain_(std::move(domain)) {}

  TensorDomain domain_;
  int64_t label_ = -1;
  std::string name_;
  MemoryType memory_type_ = MemoryType::Local;
  MemoryKind memory_kind_ = MemoryKind::Device;
  DeviceMesh mesh_;
  std::vector<Partial> partials_;
  std::optional<CircularBuffer> circular_buffer_;
  std::optional<BufferPadding> buffer_padding_;
};

/// The axes without reductions: what a consumer sees.
TOKAMAK_EXPORT Axes withoutReductions(const Axes& axes);
inline Axes shapeOf(const TensorView& tv) { return withoutReductions(tv.logical()); }
/// The axes as the tensor's own op makes them: root axes if the tensor has any (it comes from an rfactor), else logical
/// ones.
inline const Axes& computedAxes(const TensorView& tv) {
  return tv.domain().root.empty() ? tv.logical() : tv.domain().root;
}

/// The tensor's name, or "T3", or without a label "T?12" with the creation number; for messages.
TOKAMAK_EXPORT std::string nameOf(const TensorView& tv);
/// "partial(sum, DIDx)"; in messages and in the text of fusions.
TOKAMAK_EXPORT std::string toString(const Partial& partial);
/// What is wrong with the tensor's partials, in words: one over no device axis, or over a dimension that its mesh
/// lacks, or twice over one, or over one that has parts of an axis, or terms that are combined in two ways; else empty.
TOKAMAK_EXPORT std::string partialProblem(const TensorView& tv);
/// "T3: f32[i0, ( i2 * 4 )]"; for messages.
TOKAMAK_EXPORT std::string toString(const TensorView& tv);
/// "iStream{i0}": kind, parallel type and extent; for messages.
TOKAMAK_EXPORT std::string describeLoop(const IterDomain& axis);
/// "axis 1 (iStream{i0}) of T3"; for messages.
TOKAMAK_EXPORT std::string describeAxis(const TensorView& tv, const IterDomain& axis);

}  // namespace tokamak
