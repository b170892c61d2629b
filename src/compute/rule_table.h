// RuleTable: the element rules of a program's ops, each made once.
#pragma once

#include <map>

#include "compute/element.h"

namespace tokamak {

class RuleTable {
 public:
  const ElementRule& of(const Expr& expr);

 private:
  std::map<const Expr*, ElementRule> rules_;
};

}  // namespace tokamak
