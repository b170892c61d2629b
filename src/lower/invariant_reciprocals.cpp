#include "lower/invariant_reciprocals.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "kernel/index_assumptions.h"
#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"
#include "lower/loop_changes.h"
#include "lower/predicate_folding.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

namespace {

using kir::Let;
using kir::Loop;
using kir::StatementRef;
using kir::Statements;
using kir::Store;
using kir::Value;
using kir::ValueKind;
using kir::ValueRef;

bool isNarrow(DataType type) { return type == DataType::F16 || type == DataType::BF16; }

bool isQuotient(const Value& value) {
  return value.kind == ValueKind::Apply && value.dtype == DataType::F32 &&
         (value.function == FunctionId::div || value.function == FunctionId::truediv);
}

class ReciprocalSharer {
 public:
  explicit ReciprocalSharer(const kir::Kernel& kernel) : fusion_(*kernel.fusion), new_values_(kernel) {
    kir::assumeIndices(kernel, analysis_);
  }

  Statements rewrite(const Statements& statements) {
    return kir::withLoops(statements, [&](const Loop& loop, Statements& result) {
      Loop copy = loop;
      if (isInnermost(loop)) {
        copy.body = withProducts(loop, result);
      } else {
        Tables tables;
        copy.body = rewrite(withTables(loop.body, changesOf(loop), tables, result));
      }
      result.push_back(kir::statement(std::move(copy)));
    });
  }

 private:
  // m and r of one divisor.
  struct Factors {
    kir::VariableRef scale;
    kir::VariableRef reciprocal;
  };

  // m and r of each element of an array, of which each column has one.
  struct FactorTables {
    const TensorView* scales = nullptr;
    const TensorView* reciprocals = nullptr;
  };
  using Tables = std::map<std::pair<const TensorView*, const Scalar*>, FactorTables>;  // by how many elements as well

  // Rewrites divisions of innermost loops in `body` by elements of arrays that the loop around `body` does not change.
  // Statements added to `before` fill the tables.
  Statements withTables(const Statements& body, const LoopChanges& changes, Tables& tables, Statements& before) {
    Statements result;
    for (const StatementRef& each : body) {
      if (const auto* guard = std::get_if<kir::If>(&each->node)) {
        // (Under other guards the array may not be filled yet.)
        const bool is_of_iteration = kir::mentionsAny(*guard->predicate, changes.indices);
        result.push_back(!is_of_iteration ? each
                                          : kir::statement(kir::If{guard->predicate,
                                                                   withTables(guard->body, changes, tables, before)}));
        continue;
      }
      const auto* loop = std::get_if<Loop>(&each->node);
      if (loop == nullptr) {
        result.push_back(each);
        continue;
      }
      Loop copy = *loop;
      copy.body = isInnermost(*loop) ? withTabulatedProducts(*loop, changes, tables, before)
                                     : withTables(loop->body, changes, tables, before);
      result.push_back(kir::statement(std::move(copy)));
    }
    return result;
  }

  Statements withTabulatedProducts(const Loop& loop, const LoopChanges& changes, Tables& tables, Statements& before) {
    const auto iterations = loop.stop->constantInt();
    const std::set<const kir::Variable*> quotients = roundedQuotients(loop.body);
    if (quotients.empty() || !loop.start->isConstantInt(0) || !iterations) return loop.body;
    std::map<const kir::Variable*, const TensorView*> arrays;
    for (const StatementRef& each : loop.body) {
      const auto* let = std::get_if<Let>(&each->node);
      if (let == nullptr || let->value->kind != ValueKind::Load || let->value->scalar != loop.index) continue;
      const TensorView* array = let->value->tensor;
      const bool is_kept = array->memoryType() == MemoryType::Local && !changes.tensors.contains(array);
      if (is_kept && array->dtype() == DataType::F32) arrays[let->variable.get()] = array;
    }
    Statements body;
    for (const StatementRef& each : loop.body) {
      const auto* let = std::get_if<Let>(&each->node);
      const Value* divisor =
          let != nullptr && quotients.contains(let->variable.get()) ? let->value->operands[1].get() : nullptr;
      const auto array = divisor != nullptr && divisor->kind == ValueKind::Variable
                             ? arrays.find(divisor->variable.get())
                             : arrays.end();
      if (array == arrays.end()) {
        body.push_back(each);
        continue;
      }
      const FactorTables& factors = tablesOf(*array->second, loop, tables, before);
      const auto factor = [&](const TensorView& table, const char* name) {
        Let read{.variable = new_values_.named(divisor->variable->name + name, DataType::F32),
                 .value = kir::load(table, loop.index)};
        const kir::VariableRef variable = read.variable;
        body.push_back(kir::statement(std::move(read)));
        return kir::use(variable);
      };
      const ValueRef scale = factor(*factors.scales, "_scale");
      const ValueRef reciprocal = factor(*factors.reciprocals, "_reciprocal");
      Let product = *let;
      product.value = times(times(let->value->operands[0], scale), reciprocal);
      body.push_back(kir::statement(std::move(product)));
    }
    return withoutUnusedValues(body);
  }

