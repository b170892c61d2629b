// ScalarArena: owns scalars, each form once.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/export.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// The part of a fusion that knows no tensors: it owns values, numbers them, and interns scalars. Results are
/// simplified.
/// Thread safety: that of its fusion.
class TOKAMAK_EXPORT ScalarArena {
 public:
  ScalarArena(const ScalarArena&) = delete;
  ScalarArena& operator=(const ScalarArena&) = delete;
  virtual ~ScalarArena();

  Scalar* constant(int64_t value);
  Scalar* constant(ScalarValue value, DataType dtype);
  Scalar* symbol(std::string name, DataType dtype = DataType::I64);
  /// The symbol for the coordinate along axis `number` in the element rules of the fusion's ops (compute/element.h):
  /// always the same one, and not among allSymbols().
  Scalar* coordinate(size_t number);
  /// An interned node of exactly this form, without simplification.
  Scalar* rawScalar(ScalarOp op, DataType dtype, std::span<Scalar* const> operands, FunctionId function = {});
  /// The simplified scalar of this form. Comparisons and logic give bool, the others the promoted type of the operands.
  Scalar* scalar(ScalarOp op, Scalar* a, Scalar* b = nullptr, Scalar* c = nullptr);
  Scalar* add(Scalar* a, Scalar* b) { return scalar(ScalarOp::Add, a, b); }
  Scalar* sub(Scalar* a, Scalar* b) { return scalar(ScalarOp::Sub, a, b); }
  Scalar* mul(Scalar* a, Scalar* b) { return scalar(ScalarOp::Mul, a, b); }
  Scalar* floorDiv(Scalar* a, Scalar* b) { return scalar(ScalarOp::FloorDiv, a, b); }
  Scalar* ceilDiv(Scalar* a, Scalar* b) { return scalar(ScalarOp::CeilDiv, a, b); }
  Scalar* mod(Scalar* a, Scalar* b) { return scalar(ScalarOp::Mod, a, b); }

 protected:
  ScalarArena();

  int64_t nextId() { return next_id_++; }
  template <class T>
  T* own(std::unique_ptr<T> val) {
    val->id_ = nextId();
    T* raw = val.get();
    vals_.push_back(std::move(val));
    return raw;
  }
  const std::vector<std::unique_ptr<Val>>& vals() const { return vals_; }
  bool isCoordinate(const Scalar& scalar) const;

 private:
  struct ScalarKeyHash {
    size_t operator()(const Scalar* scalar) const;
  };
  struct ScalarKeyEqual {
    bool operator()(const Scalar* a, const Scalar* b) const;
  };
  Scalar* intern(std::unique_ptr<Scalar> scalar);

  int64_t next_id_ = 0;
  std::vector<std::unique_ptr<Val>> vals_;
  std::unordered_map<const Scalar*, Scalar*, ScalarKeyHash, ScalarKeyEqual> interned_;
  std::vector<Scalar*> coordinates_;
};

}  // namespace tokamak
