// SliceParser: what stands in brackets behind a tensor: T0[0:4, ::2, -1].
#pragma once

#include <optional>
#include <vector>

#include "ir/text/argument_parser.h"

namespace tokamak {

/// One entry per axis from the first on: `start:stop:step`, of which each may be left out, keeps a range of the axis
/// (the op `slice`); a scalar takes the axis away (the op `select`). Constants below zero count from the axis' end.
class SliceParser {
 public:
  SliceParser(TokenStream& tokens, ArgumentParser& arguments) : tokens_(tokens), arguments_(arguments) {}

  /// Reads the brackets and appends the ops. Errors: Parse, and those of the ops.
  TensorView* parse(TensorView& tensor);

 private:
  struct Entry {
    bool is_range = false;
    Scalar* start = nullptr;  ///< of a scalar entry the index; null: left out
    Scalar* stop = nullptr;
    Scalar* step = nullptr;
  };

  Entry entry();
  Scalar* bound();
  Scalar* fromStart(const Token& at, const TensorView& tensor, size_t axis, Scalar* position) const;
  TensorView* call(const Token& at, std::string_view name, std::vector<CallArgument> arguments);
  TensorView* ranges(const Token& at, TensorView& tensor, const std::vector<Entry>& entries);

  TokenStream& tokens_;
  ArgumentParser& arguments_;
};

}  // namespace tokamak
