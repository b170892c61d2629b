#include "host/local/local_segment.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/require.h"
#include "host/local/local_ops.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

class LocalSegment {
 public:
  LocalSegment(const PostOnStream& post, LocalTensors& program)
      : post_(post),
        whole_(*post.segment->fusion),
        fusion_(std::make_unique<Fusion>(whole_.name())),
        program_(program),
        tensors_(*fusion_, program.rank(), PartExtents::Symbols),
        outside_(programOf(post)) {}

  PostOnStream make() {
    for (const TensorView* tensor : whole_.allTensors()) {
      TK_REQUIRE(
          tensors_.has(*tensor), HostProgram,
          "local program: HostUnit{}: its {} is not on rank {}, on which it is posted; give all of its tensors one "
          "mesh",
          post_.segment->number, nameOf(*tensor), tensors_.rank());
    }
    for (size_t i = 0; i < post_.ins.size(); ++i) pair(whole_.inputs()[i], post_.ins[i]);
    for (size_t i = 0; i < post_.outs.size(); ++i) pair(whole_.outputs()[i], post_.outs[i]);
    for (const Expr* expr : whole_.allExprs()) requireLocal(*expr, tensors_, WholeReads::Refused);
    copyFusion();
    PostOnStream local;
    for (Val* in : post_.ins) local.ins.push_back(program_.val(in));
    for (TensorView* out : post_.outs) local.outs.push_back(program_.tensor(out));
    addScalarInputs(local);
    auto segment = std::make_shared<HostSegment>();
    segment->number = post_.segment->number;
    segment->fusion = std::move(fusion_);
    local.segment = std::move(segment);
    return local;
  }

 private:
  static Fusion& programOf(const PostOnStream& post) {
    return post.outs.empty() ? post.ins.front()->fusion() : post.outs.front()->fusion();
  }

  // What the segment's symbols are in the program; and that both have one opinion of what the rank has.
  void pair(Val* inner, Val* outer) {
    if (asScalar(inner) != nullptr) return setOutside(asScalar(inner), asScalar(outer));
    TK_REQUIRE(asTensor(inner)->partials() == asTensor(outer)->partials(), HostProgram,
               "local program: HostUnit{}: its {} is partial otherwise than {}, which is given for it; mark both",
               post_.segment->number, nameOf(*asTensor(inner)), nameOf(*asTensor(outer)));
    const Axes inner_axes = shapeOf(*asTensor(inner));
    const Axes outer_axes = shapeOf(*asTensor(outer));
    for (size_t i = 0; i < inner_axes.size(); ++i)
      setOutside(inner_axes[i]->visibleExtent(), outer_axes[i]->visibleExtent());
    for (size_t i = 0; i < inner_axes.size(); ++i) {
      const LocalPart* own = tensors_.partOf(*asTensor(inner), *inner_axes[i]);
      const LocalPart* given = program_.partOf(*asTensor(outer), *outer_axes[i]);
      const bool is_same = own == nullptr || given == nullptr ? own == given : isSame(*own, *given);
      TK_REQUIRE(
          is_same, HostProgram,
          "local program: HostUnit{}: axis {} of its {} is sharded otherwise than that of {}, which is given for "
          "it",
          post_.segment->number, i, nameOf(*asTensor(inner)), nameOf(*asTensor(outer)));
    }
  }

  // The same part, in scalars of the segment and of the program.
  bool isSame(const LocalPart& own, const LocalPart& given) {
    LocalPart outside = own;
    outside.range = given.range;
    return outsideExtent(own.range) == given.range.extent && isSamePart(&outside, &given);
  }

  void setOutside(Scalar* inner, Scalar* outer) {
    if (inner->isSymbol() && !outside_.contains(inner)) outside_.substitute(inner, outer);
  }

