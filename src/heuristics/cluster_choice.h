// The parameters of rows that the blocks of a cluster share.
#pragma once

#include <vector>

#include "heuristics/cuda_schedule.h"

namespace tokamak {

/// A row that registers are to hold: one block's, or those of a cluster of blocks.
struct RowInRegisters {
  int64_t length = 0;            ///< elements
  int64_t bytes = 0;             ///< that are kept of each
  int64_t sum_bytes = 0;         ///< of sums of columns, once for all rows of a block
  std::vector<int64_t> periods;  ///< after so many elements inner axes begin anew, where a row has several
};

/// What is kept of each element of a row: the inputs that are needed several times, and the sums of columns.
RowInRegisters rowInRegisters(const KernelRows& rows, int64_t length);

/// Whether blocks may take rows in turns. An output that is needed elsewhere is computed there again, and counts as needed: its turns would be a loop of its own. Where
/// rows are several axes, indices do not show that the turns of two tensors are one loop. (Parts of columns are made in turns anyway.)
bool mayTakeTurns(const KernelRows& rows);

/// Whether a block's registers have room for what the parameters keep and for what else its threads need.
bool haveRoom(const RowInRegisters& row, const KernelTarget& target, const CudaScheduleParameters& parameters);

/// Makes the parameters those of the smallest cluster whose registers hold the row; whether there is one, else they mean nothing.
bool chooseCluster(const KernelRows& rows, const RowInRegisters& row, const KernelTarget& target,
                   CudaScheduleParameters& parameters);

}  // namespace tokamak