  const FactorTables& tablesOf(const TensorView& array, const Loop& loop, Tables& tables, Statements& before) {
    const auto [found, is_new] = tables.try_emplace({&array, loop.stop});
    if (!is_new) return found->second;
    const auto newTable = [&] {
      TensorView* table = fusion_.tensor(DataType::F32, {fusion_.axis({.extent = loop.stop})});
      table->setMemoryType(MemoryType::Local);
      before.push_back(kir::statement(kir::Allocate{table, loop.stop}));
      return table;
    };
    const TensorView* scales = newTable();
    const TensorView* reciprocals = newTable();
    Loop filling = loop;
    filling.index = indexLike(*loop.index, *loop.stop, fusion_, analysis_);
    filling.body.clear();
    const kir::VariableRef divisor = new_values_.named("divisor", DataType::F32);
    filling.body.push_back(kir::statement(Let{.variable = divisor, .value = kir::load(array, filling.index)}));
    const Factors factors = factorsOf(divisor, filling.body);
    filling.body.push_back(kir::statement(Store{scales, filling.index, kir::use(factors.scale)}));
    filling.body.push_back(kir::statement(Store{reciprocals, filling.index, kir::use(factors.reciprocal)}));
    before.push_back(kir::statement(std::move(filling)));
    found->second = {scales, reciprocals};
    return found->second;
  }

  static bool isInnermost(const Loop& loop) {
    return std::ranges::none_of(loop.body, [](const StatementRef& each) {
      return std::holds_alternative<Loop>(each->node) || std::holds_alternative<kir::If>(each->node);
    });
  }

  // Rewrites divisions of the body by invariant variables. Statements added to `before` define m and r.
  Statements withProducts(const Loop& loop, Statements& before) {
    const std::set<const kir::Variable*> quotients = roundedQuotients(loop.body);
    if (quotients.empty()) return loop.body;
    std::set<const kir::Variable*> own;
    for (const StatementRef& each : loop.body) {
      if (const auto* let = std::get_if<Let>(&each->node)) own.insert(let->variable.get());
    }
    std::map<const kir::Variable*, Factors> factors;
    Statements body;
    for (const StatementRef& each : loop.body) {
      const auto* let = std::get_if<Let>(&each->node);
      const Value* divisor =
          let != nullptr && quotients.contains(let->variable.get()) ? let->value->operands[1].get() : nullptr;
      // Other divisors are numbers, which the compiler handles, or loads, which must not move.
      if (divisor == nullptr || divisor->kind != ValueKind::Variable || own.contains(divisor->variable.get())) {
        body.push_back(each);
        continue;
      }
      const auto [found, is_new] = factors.try_emplace(divisor->variable.get());
      if (is_new) found->second = factorsOf(divisor->variable, before);
      Let product = *let;
      product.value =
          times(times(let->value->operands[0], kir::use(found->second.scale)), kir::use(found->second.reciprocal));
      body.push_back(kir::statement(std::move(product)));
    }
    return body;
  }

  // The names of quotients that are used in casts to narrow types and nowhere else.
  static std::set<const kir::Variable*> roundedQuotients(const Statements& body) {
    std::set<const kir::Variable*> quotients;
    for (const StatementRef& each : body) {
      const auto* let = std::get_if<Let>(&each->node);
      if (let != nullptr && let->index == nullptr && isQuotient(*let->value)) quotients.insert(let->variable.get());
    }
    std::map<const kir::Variable*, int> uses;
    std::map<const kir::Variable*, int> rounded;
    for (const StatementRef& statement : body) {
      for (const Value* each : kir::valuesOf(*statement)) {
        if (each->kind == ValueKind::Variable) ++uses[each->variable.get()];
        if (each->kind == ValueKind::Cast && isNarrow(each->dtype) && each->operands[0]->kind == ValueKind::Variable)
          ++rounded[each->operands[0]->variable.get()];
      }
    }
    std::erase_if(quotients, [&](const kir::Variable* each) { return uses[each] != rounded[each]; });
    return quotients;
  }

  Factors factorsOf(const kir::VariableRef& divisor, Statements& before) {
    const auto constant = [&](double number) {
      return kir::number(fusion_.constant(number, DataType::F64), DataType::F32);
    };
    const auto is = [&](FunctionId comparison, double number) {
      const ValueRef size = kir::apply(FunctionId::abs, DataType::F32, {kir::use(divisor)});
      return kir::apply(comparison, DataType::Bool, {size, constant(number)});
    };
    const auto where = [&](ValueRef condition, ValueRef yes, ValueRef no) {
      return kir::apply(FunctionId::where, DataType::F32, {std::move(condition), std::move(yes), std::move(no)});
    };
    Factors factors{new_values_.named(divisor->name + "_scale", DataType::F32),
                    new_values_.named(divisor->name + "_reciprocal", DataType::F32)};
    const ValueRef small = where(is(FunctionId::lt, 0x1p-64), constant(0x1p64), constant(1));
    before.push_back(kir::statement(
        Let{.variable = factors.scale, .value = where(is(FunctionId::gt, 0x1p64), constant(0x1p-64), small)}));
    const ValueRef scaled = times(kir::use(divisor), kir::use(factors.scale));
    before.push_back(kir::statement(
        Let{.variable = factors.reciprocal, .value = kir::apply(FunctionId::reciprocal, DataType::F32, {scaled})}));
    return factors;
  }

  static ValueRef times(ValueRef a, ValueRef b) {
    return kir::apply(FunctionId::mul, DataType::F32, {std::move(a), std::move(b)});
  }

  Fusion& fusion_;
  kir::NewValues new_values_;
  IntervalAnalysis analysis_;
};

}  // namespace

kir::Kernel invariantReciprocals(kir::Kernel kernel) {
  if (!kernel.hasThreads()) return kernel;
  kernel.body = ReciprocalSharer(kernel).rewrite(kernel.body);
  return kernel;
}

}  // namespace tokamak
