// Val: anything an expression can read or give: tensors, scalars, streams.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/export.h"
#include "symbolic/data_type.h"

namespace tokamak {

class Expr;
class Fusion;
class ScalarArena;

enum class ValKind : uint8_t { Tensor, Scalar, Stream };

/// A node owned by a fusion's arena; it is referred to by raw pointer as long as the fusion lives.
/// Thread safety: that of its fusion. Appending an expression changes the uses of what it reads and the definition of
/// what it gives.
class TOKAMAK_EXPORT Val {
 public:
  virtual ~Val() = default;
  Val(const Val&) = delete;
  Val& operator=(const Val&) = delete;

  ValKind kind() const { return kind_; }
  DataType dtype() const { return dtype_; }
  /// The fusion whose arena it is. Declared for those that know fusions: ir/fusion.h defines it.
  Fusion& fusion() const;
  ScalarArena& arena() const { return *arena_; }
  /// Creation order within the fusion, counted over all vals; never reused.
  int64_t id() const { return id_; }

  /// The expression that gives this value in a fusion; null for inputs and leaves. In a host program a tensor may be
  /// written more than once; the definition is then the first expression that gives it.
  Expr* definition() const { return definition_; }
  /// The expressions that read this value, in creation order, each once.
  std::span<Expr* const> uses() const { return uses_; }

 protected:
  Val(ScalarArena& arena, ValKind kind, DataType dtype) : arena_(&arena), kind_(kind), dtype_(dtype) {}

 private:
  friend class Fusion;
  friend class ScalarArena;
  friend class FusionMutator;  // breaks fusions on purpose, in tests
  ScalarArena* arena_;
  int64_t id_ = 0;
  Expr* definition_ = nullptr;
  std::vector<Expr*> uses_;
  ValKind kind_;
  DataType dtype_;
};

class Scalar;

/// A stream of a host program: unnamed (the caller's, caught by GetCurrentStream) or indexed (a worker).
/// Thread safety: that of its fusion.
class StreamVal final : public Val {
 public:
  /// The worker's index, or null for a stream that is bound when the program runs.
  Scalar* index() const { return index_; }

 private:
  friend class Fusion;
  friend class FusionMutator;  // breaks fusions on purpose, in tests
  StreamVal(ScalarArena& arena, Scalar* index) : Val(arena, ValKind::Stream, DataType::I64), index_(index) {}
  Scalar* index_;
};

}  // namespace tokamak
