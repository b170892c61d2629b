// PostOnStream: a segment that runs on the current stream; HostSegment: the segment, a fusion of its own.
#pragma once

#include "ir/fields.h"
#include "ir/fusion.h"

namespace tokamak {

/// A fusion that is one step of a host program.
struct HostSegment {
  int64_t number = 0;  ///< its number in dumps
  std::unique_ptr<Fusion> fusion;
};

/// Runs `segment` with `ins` as its inputs (in order); `outs` are its outputs, all of them preallocated or none.
struct PostOnStream {
  static constexpr OpInfo info{.name = "PostOnStream"};
  std::shared_ptr<const HostSegment> segment;
  std::vector<Val*> ins;
  std::vector<TensorView*> outs;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.attribute("segment", self.segment);
    v.operands("ins", self.ins);
    v.results("outs", self.outs);
  }
};

}  // namespace tokamak
