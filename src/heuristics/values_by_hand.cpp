#include "heuristics/values_by_hand.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.h"

namespace tokamak {

namespace {

// Everything that a value may be given for.
struct HandValues {
  CudaScheduleParameters parameters;
  int64_t keeps_columns = 0;
  int64_t parts = 0;
};

void take(std::string_view values, HandValues& into) {
  CudaScheduleParameters& parameters = into.parameters;
  const std::pair<std::string_view, int64_t*> names[] = {{"vector", &parameters.vector},
                                                         {"threads", &parameters.threads},
                                                         {"batches", &parameters.batches},
                                                         {"rows", &parameters.rows_per_block},
                                                         {"unroll", &parameters.unroll},
                                                         {"column_blocks", &parameters.column_blocks},
                                                         {"row_parts", &parameters.row_parts},
                                                         {"chunk", &parameters.chunk},
                                                         {"stages", &parameters.stages},
                                                         {"column_threads", &parameters.column_threads},
                                                         {"cluster", &parameters.cluster},
                                                         {"row_blocks", &parameters.row_blocks},
                                                         {"together", &parameters.rows_together},
                                                         {"keep_columns", &into.keeps_columns},
                                                         {"parts", &into.parts}};
  while (!values.empty()) {
    const std::string_view each = values.substr(0, values.find(','));
    values.remove_prefix(std::min(values.size(), each.size() + 1));
    const size_t sign = each.find('=');
    const auto* found = std::ranges::find(names, each.substr(0, sign), &std::pair<std::string_view, int64_t*>::first);
    int64_t value = -1;
    const std::string_view digits = sign == std::string_view::npos ? "" : each.substr(sign + 1);
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    TK_REQUIRE(found != std::end(names) && value >= 0 && end == digits.data() + digits.size(), Usage,
               "schedule by hand: {} is no value; legal are vector, threads, batches, rows, unroll, column_blocks, "
               "column_threads, row_parts, chunk, stages, keep_columns, cluster, row_blocks, together and parts with = "
               "and a number, separated by commas",
               each);
    *found->second = value;
  }
}

}  // namespace

CudaScheduleParameters withValues(CudaScheduleParameters parameters, std::string_view values) {
  HandValues all{.parameters = parameters, .keeps_columns = parameters.keeps_columns ? 1 : 0};
  take(values, all);
  all.parameters.keeps_columns = all.keeps_columns != 0;
  return all.parameters;
}

int64_t partsByHand(int64_t chosen, std::string_view values) {
  HandValues all{.parameters = {}, .parts = chosen};
  take(values, all);
  return all.parts;
}

}  // namespace tokamak
