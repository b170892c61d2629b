// Fusions with schedules as texts, for tests of schedule commands: read with the real commands, checked to be legal and
// to print as something that reads back as itself.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "analysis/domain_graph.h"
#include "error_of.h"
#include "ir/clone.h"
#include "ir/equal.h"
#include "ir/text/fusion_printer.h"
#include "ir/verifier.h"
#include "program_of.h"
#include "schedule/inline.h"
#include "schedule/shared_loops.h"

namespace tokamak {

/// The canonical text of a legal fusion; fails the test where it is not legal or does not read back as itself.
inline std::string checkedText(const Fusion& fusion) {
  std::string text = printFusion(fusion);
  for (const Violation& violation : violationsOf(fusion, Stage::Scheduled))
    ADD_FAILURE() << violation.invariant << ": " << violation.message << "\n" << text;
  EXPECT_EQ(inlineProblem(fusion, DomainGraph(fusion)), "") << text;
  try {
    const auto again = fusionFrom(text);
    EXPECT_EQ(firstDifference(fusion, *again), "") << text;
    EXPECT_EQ(printFusion(*again), text);
    EXPECT_EQ(firstDifference(fusion, *cloneFusion(fusion)), "") << text;
  } catch (const Error& error) {
    ADD_FAILURE() << error.what() << "\n" << text;
  }
  return text;
}

/// The canonical text of `definition` after these commands, from its first line behind the header on.
inline std::string after(const std::string& definition, const std::string& commands) {
  const std::string text = checkedText(*fusionFrom(definition + "schedule {\n" + commands + "\n}\n"));
  return text.substr(text.find("{\n") + 2);
}

/// The canonical schedule alone, without its braces.
inline std::string scheduleAfter(const std::string& definition, const std::string& commands) {
  const std::string text = after(definition, commands);
  const size_t start = text.find("schedule {\n");
  return start == std::string::npos ? "" : text.substr(start + 11, text.size() - start - 13);
}

/// The message of the Schedule error that the commands end in.
inline std::string refusalOf(const std::string& definition, const std::string& commands) {
  const Error error = errorOf([&] { fusionFrom(definition + "schedule {\n" + commands + "\n}\n"); });
  EXPECT_EQ(error.code(), ErrorCode::Schedule) << error.message();
  return error.message();
}

/// A tensor by its number.
inline TensorView* tensorOf(const Fusion& fusion, int64_t label) {
  for (TensorView* tensor : fusion.allTensors()) {
    if (tensor->label() == label) return tensor;
  }
  ADD_FAILURE() << "no T" << label;
  return nullptr;
}

}  // namespace tokamak
