// CommunicationModel: what communications give, computed plainly from what all members bring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "dist/communication_request.h"

namespace tokamak {

using Bytes = std::vector<std::byte>;

/// One communication of a team: the request of each member, by its position.
struct Operation {
  std::vector<int64_t> team;
  std::vector<CommunicationRequest> requests;
};

/// How sizes are dealt out among members.
enum class Shares : uint8_t {
  Even,       ///< all the same
  ShortLast,  ///< chunks of a whole, of which the last ones may be short or empty
};

struct OperationForm {
  CommunicationKind kind = CommunicationKind::Allreduce;
  DataType dtype = DataType::F32;
  ReductionKind reduction = ReductionKind::Sum;
  int64_t count = 1;  ///< of the even share, or of the whole
  Shares shares = Shares::Even;
  int64_t root = 0;   ///< position
  int64_t shift = 1;  ///< of CollectivePermute
};

/// Not for Send and Recv, which have two different members.
Operation operationOf(const OperationForm& form, std::span<const int64_t> team);
/// A form that teams of so many ranks can have, from this generator.
OperationForm randomForm(std::mt19937_64& random, int64_t members);
/// Whether the form has a meaning: reductions of bool are max and min, SendRecv has two members at most.
bool isLegal(const OperationForm& form, int64_t members);

/// Elements that are the same for the same arguments: small numbers, most of whose sums round in half types.
Bytes elementsOf(DataType dtype, int64_t count, uint64_t seed);
/// What the member at `position` brings to its communication of this seed.
Bytes inputOf(const Operation& operation, size_t position, uint64_t seed);
/// What it gets; empty where it gets nothing.
Bytes outputOf(const Operation& operation, size_t position, uint64_t seed);
/// The first element that differs, in words; empty: none does. All NaN are equal.
std::string firstDifference(DataType dtype, std::span<const std::byte> is, std::span<const std::byte> should_be);

}  // namespace tokamak
