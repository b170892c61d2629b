// Drawer: a program while it is drawn, and the single draws.
#pragma once

#include <vector>

#include "draw_program.h"
#include "random.h"

namespace tokamak::generator {

/// Every draw that takes part in a program either appends legal nodes and gives the last, or gives kNone.
class Drawer {
 public:
  static constexpr int kNone = -1;

  Drawer(uint64_t seed, const DrawOptions& options);
  Program draw();

 private:
  // --- nodes (drawer.cpp) ---
  int append(Node node, double limit);
  int appendInput(DataType dtype, std::vector<int64_t> sizes);
  int appendScalarInput(DataType dtype);
  int appendCast(int node, DataType dtype);
  int drawEvenCast(int node);
  int appendReduction(int node, ReductionKind kind, std::vector<int64_t> axes);
  void drawInputs();
  void drawOutputs();
  void castOutputs();
  void drawInPlace();

  // --- what there is ---
  bool isExact() const { return program_.values == Values::Exact || program_.values == Values::Positions; }
  bool isTensor(int node) const { return program_.nodes[static_cast<size_t>(node)].kind != NodeKind::ScalarInput; }
  DataType dtypeOf(int node) const { return builder_.value(node)->dtype(); }
  const std::vector<int64_t>& sizesOf(int node) const { return builder_.sizes(node); }
  double limitOf(int node) const { return limits_[static_cast<size_t>(node)]; }
  int64_t countOf(int node) const;
  /// A tensor of at least this rank, later ones more often; kNone when there is none.
  int pickTensor(int64_t min_rank = 0);
  int64_t pickExtent();
  double pickConstant();
  std::vector<int64_t> pickSizes(int64_t rank);
  std::vector<int64_t> pickAxes(int64_t rank);

  // --- ops (drawn_ops.cpp) ---
  using Draw = int (Drawer::*)();
  int drawOp();
  int drawPointwise();
  int drawPointwiseOn(int first);
  int drawOperand(std::vector<int>& tensors, bool needs_tensor);
  int drawReduction();
  int drawNormalisation();
  int drawSumOfPowers();
  int drawReshapedReduction();
  int drawMergedNormalisation();
  int drawCast();
  int drawSet();
  int drawBroadcast();
  int drawSqueeze();
  int drawExpand();
  int drawPermute();
  int drawDescribed();
  int drawReshape();
  int drawSlice();
  int drawSelect();
  int drawTakeAlongAxis();
  int drawPad();
  int drawCat();
  int drawFull();
  int drawIota();
  std::vector<int64_t> pickBatch(const std::vector<int64_t>& left);
  DataType pickProductType(DataType operands);
  int drawMatmul();
  int drawLinear();

  Draw last_draw_ = nullptr;
  int last_node_ = kNone;  // what it gave
  int forced_ = kNone;     // what pickTensor takes next

  Random random_;
  DrawOptions options_;
  Program program_;
  ProgramBuilder builder_;
  std::vector<double> limits_;    // of each node's magnitude, while the program is exact
  std::vector<int64_t> extents_;  // a few per program, so that sizes meet
};

}  // namespace tokamak::generator
