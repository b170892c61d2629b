// IterDomain: one axis of a tensor; DomainExpr: how axes are made from other axes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/export.h"

namespace tokamak {

class Fusion;
class Scalar;

enum class IterKind : uint8_t { Iteration, Reduction, Broadcast, Stride, GatherScatter, VectorComponent, Symbolic };

/// The letter in dumps: i r b s n v ?.
TOKAMAK_EXPORT char iterKindLetter(IterKind kind);
TOKAMAK_EXPORT std::optional<IterKind> iterKindFromLetter(char letter);

enum class ParallelType : uint8_t {
  Serial,
  Stream,
  DIDx,
  DIDy,
  DIDz,
  CIDx,
  BIDx,
  BIDy,
  BIDz,
  TIDx,
  TIDy,
  TIDz,
  Vectorize,
  Unroll,
  Unswitch,
  Mma,
  Group,
  Bulk,
};

/// Blocks of a cluster (CIDx) at most: every GPU that has clusters has these.
inline constexpr int64_t kMostClusterBlocks = 8;

/// The name in schedules: Serial, Stream, DIDx, ...
TOKAMAK_EXPORT std::string_view parallelTypeName(ParallelType type);
TOKAMAK_EXPORT std::optional<ParallelType> parallelTypeFromName(std::string_view name);
/// The name in dumps: S, StreamIdx, deviceIdx.x, ...
TOKAMAK_EXPORT std::string_view parallelTypeDumpName(ParallelType type);
TOKAMAK_EXPORT std::optional<ParallelType> parallelTypeFromDumpName(std::string_view name);

class IterDomain;

enum class DomainExprKind : uint8_t { Split, Merge, Swizzle };

/// What a swizzle makes of y in each x: y ^ x (of extents that are constant, y's a power of two and x's no larger), or
/// ( y + x ) % extent(y).
enum class SwizzleType : uint8_t { Xor, CyclicShift };

/// The name in schedules: xor, cyclic_shift.
TOKAMAK_EXPORT std::string_view swizzleTypeName(SwizzleType type);
TOKAMAK_EXPORT std::optional<SwizzleType> swizzleTypeFromName(std::string_view name);

/// A step from axes to axes. Split: in[0] of extent n becomes out[0] (outer) and out[1] (inner); with `is_inner_factor`
/// the inner extent is `factor` and the outer ceilDiv(n, factor), else the other way round. Merge: in[0] (outer) and
/// in[1] (inner) become out[0], row-major. Swizzle: in[0] (x) and in[1] (y) become out[0] and out[1] of the same
/// extents: with the loops at out[0] = a and out[1] = b the indices are x = a and y = b ^ a or ( b + a ) % extent(y).
struct DomainExpr {
  DomainExprKind kind = DomainExprKind::Split;
  IterDomain* in[2] = {nullptr, nullptr};
  IterDomain* out[2] = {nullptr, nullptr};
  Scalar* factor = nullptr;
  bool is_inner_factor = true;
  SwizzleType swizzle = SwizzleType::Xor;
};

/// Whether two steps are of one form: what they do, apart from the axes that they do it to.
TOKAMAK_EXPORT bool isSameForm(const DomainExpr& a, const DomainExpr& b);

/// One axis of a tensor.
/// Thread safety: that of its fusion. parallelize(), and schedule steps that take the axis, change it.
class IterDomain {
 public:
  IterKind kind() const { return kind_; }
  ParallelType parallelType() const { return parallel_; }
  /// The number of distinct elements; 1 for a broadcast axis.
  Scalar* extent() const { return extent_; }
  /// For an expanded broadcast axis the size it shows to consumers, else null.
  Scalar* expandedExtent() const { return expanded_extent_; }
  /// The size a consumer sees: the expanded extent if there is one, else the extent.
  Scalar* visibleExtent() const { return expanded_extent_ != nullptr ? expanded_extent_ : extent_; }
  /// Made by an op's own root-to-logical transform, not by a schedule.
  bool isRFactor() const { return is_rfactor_; }

  bool isReduction() const { return kind_ == IterKind::Reduction; }
  bool isBroadcast() const { return kind_ == IterKind::Broadcast; }
  bool isStream() const { return parallel_ == ParallelType::Stream; }

  /// The step this axis came from, or null for an axis of the tensor's own shape; and the step that consumes it.
  const DomainExpr* definition() const { return definition_; }
  const DomainExpr* use() const { return use_; }

  int64_t id() const { return id_; }
  Fusion& fusion() const { return *fusion_; }

  /// Marks the axis. Legality is checked where the mark is used (a lowering names the tensor and the axis).
  void parallelize(ParallelType type) { parallel_ = type; }

 private:
  friend class Fusion;
  friend class FusionMutator;  // breaks fusions on purpose, in tests
  explicit IterDomain(Fusion& fusion) : fusion_(&fusion) {}

  Fusion* fusion_;
  int64_t id_ = 0;
  Scalar* extent_ = nullptr;
  Scalar* expanded_extent_ = nullptr;
  const DomainExpr* definition_ = nullptr;
  const DomainExpr* use_ = nullptr;
  IterKind kind_ = IterKind::Iteration;
  ParallelType parallel_ = ParallelType::Serial;
  bool is_rfactor_ = false;
};

}  // namespace tokamak
