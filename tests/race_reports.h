// countRaceReports: how often ThreadSanitizer reports a race in a program that plays a scenario.
#pragma once

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace tokamak::test {

/// Runs `PROGRAM SCENARIO`, built with ThreadSanitizer, `runs` times; gives the number of runs with a report. A run
/// that ends otherwise than well or with a report fails the test.
inline int countRaceReports(const std::string& program, const std::string& scenario, int runs) {
  constexpr int kReported = 66;
  const std::string command = "TSAN_OPTIONS='exitcode=66 symbolize=0' " + program + " " + scenario + " >/dev/null 2>&1";
  int reports = 0;
  for (int run = 0; run < runs; ++run) {
    const int status = std::system(command.c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    EXPECT_TRUE(code == 0 || code == kReported) << scenario << " ended with status " << status;
    reports += code == kReported ? 1 : 0;
  }
  return reports;
}

}  // namespace tokamak::test