  void copyFusion() {
    // (In the order in which they were made, which names those without a name.)
    for (TensorView* tensor : whole_.allTensors()) tensors_.tensor(tensor);
    for (Val* input : whole_.inputs()) fusion_->addInput(tensors_.val(input));
    for (const Expr* expr : whole_.allExprs()) fusion_->append(makeExpr(expr->kind(), localFields(*expr, tensors_)));
    for (TensorView* output : whole_.outputs()) fusion_->addOutput(tensors_.tensor(output));
    for (const auto& [output, alias] : whole_.outputAliases())
      fusion_->aliasOutput(tensors_.tensor(output), tensors_.val(alias.target), alias.is_hidden);
  }

  // The symbols that the segment has and that no input binds.
  std::set<Scalar*, ById> openSymbols() const {
    std::set<Scalar*, ById> symbols;
    const auto add = [&](const auto& self, Scalar* scalar) -> void {
      if (scalar == nullptr) return;
      if (scalar->isSymbol() && !fusion_->isInput(scalar)) symbols.insert(scalar);
      for (Scalar* operand : scalar->operands()) self(self, operand);
    };
    const auto addExtents = [&](const TensorView& tensor) {
      for (const Axes* axes : {&tensor.logical(), &tensor.loop()})
        for (const IterDomain* axis : *axes) add(add, axis->visibleExtent());
    };
    for (const TensorView* tensor : fusion_->allTensors()) addExtents(*tensor);
    for (const Expr* expr : fusion_->allExprs())
      for (Val* val : valsOf(*expr)) add(add, asScalar(val));
    for (const TensorView* input : tensorsOf(fusion_->inputs()))
      for (const IterDomain* axis : shapeOf(*input)) symbols.erase(axis->visibleExtent());
    return symbols;
  }

  void addScalarInputs(PostOnStream& local) {
    for (Scalar* symbol : openSymbols()) {
      Scalar* given = outsideOf(*symbol);
      if (given == nullptr) continue;
      fusion_->addInput(symbol);
      local.ins.push_back(given);
    }
  }

  // The scalar of the program's copy that the symbol stands for, or null.
  Scalar* outsideOf(const Scalar& symbol) {
    for (const LocalTensors::PartSymbol& part : tensors_.partSymbols()) {
      if (part.symbol == &symbol) return outsideExtentOf(part);
    }
    for (Scalar* whole : whole_.allSymbols()) {
      if (tensors_.scalar(whole) == &symbol) return program_.scalar(outside(*whole));  // null for null
    }
    return nullptr;
  }

  // Null where the program does not know it.
  Scalar* outsideExtentOf(const LocalTensors::PartSymbol& part) {
    Scalar* n = outside(*part.n);
    Scalar* chunk = outside(*part.chunk);
    return n == nullptr || chunk == nullptr ? nullptr : program_.rangeOf(*n, *chunk, part.coordinate).extent;
  }

  // The extent of a range of the segment in the program's copy.
  Scalar* outsideExtent(const ScalarRange& range) {
    for (const LocalTensors::PartSymbol& part : tensors_.partSymbols()) {
      if (part.symbol == range.extent) return outsideExtentOf(part);
    }
    return program_.target().constant(*range.extent->constantInt());
  }

  // A scalar of the segment in the whole program; symbols that no operand tells go by their names. Null where the
  // program has none of that name.
  Scalar* outside(Scalar& scalar) {
    if (scalar.isSymbol() && !outside_.contains(&scalar)) {
      const std::vector<Scalar*> known = outside_.target().allSymbols();
      const auto same = std::ranges::find(known, scalar.name(), &Scalar::name);
      if (same == known.end()) return nullptr;
      outside_.substitute(&scalar, *same);
    }
    for (Scalar* operand : scalar.operands()) {
      if (outside(*operand) == nullptr) return nullptr;
    }
    return simplify(outside_.clone(&scalar));
  }

  const PostOnStream& post_;
  const Fusion& whole_;
  std::unique_ptr<Fusion> fusion_;
  LocalTensors& program_;
  LocalTensors tensors_;
  Cloner outside_;  // into the whole program
};

}  // namespace

PostOnStream localPost(const PostOnStream& post, LocalTensors& program) { return LocalSegment(post, program).make(); }

}  // namespace tokamak
