#include "communication_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/half.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;

// An element as a number of its compute type.
struct Number {
  double real = 0;  // of floating types
  int64_t whole = 0;
};

template <class T>
T loadAs(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
void storeAs(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

Number load(DataType dtype, const std::byte* from) {
  switch (dtype) {
    case DataType::F64: return {.real = loadAs<double>(from)};
    case DataType::F32: return {.real = loadAs<float>(from)};
    case DataType::F16: return {.real = toFloat(loadAs<Half>(from))};
    case DataType::BF16: return {.real = toFloat(loadAs<BFloat16>(from))};
    case DataType::I32: return {.whole = loadAs<int32_t>(from)};
    case DataType::I64: return {.whole = loadAs<int64_t>(from)};
    case DataType::Bool: return {.whole = loadAs<uint8_t>(from)};
  }
  return {};
}

void store(DataType dtype, std::byte* to, const Number& number) {
  switch (dtype) {
    case DataType::F64: return storeAs(to, number.real);
    case DataType::F32: return storeAs(to, static_cast<float>(number.real));
    case DataType::F16: return storeAs(to, toHalf(static_cast<float>(number.real)));
    case DataType::BF16: return storeAs(to, toBFloat16(static_cast<float>(number.real)));
    case DataType::I32: return storeAs(to, static_cast<int32_t>(number.whole));
    case DataType::I64: return storeAs(to, number.whole);
    case DataType::Bool: return storeAs(to, static_cast<uint8_t>(number.whole));
  }
}

template <class T>
T combined(ReductionKind reduction, T a, T b) {
  switch (reduction) {
    case ReductionKind::Sum: return a + b;
    case ReductionKind::Prod: return a * b;
    case ReductionKind::Max: return std::max(a, b);
    case ReductionKind::Min: return std::min(a, b);
  }
  return a;
}

Number reduced(ReductionKind reduction, DataType dtype, const Number& a, const Number& b) {
  if (std::isnan(a.real) || std::isnan(b.real)) return {.real = std::numeric_limits<double>::quiet_NaN()};
  if (dtype == DataType::F64) return {.real = combined(reduction, a.real, b.real)};
  if (isFloatingType(dtype))
    return {.real = combined(reduction, static_cast<float>(a.real), static_cast<float>(b.real))};
  if (reduction == ReductionKind::Max || reduction == ReductionKind::Min)
    return {.whole = combined(reduction, a.whole, b.whole)};
  return {.whole = static_cast<int64_t>(
              combined(reduction, static_cast<uint64_t>(a.whole), static_cast<uint64_t>(b.whole)))};
}

// I32 wraps at each step.
Number wrapped(DataType dtype, const Number& number) {
  return dtype == DataType::I32 ? Number{.whole = static_cast<int32_t>(number.whole)} : number;
}

Bytes reductionOf(const Operation& operation, uint64_t seed) {
  const CommunicationRequest& request = operation.requests[0];
  Bytes result = inputOf(operation, 0, seed);
  const int64_t size = sizeOf(request.dtype);
  std::vector<Bytes> inputs;
  for (size_t member = 0; member < operation.team.size(); ++member) inputs.push_back(inputOf(operation, member, seed));
  for (size_t i = 0; i < result.size(); i += static_cast<size_t>(size)) {
    Number sum = load(request.dtype, &inputs[0][i]);
    for (size_t member = 1; member < inputs.size(); ++member)
      sum = wrapped(request.dtype,
                    reduced(request.reduction, request.dtype, sum, load(request.dtype, &inputs[member][i])));
    store(request.dtype, &result[i], sum);
  }
  return result;
}

Bytes part(const Bytes& of, std::span<const int64_t> counts, size_t position, int64_t size) {
  int64_t begin = 0;
  for (size_t i = 0; i < position; ++i) begin += counts[i];
  const auto first = of.begin() + begin * size;
  return {first, first + counts[position] * size};
}

void appendTo(Bytes& bytes, const Bytes& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

int64_t chunkOf(int64_t whole, int64_t parts, int64_t position) {
  const int64_t chunk = (whole + parts - 1) / parts;
  return std::min(chunk, std::max<int64_t>(0, whole - position * chunk));
}

}  // namespace

bool isLegal(const OperationForm& form, int64_t members) {
  if (form.kind == Kind::SendRecv && members > 2) return false;
  const bool is_extreme = form.reduction == ReductionKind::Max || form.reduction == ReductionKind::Min;
  return !isReducing(form.kind) || form.dtype != DataType::Bool || is_extreme;
}

Operation operationOf(const OperationForm& form, std::span<const int64_t> team) {
  const auto members = static_cast<int64_t>(team.size());
  const auto shareOf = [&](int64_t position) {
    return form.shares == Shares::Even ? form.count : chunkOf(form.count, members, position);
  };
  Operation operation = {.team = {team.begin(), team.end()}, .requests = {}};
  for (int64_t position = 0; position < members; ++position) {
    CommunicationRequest request = {.kind = form.kind, .dtype = form.dtype, .reduction = form.reduction};
    const int64_t receiver = (position + form.shift) % members;
    const int64_t sender = (position + members - form.shift % members) % members;
    switch (form.kind) {
      case Kind::Gather:
      case Kind::Allgather:
      case Kind::Scatter:
      case Kind::ReduceScatter:
        for (int64_t other = 0; other < members; ++other) request.counts.push_back(shareOf(other));
        break;
      case Kind::AllToAll:  // blocks of a matrix whose both axes are dealt out
        for (int64_t other = 0; other < members; ++other) {
          request.counts.push_back(shareOf(position) + 2 * shareOf(other));
          request.received.push_back(shareOf(other) + 2 * shareOf(position));
        }
        break;
      case Kind::CollectivePermute:
        request.counts = {shareOf(position)};
        request.received = {shareOf(sender)};
        request.send_to = team[static_cast<size_t>(receiver)];
        request.receive_from = team[static_cast<size_t>(sender)];
        break;
      default: request.counts = {form.count}; break;
    }
    const bool has_root = form.kind == Kind::Gather || form.kind == Kind::Scatter || form.kind == Kind::Reduce ||
                          form.kind == Kind::Broadcast || form.kind == Kind::SendRecv;
    if (has_root) request.root = team[static_cast<size_t>(form.root)];
    operation.requests.push_back(std::move(request));
  }
  return operation;
}

OperationForm randomForm(std::mt19937_64& random, int64_t members) {
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  while (true) {
    constexpr int64_t kCounts[] = {0, 1, 2, 3, 17, 64, 129, 1000, 5003};
    const OperationForm form = {.kind = static_cast<Kind>(below(static_cast<int64_t>(Kind::Send))),
                                .dtype = kAllDataTypes[static_cast<size_t>(below(kAllDataTypes.size()))],
                                .reduction = static_cast<ReductionKind>(below(4)),
                                .count = kCounts[below(std::size(kCounts))],
                                .shares = below(2) == 0 ? Shares::Even : Shares::ShortLast,
                                .root = below(members),
                                .shift = below(members)};
    if (isLegal(form, members)) return form;
  }
}

Bytes elementsOf(DataType dtype, int64_t count, uint64_t seed) {
  Bytes bytes(static_cast<size_t>(count * sizeOf(dtype)));
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = random();
    const auto whole = static_cast<int64_t>(bits % 2001) - 1000;
    Number number = {.real = static_cast<double>(whole) / 64, .whole = whole};
    if (dtype == DataType::Bool) number.whole = static_cast<int64_t>(bits >> 63U);
    if (isIntegerType(dtype) && i % 5 == 0) number.whole = static_cast<int64_t>(bits);  // whose sums wrap
    store(dtype, &bytes[static_cast<size_t>(i * sizeOf(dtype))], number);
  }
  return bytes;
}

Bytes inputOf(const Operation& operation, size_t position, uint64_t seed) {
  const CommunicationRequest& request = operation.requests[position];
  const int64_t count = bufferCounts(request, operation.team, operation.team[position]).input;
  return elementsOf(request.dtype, count, seed * 64 + position);
}

Bytes outputOf(const Operation& operation, size_t position, uint64_t seed) {
  const CommunicationRequest& request = operation.requests[position];
  const std::vector<int64_t>& team = operation.team;
  const int64_t size = sizeOf(request.dtype);
  const auto root = static_cast<size_t>(std::max<int64_t>(0, positionOf(team, request.root)));
  const bool is_root = request.root == team[position];
  Bytes result;
  switch (request.kind) {
    case Kind::Gather:
    case Kind::Allgather:
      for (size_t member = 0; member < team.size() && (is_root || request.kind == Kind::Allgather); ++member)
        appendTo(result, inputOf(operation, member, seed));
      return result;
    case Kind::Scatter: return part(inputOf(operation, root, seed), request.counts, position, size);
    case Kind::ReduceScatter: return part(reductionOf(operation, seed), request.counts, position, size);
    case Kind::Allreduce: return reductionOf(operation, seed);
    case Kind::Reduce: return is_root ? reductionOf(operation, seed) : Bytes();
    case Kind::Broadcast: return inputOf(operation, root, seed);
    case Kind::SendRecv: return is_root && team.size() > 1 ? Bytes() : inputOf(operation, root, seed);
    case Kind::AllToAll:
      for (size_t member = 0; member < team.size(); ++member)
        appendTo(result, part(inputOf(operation, member, seed), operation.requests[member].counts, position, size));
      return result;
    case Kind::CollectivePermute:
      return inputOf(operation, static_cast<size_t>(positionOf(team, request.receive_from)), seed);
    case Kind::Send:
    case Kind::Recv: break;
  }
  return result;
}

std::string firstDifference(DataType dtype, std::span<const std::byte> is, std::span<const std::byte> should_be) {
  if (is.size() != should_be.size()) return fmt::format("{} bytes, not {}", is.size(), should_be.size());
  const auto size = static_cast<size_t>(sizeOf(dtype));
  for (size_t i = 0; i < is.size(); i += size) {
    if (std::memcmp(&is[i], &should_be[i], size) == 0) continue;
    const Number a = load(dtype, &is[i]);
    const Number b = load(dtype, &should_be[i]);
    if (std::isnan(a.real) && std::isnan(b.real)) continue;
    return isFloatingType(dtype) ? fmt::format("element {} is {}, not {}", i / size, a.real, b.real)
                                 : fmt::format("element {} is {}, not {}", i / size, a.whole, b.whole);
  }
  return {};
}

}  // namespace tokamak
