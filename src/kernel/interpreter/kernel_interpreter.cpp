#include "kernel/interpreter/kernel_interpreter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>

#include <fmt/format.h>

#include "base/require.h"
#include "compute/element.h"
#include "ir/fields.h"
#include "kernel/bind_kernel.h"
#include "kernel/interpreter/lane_scalars.h"
#include "kernel/interpreter/memory_shadow.h"
#include "kernel/interpreter/pending_copies.h"
#include "loops/typed_loops.h"

namespace tokamak {

namespace {

using kir::Barrier;
using kir::BlockReduce;
using kir::ClusterBarrier;
using kir::If;
using kir::isThreadType;
using kir::Kernel;
using kir::LaunchDimension;
using kir::Let;
using kir::Loop;
using kir::StatementRef;
using kir::Statements;
using kir::Store;
using kir::Value;
using kir::ValueKind;
using kir::ValueRef;
using kir::Variable;

// A value per thread.
using Lanes = std::vector<uint64_t>;
using Mask = std::vector<uint8_t>;

struct Storage {
  std::byte* data = nullptr;
  std::vector<std::byte> own;
  std::vector<MemoryShadow>
      shadows;             // of a Shared buffer one per block of the cluster, whose parts are consecutive; else one
  int64_t per_thread = 0;  // elements of one thread's part of a Local buffer; 0: one buffer for all
};

class Interpreter {
 public:
  Interpreter(const Kernel& kernel, std::span<const KernelBuffer> buffers, const ScalarBindings& bindings,
              const InterpreterOptions& options, const kir::LaunchSize& size)
      : kernel_(kernel),
        bindings_(bindings),
        options_(options),
        size_(size),
        cluster_(kernel.dimension(ParallelType::CIDx) == nullptr
                     ? 1
                     : evaluateInt(*kernel.dimension(ParallelType::CIDx)->extent, bindings)),
        lanes_(size.threads * cluster_),
        scalars_(lanes_, bindings, options.index_bits),
        copies_(static_cast<size_t>(lanes_)),
        epochs_(static_cast<size_t>(cluster_), 0) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      Storage storage;
      storage.data = static_cast<std::byte*>(buffers[i].address);
      storage.shadows.emplace_back(buffers[i].elements, buffers[i].is_written);
      storage_[kernel.tensors[i]] = std::move(storage);
    }
  }

  std::vector<std::string> run() {
    std::vector<int64_t> order(static_cast<size_t>(size_.blocks / cluster_));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(options_.seed);
    if (options_.seed != 0) std::ranges::shuffle(order, random);
    for (const int64_t cluster : order) {
      runCluster(cluster);
      if (findings_.size() >= options_.most_findings) break;
    }
    return {findings_.begin(), findings_.end()};
  }

 private:
  // Runs the threads of a cluster (or of a block, a cluster of one); those of a block are consecutive.
  void runCluster(int64_t cluster) {
    cluster_number_ = cluster;
    std::ranges::fill(epochs_, 0);
    arrivals_ = 0;
    waits_ = 0;
    former_.clear();
    std::ranges::fill(copies_, PendingCopies());
    int64_t rest = cluster;
    int64_t stride = 1;
    for (const LaunchDimension& dimension : kernel_.dimensions) {
      const int64_t extent = evaluateInt(*dimension.extent, bindings_);
      const bool is_thread = isThreadType(dimension.type);
      const bool is_rank = kir::isClusterType(dimension.type);
      const std::span<int64_t> values = scalars_.set(*dimension.index);
      for (int64_t lane = 0; lane < lanes_; ++lane)
        values[static_cast<size_t>(lane)] = is_thread ? threadOf(lane) / stride % extent
                                            : is_rank ? rankOf(lane)
                                                      : rest % extent;
      if (is_thread)
        stride *= extent;
      else if (!is_rank)
        rest /= extent;
    }
    run(kernel_.body, Mask(static_cast<size_t>(lanes_), 1));
  }

  int64_t rankOf(int64_t lane) const { return lane / size_.threads; }
  int64_t threadOf(int64_t lane) const { return lane % size_.threads; }
  int64_t blockOf(int64_t lane) const { return cluster_number_ * cluster_ + rankOf(lane); }
  ThreadMoment momentOf(int64_t lane) const {
    return {.block = static_cast<int32_t>(blockOf(lane)),
            .thread = static_cast<int32_t>(threadOf(lane)),
            .epoch = epochs_[static_cast<size_t>(rankOf(lane))],
            .cluster = static_cast<int32_t>(cluster_number_),
            .arrivals = arrivals_,
            .waits = waits_};
  }

  void run(const Statements& statements, const Mask& mask) {
    for (size_t i = 0; i < statements.size();) {
      if (findings_.size() >= options_.most_findings) return;
      const size_t end = is_alone_ || options_.threads == ThreadOrder::Together ? i : endOfPhase(statements, i);
      if (end > i) {
        runInTurn(std::span(statements).subspan(i, end - i), mask);
        i = end;
        continue;
      }
      std::visit([&](const auto& node) { run(node, mask); }, statements[i]->node);
      ++i;
    }
    // (Buffers end with their body.)
    for (const StatementRef& statement : statements) {
      const auto* allocate = std::get_if<kir::Allocate>(&statement->node);
      if (allocate == nullptr) continue;
      auto ended = storage_.extract(allocate->tensor);
      if (!ended.empty() && allocate->tensor->memoryType() == MemoryType::Shared)
        endShared(*allocate->tensor, std::move(ended.mapped().shadows));
    }
  }

  void endShared(const TensorView& tensor, std::vector<MemoryShadow> shadows) {
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      if (copies_[static_cast<size_t>(lane)].dropCopiesTo(tensor))
        report(fmt::format("{} ends while copies to it are under way, of thread {} of block {}", nameOf(tensor),
                           threadOf(lane), blockOf(lane)));
    }
    for (int64_t rank = 0; cluster_ > 1 && rank < cluster_; ++rank) {
      const auto problem = shadows[static_cast<size_t>(rank)].end(momentOf(rank * size_.threads));
      if (problem) report(fmt::format("{}: {}", nameOf(tensor), *problem));
    }
    former_[&tensor] = std::move(shadows);
  }

  // The end of the phase: the next statement that threads do together, one with a barrier or a reduction, or an
  // allocation.
  static size_t endOfPhase(const Statements& statements, size_t begin) {
    size_t end = begin;
    for (; end < statements.size(); ++end) {
      bool is_together = std::holds_alternative<kir::Allocate>(statements[end]->node);
      kir::visitStatements({statements[end]}, [&](const kir::Statement& inside) {
        is_together |= std::holds_alternative<Barrier>(inside.node) || std::holds_alternative<BlockReduce>(inside.node);
        is_together |= std::holds_alternative<kir::GridReduce>(inside.node);
        is_together |= std::holds_alternative<ClusterBarrier>(inside.node);
      });
      if (is_together) break;
    }
    return end;
  }

  void runInTurn(std::span<const StatementRef> statements, const Mask& mask) {
    is_alone_ = true;
    for (int64_t i = 0; i < lanes_; ++i) {
      const auto lane = static_cast<size_t>(options_.threads == ThreadOrder::Forwards ? i : lanes_ - 1 - i);
      if (mask[lane] == 0) continue;
      Mask alone(mask.size(), 0);
      alone[lane] = 1;
      for (const StatementRef& statement : statements)
        std::visit([&](const auto& node) { run(node, alone); }, statement->node);
    }
    is_alone_ = false;
  }

  void run(const Loop& loop, const Mask& mask) {
    const std::span<const int64_t> first = indices(*loop.start, mask);
    std::vector<int64_t> index(first.begin(), first.end());
    const std::span<const int64_t> last = indices(*loop.stop, mask);
    const std::vector<int64_t> stop(last.begin(), last.end());
    Mask inside = mask;
    while (true) {
      bool is_any = false;
      for (size_t lane = 0; lane < index.size(); ++lane) {
        inside[lane] = mask[lane] != 0 && index[lane] < stop[lane] ? 1 : 0;
        is_any |= inside[lane] != 0;
      }
      if (!is_any || findings_.size() >= options_.most_findings) return;
      std::ranges::copy(index, scalars_.set(*loop.index).begin());
      run(loop.body, inside);
      for (int64_t& i : index) ++i;
    }
  }

  void run(const If& guard, const Mask& mask) {
    const std::span<const int64_t> holds = indices(*guard.predicate, mask);
    Mask inside = mask;
    bool is_any = false;
    for (size_t lane = 0; lane < mask.size(); ++lane) {
      inside[lane] = mask[lane] != 0 && holds[lane] != 0 ? 1 : 0;
      is_any |= inside[lane] != 0;
    }
    if (is_any) run(guard.body, inside);
  }

  void run(const kir::Allocate& allocate, const Mask&) {
    const TensorView& tensor = *allocate.tensor;
    const int64_t elements = evaluateInt(*allocate.size, bindings_);
    const bool is_local = tensor.memoryType() == MemoryType::Local;
    const int64_t total = elements * (is_local ? lanes_ : cluster_);
    Storage storage;
    storage.per_thread = is_local ? elements : 0;
    storage.own.assign(static_cast<size_t>(std::max<int64_t>(1, total) * sizeOf(tensor.dtype())), std::byte{0xff});
    storage.data = storage.own.data();
    // (A shared buffer is the same memory as before, which other threads may still access.)
    const auto former = is_local ? former_.end() : former_.find(&tensor);
    if (former != former_.end() && !former->second.empty() && former->second[0].size() == elements)
      storage.shadows = std::move(former->second);
    else
      storage.shadows.assign(static_cast<size_t>(is_local ? 1 : cluster_),
                             MemoryShadow(is_local ? total : elements, false));
    for (size_t rank = 0; rank < storage.shadows.size(); ++rank) {
      storage.shadows[rank].forgetValues();
      if (!is_local) storage.shadows[rank].begin(momentOf(static_cast<int64_t>(rank) * size_.threads));
    }
    storage_[&tensor] = std::move(storage);
  }

  void run(const Let& let, const Mask& mask) {
    Lanes values = value(*let.value, mask);
    // (Other threads may have run this statement before.)
    if (is_alone_) keepOthers(values, variables_[let.variable.get()], let.variable->dtype, mask);
    if (let.index != nullptr) {
      const std::span<int64_t> index = scalars_.set(*let.index);
      for (size_t lane = 0; lane < values.size(); ++lane) {
        if (!is_alone_ || mask[lane] != 0) index[lane] = static_cast<int64_t>(values[lane]);
      }
    }
    variables_[let.variable.get()] = std::move(values);
  }

  void keepOthers(Lanes& values, const Lanes& before, DataType dtype, const Mask& mask) const {
    if (before.empty()) return;
    const auto size = static_cast<size_t>(sizeOf(dtype));
    auto* to = reinterpret_cast<std::byte*>(values.data());
    const auto* from = reinterpret_cast<const std::byte*>(before.data());
    for (size_t lane = 0; lane < mask.size(); ++lane) {
      if (mask[lane] == 0) std::memcpy(to + lane * size, from + lane * size, size);
    }
  }

  // (Uninitialised memory may hold any byte, a C++ bool may not.)
  static void readElement(DataType dtype, void* to, const std::byte* from) {
    if (dtype == DataType::Bool)
      *static_cast<std::byte*>(to) = std::byte{*from == std::byte{0} ? uint8_t{0} : uint8_t{1}};
    else
      std::memcpy(to, from, static_cast<size_t>(sizeOf(dtype)));
  }

  void run(const Store& store, const Mask& mask) {
    const Lanes values = value(*store.value, mask);
    const int64_t size = sizeOf(store.tensor->dtype());
    const std::span<const int64_t> span = indices(*store.index, mask);
    const std::vector<int64_t> index(span.begin(), span.end());
    const std::span<const int64_t> block =
        store.block == nullptr ? std::span<const int64_t>() : indices(*store.block, mask);
    const auto* from = reinterpret_cast<const std::byte*>(values.data());
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      const auto i = static_cast<size_t>(lane);
      if (mask[i] == 0) continue;
      std::byte* to = block.empty() ? access(*store.tensor, index[i], lane, AccessKind::Write)
                                    : remotePlace(*store.tensor, index[i], lane, block[i]);
      if (to != nullptr) std::memcpy(to, from + lane * size, static_cast<size_t>(size));
    }
  }

  std::byte* remotePlace(const TensorView& tensor, int64_t index, int64_t lane, int64_t rank) {
    if (rank >= 0 && rank < cluster_) return access(tensor, index, lane, AccessKind::Write, rank);
    report(fmt::format("{}[{}] is written in block {} of a cluster of {}, by thread {} of block {}", nameOf(tensor),
                       index, rank, cluster_, threadOf(lane), blockOf(lane)));
    return nullptr;
  }

  void run(const kir::Copy& copy, const Mask& mask) {
    const int64_t size = sizeOf(copy.to->dtype());
    const std::span<const int64_t> to_span = indices(*copy.to_index, mask);
    const std::vector<int64_t> to(to_span.begin(), to_span.end());
    const std::span<const int64_t> from = indices(*copy.from_index, mask);
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      const auto i = static_cast<size_t>(lane);
      if (mask[i] == 0) continue;
      checkAlignment(*copy.to, to[i], copy.count, lane);
      checkAlignment(*copy.from, from[i], copy.count, lane);
      if (copy.is_async) {
        for (int64_t k = 0; k < copy.count; ++k) beginCopy(copy, to[i] + k, from[i] + k, lane);
        continue;
      }
      for (int64_t k = 0; k < copy.count; ++k) {
        const std::byte* source = access(*copy.from, from[i] + k, lane, AccessKind::Read);
        std::byte* target = access(*copy.to, to[i] + k, lane, AccessKind::Write);
        if (source != nullptr && target != nullptr) std::memcpy(target, source, static_cast<size_t>(size));
      }
    }
  }

  void beginCopy(const kir::Copy& copy, int64_t to, int64_t from, int64_t lane) {
    const std::byte* source = access(*copy.from, from, lane, AccessKind::Read);
    const std::byte* target = access(*copy.to, to, lane, AccessKind::BeginCopy);
    if (source == nullptr || target == nullptr) return;
    copies_[static_cast<size_t>(lane)].begin({copy.to, to, {source, source + sizeOf(copy.to->dtype())}});
  }

  void run(const kir::CopyGroup& group, const Mask& mask) {
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      if (mask[static_cast<size_t>(lane)] == 0) continue;
      PendingCopies& copies = copies_[static_cast<size_t>(lane)];
      if (group.step == kir::CopyGroup::Step::Commit) {
        copies.commit();
        continue;
      }
      for (const PendingCopies::Arrival& each : copies.wait(group.pending))
        std::ranges::copy(each.value, access(*each.to, each.index, lane, AccessKind::LandCopy));
    }
  }

  void checkAlignment(const TensorView& tensor, int64_t index, int64_t count, int64_t lane) {
    const int64_t bytes = count * sizeOf(tensor.dtype());
    const auto address = reinterpret_cast<uintptr_t>(storage_.contains(&tensor) ? storage_.at(&tensor).data : nullptr);
    const bool is_base_aligned = !kir::isGlobal(tensor) || address % static_cast<uintptr_t>(bytes) == 0;
    if (bytes > 16 || index % count != 0 || !is_base_aligned)
      report(fmt::format(
          "{}[{}]: {} elements of {} bytes are moved at once from an offset that is no multiple of that, by "
          "thread {} of block {}",
          nameOf(tensor), index, count, sizeOf(tensor.dtype()), threadOf(lane), blockOf(lane)));
  }

  void run(const BlockReduce& reduce, const Mask& mask) {
    const bool is_of_cluster = std::ranges::count(reduce.dimensions, ParallelType::CIDx) > 0;
    if (!(is_of_cluster ? isReachedByCluster(mask, "reduce") : isReachedByAll(mask, "reduce"))) return;
    for (int64_t k = 0; k < reduce.count; ++k) run(reduce, k, mask);
  }

  void run(const BlockReduce& reduce, int64_t offset, const Mask& mask) {
    const DataType dtype = reduce.tensor->dtype();
    const int64_t size = sizeOf(dtype);
    const std::span<const int64_t> index = indices(*reduce.index);
    // A group: threads that differ along the reduced dimensions only.
    std::vector<int64_t> groups(static_cast<size_t>(lanes_), 0);
    const auto isCombined = [&](ParallelType type) { return std::ranges::count(reduce.dimensions, type) > 0; };
    int64_t stride = 1;
    for (const LaunchDimension& dimension : kernel_.dimensions) {
      if (!isThreadType(dimension.type)) continue;
      const int64_t extent = evaluateInt(*dimension.extent, bindings_);
      for (int64_t lane = 0; lane < lanes_ && !isCombined(dimension.type); ++lane)
        groups[static_cast<size_t>(lane)] += threadOf(lane) / stride % extent * stride;
      stride *= extent;
    }
    for (int64_t lane = 0; lane < lanes_ && !isCombined(ParallelType::CIDx); ++lane)
      groups[static_cast<size_t>(lane)] += rankOf(lane) * stride;
    const ReductionLoops& loops = reductionLoops(reduce.kind, dtype);
    std::map<int64_t, std::vector<int64_t>> members;
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      if (mask[static_cast<size_t>(lane)] != 0) members[groups[static_cast<size_t>(lane)]].push_back(lane);
    }
    for (const auto& [group, lanes] : members) {
      std::vector<std::byte> values(lanes.size() * static_cast<size_t>(size));
      std::vector<std::byte*> places;
      for (size_t i = 0; i < lanes.size(); ++i) {
        std::byte* place =
            access(*reduce.tensor, index[static_cast<size_t>(lanes[i])] + offset, lanes[i], AccessKind::Read);
        if (place == nullptr) return;
        places.push_back(place);
        readElement(dtype, values.data() + i * static_cast<size_t>(size), place);
      }
      const auto combined = [&](const std::byte* first, int64_t count) {
        std::array<uint64_t, 2> accumulator = {};
        uint64_t result = 0;
        loops.start(accumulator.data(), sizeof(uint64_t), 1);
        loops.add_all(accumulator.data(), sizeof(uint64_t), first, count);
        loops.finish(&result, accumulator.data(), sizeof(uint64_t), 1);
        return result;
      };
      // Each block of a cluster has a rounded result; these are combined in order.
      uint64_t result = 0;
      for (size_t first = 0, end = 0; first < lanes.size(); first = end) {
        while (end < lanes.size() && rankOf(lanes[end]) == rankOf(lanes[first])) ++end;
        const uint64_t of_block =
            combined(values.data() + first * static_cast<size_t>(size), static_cast<int64_t>(end - first));
        alignas(uint64_t) std::array<std::byte, 2 * sizeof(uint64_t)> pair;
        std::memcpy(pair.data(), &result, static_cast<size_t>(size));
        std::memcpy(pair.data() + size, &of_block, static_cast<size_t>(size));
        result = first == 0 ? of_block : combined(pair.data(), 2);
      }
      for (std::byte* place : places) std::memcpy(place, &result, static_cast<size_t>(size));
    }
  }

  // The blocks of one group that have arrived, and their values, per value and thread.
  struct GroupValues {
    std::map<int64_t, std::vector<std::vector<uint64_t>>> of_member;
  };

  void run(const kir::GridReduce& grid, const Mask& mask) {
    if (!isReachedByAll(mask, "combination of blocks")) return;
    Mask last(mask.size(), 0);
    for (int64_t rank = 0; rank < cluster_; ++rank) {
      if (!storeBlockValues(grid, rank)) continue;
      for (int64_t thread = 0; thread < size_.threads; ++thread)
        last[static_cast<size_t>(rank * size_.threads + thread)] = 1;
    }
    if (std::ranges::count(last, 1) > 0) run(grid.body, last);
  }

  // Stores the values of a block. Returns whether it is the last one of its group, which then has the results.
  bool storeBlockValues(const kir::GridReduce& grid, int64_t rank) {
    ++epochs_[static_cast<size_t>(rank)];
    int64_t rest = cluster_number_;
    int64_t group = 0;
    int64_t member = 0;
    int64_t groups = 1;
    int64_t members = 1;
    for (const LaunchDimension& dimension : kernel_.dimensions) {
      if (isThreadType(dimension.type)) continue;
      const int64_t extent = evaluateInt(*dimension.extent, bindings_);
      const bool is_member = std::ranges::find(grid.dimensions, dimension.type) != grid.dimensions.end();
      const bool is_rank = kir::isClusterType(dimension.type);
      (is_member ? member : group) += (is_rank ? rank : rest % extent) * (is_member ? members : groups);
      (is_member ? members : groups) *= extent;
      if (!is_rank) rest /= extent;
    }
    GroupValues& gathered = gathered_[{&grid, group}];
    std::vector<std::vector<uint64_t>>& mine = gathered.of_member[member];
    for (const kir::GridReduce::Value& value : grid.values) {
      for (int64_t k = 0; k < value.count; ++k) {
        std::vector<uint64_t>& lanes = mine.emplace_back(static_cast<size_t>(size_.threads), 0);
        forEachElement(value, k, rank, AccessKind::Read, [&](size_t lane, std::byte* place, int64_t) {
          readElement(value.tensor->dtype(), &lanes[lane], place);
        });
        requireEqualValues(value, rank, lanes);
      }
    }
    if (static_cast<int64_t>(gathered.of_member.size()) < members) return false;
    size_t row = 0;
    for (const kir::GridReduce::Value& value : grid.values) {
      const ReductionLoops& loops = reductionLoops(value.kind, value.tensor->dtype());
      for (int64_t k = 0; k < value.count; ++k, ++row) {
        forEachElement(value, k, rank, AccessKind::Write, [&](size_t lane, std::byte* place, int64_t size) {
          std::array<uint64_t, 2> accumulator = {};
          loops.start(accumulator.data(), sizeof(uint64_t), 1);
          for (const auto& [number, values] : gathered.of_member)
            loops.add_all(accumulator.data(), sizeof(uint64_t), &values[row][lane], 1);
          uint64_t result = 0;
          loops.finish(&result, accumulator.data(), sizeof(uint64_t), 1);
          std::memcpy(place, &result, static_cast<size_t>(size));
        });
      }
    }
    return true;
  }

  // Requires equal values in threads that differ along other dimensions only, as one of them stores the value.
  void requireEqualValues(const kir::GridReduce::Value& value, int64_t rank, const std::vector<uint64_t>& lanes) {
    std::map<int64_t, uint64_t> given;
    for (int64_t lane = 0; lane < size_.threads; ++lane) {
      int64_t giver = 0;
      int64_t stride = 1;
      for (const LaunchDimension& dimension : kernel_.dimensions) {
        if (!isThreadType(dimension.type)) continue;
        const int64_t extent = evaluateInt(*dimension.extent, bindings_);
        const bool is_spread = std::ranges::find(value.spread, dimension.type) != value.spread.end();
        if (is_spread) giver += lane / stride % extent * stride;
        stride *= extent;
      }
      const uint64_t mine = lanes[static_cast<size_t>(lane)];
      if (given.try_emplace(giver, mine).first->second != mine)
        report(
            fmt::format("{}: threads {} and {} of block {} have different values, of which the combination of blocks "
                        "takes one",
                        nameOf(*value.tensor), giver, lane, blockOf(rank * size_.threads)));
    }
  }

  template <class Use>
  void forEachElement(const kir::GridReduce::Value& value, int64_t offset, int64_t rank, AccessKind kind,
                      const Use& use) {
    const std::span<const int64_t> span = indices(*value.index);
    const std::vector<int64_t> index(span.begin(), span.end());
    for (int64_t thread = 0; thread < size_.threads; ++thread) {
      const int64_t lane = rank * size_.threads + thread;
      std::byte* place = access(*value.tensor, index[static_cast<size_t>(lane)] + offset, lane, kind);
      if (place != nullptr) use(static_cast<size_t>(thread), place, sizeOf(value.tensor->dtype()));
    }
  }

  void run(const Barrier&, const Mask& mask) {
    if (!isReachedByAll(mask, "barrier")) return;
    for (int64_t rank = 0; rank < cluster_; ++rank) {
      if (mask[static_cast<size_t>(rank * size_.threads)] != 0) ++epochs_[static_cast<size_t>(rank)];
    }
  }

  void run(const ClusterBarrier& barrier, const Mask& mask) {
    if (!isReachedByCluster(mask, "barrier of the cluster")) return;
    ++(barrier.half == ClusterBarrier::Half::Arrive ? arrivals_ : waits_);
  }

  // Whether all threads of the block reach the statement, if any does.
  bool isReachedByAll(const Mask& mask, std::string_view what) {
    for (int64_t rank = 0; rank < cluster_; ++rank) {
      const std::span block =
          std::span(mask).subspan(static_cast<size_t>(rank * size_.threads), static_cast<size_t>(size_.threads));
      const auto missing = std::ranges::find(block, uint8_t{0});
      if (missing == block.end() || std::ranges::count(block, uint8_t{1}) == 0) continue;
      report(fmt::format("a {} is not reached by thread {} of block {}", what, missing - block.begin(),
                         blockOf(rank * size_.threads)));
      return false;
    }
    return true;
  }

  bool isReachedByCluster(const Mask& mask, std::string_view what) {
    const auto missing = std::ranges::find(mask, uint8_t{0});
    if (missing == mask.end()) return true;
    const int64_t lane = missing - mask.begin();
    report(fmt::format("a {} is not reached by thread {} of block {}", what, threadOf(lane), blockOf(lane)));
    return false;
  }

  Lanes value(const Value& value, const Mask& mask) {
    const auto lanes = static_cast<size_t>(lanes_);
    Lanes result(lanes, 0);
    std::vector<Lanes> operands;
    std::vector<const void*> in;
    const auto addOperand = [&](const Value& operand, const Mask& where) {
      operands.push_back(this->value(operand, where));
    };
    switch (value.kind) {
      case ValueKind::Variable: return variables_.at(value.variable.get());
      case ValueKind::Load: {
        const std::span<const int64_t> index = indices(*value.scalar, mask);
        const int64_t size = sizeOf(value.dtype);
        auto* to = reinterpret_cast<std::byte*>(result.data());
        for (int64_t lane = 0; lane < lanes_; ++lane) {
          if (mask[static_cast<size_t>(lane)] == 0) continue;
          const std::byte* from = access(*value.tensor, index[static_cast<size_t>(lane)], lane, AccessKind::Read);
          if (from != nullptr) readElement(value.dtype, to + lane * size, from);
        }
        return result;
      }
      case ValueKind::Number: {
        Scalar& scalar = *value.scalar;
        if (isFloatingType(scalar.dtype())) {
          const auto number = evaluate(scalar, bindings_);
          TK_CHECK(number.has_value(), "{} has no value in the kernel", toString(scalar));
          fillWith(*number, value.dtype, result.data(), lanes_);
          return result;
        }
        const std::span<const int64_t> numbers = indices(scalar, mask);
        castLoop(value.dtype, DataType::I64)(result.data(), numbers.data(), lanes_);
        return result;
      }
      case ValueKind::Apply:
        for (const ValueRef& operand : value.operands) addOperand(*operand, mask);
        for (const Lanes& operand : operands) in.push_back(operand.data());
        functionLoop(value.function, value.operands.back()->dtype)(result.data(), in.data(), lanes_);
        return result;
      case ValueKind::Cast:
        addOperand(*value.operands[0], mask);
        castLoop(value.dtype, value.operands[0]->dtype)(result.data(), operands[0].data(), lanes_);
        return result;
      case ValueKind::Choose: {
        const std::span<const int64_t> holds = indices(*value.scalar, mask);
        const std::vector<int64_t> chosen(holds.begin(), holds.end());
        Mask yes = mask;
        Mask no = mask;
        for (size_t lane = 0; lane < lanes; ++lane) (chosen[lane] != 0 ? no : yes)[lane] = 0;
        const Lanes a = this->value(*value.operands[0], yes);
        const Lanes b = this->value(*value.operands[1], no);
        const auto size = static_cast<size_t>(sizeOf(value.dtype));
        for (size_t lane = 0; lane < lanes; ++lane) {
          const auto* from = reinterpret_cast<const std::byte*>((chosen[lane] != 0 ? a : b).data());
          std::memcpy(reinterpret_cast<std::byte*>(result.data()) + lane * size, from + lane * size, size);
        }
        return result;
      }
    }
    TK_CHECK(false, "no such value");
  }

  // The scalar's values for the threads that reach the statement.
  std::span<const int64_t> indices(Scalar& scalar, const Mask& mask) {
    const std::span<const int64_t> values = scalars_.of(scalar);
    for (int64_t lane = 0; options_.index_bits < 64 && lane < lanes_; ++lane) {
      if (mask[static_cast<size_t>(lane)] == 0) continue;
      const Scalar* wide = scalars_.tooWide(scalar, lane);
      if (wide == nullptr || mentionsParameter(scalar)) continue;
      report(fmt::format("{} has more than {} bits, for thread {} of block {}", toString(*wide), options_.index_bits,
                         threadOf(lane), blockOf(lane)));
    }
    return values;
  }
  std::span<const int64_t> indices(Scalar& scalar) { return indices(scalar, Mask(static_cast<size_t>(lanes_), 1)); }
  // Whether the scalar mentions a parameter. (Parameters have their own types.)
  bool mentionsParameter(const Scalar& scalar) const {
    return std::ranges::any_of(std::span(kernel_.symbols.data(), kernel_.parameter_count),
                               [&](const Scalar* parameter) { return mentions(scalar, *parameter); });
  }

  // The element's address, or null if the access is illegal. `rank`: the block whose shared memory it is, if another.
  std::byte* access(const TensorView& tensor, int64_t index, int64_t lane, AccessKind kind,
                    std::optional<int64_t> rank = std::nullopt) {
    const auto found = storage_.find(&tensor);
    if (found == storage_.end()) {
      report(fmt::format("{} is used outside of the body that it is allocated in", nameOf(tensor)));
      return nullptr;
    }
    Storage& storage = found->second;
    const bool is_shared = tensor.memoryType() == MemoryType::Shared;
    const int64_t part = is_shared ? rank.value_or(rankOf(lane)) : 0;
    MemoryShadow& shadow = storage.shadows[static_cast<size_t>(part)];
    const int64_t elements = storage.per_thread > 0 ? storage.per_thread : shadow.size();
    const bool is_outside = index < 0 || index >= elements || shadow.size() == 0;
    if (is_outside) {
      report(fmt::format("{}[{}] is {} outside of its {} elements, by thread {} of block {}", nameOf(tensor), index,
                         kind == AccessKind::Read ? "read" : "written", elements, threadOf(lane), blockOf(lane)));
      return nullptr;
    }
    const int64_t element = index + lane * storage.per_thread;
    const ThreadMoment by = momentOf(lane);
    const auto problem = shadow.note(kind, element, by);
    if (problem) report(fmt::format("{}[{}]: {}", nameOf(tensor), index, *problem));
    return storage.data + (part * shadow.size() + element) * sizeOf(tensor.dtype());
  }

  void report(std::string finding) { findings_.insert(std::move(finding)); }

  const Kernel& kernel_;
  const ScalarBindings& bindings_;
  const InterpreterOptions& options_;
  const kir::LaunchSize size_;
  const int64_t cluster_;  // blocks of a cluster
  const int64_t lanes_;    // threads of a cluster
  LaneScalars scalars_;
  std::map<const TensorView*, Storage> storage_;
  std::map<const TensorView*, std::vector<MemoryShadow>> former_;  // of shared buffers whose body ended
  std::vector<PendingCopies> copies_;                              // of each thread
  std::map<const Variable*, Lanes> variables_;
  std::set<std::string> findings_;
  std::map<std::pair<const kir::GridReduce*, int64_t>, GroupValues> gathered_;
  int64_t cluster_number_ = 0;
  bool is_alone_ = false;        // threads run one after the other
  std::vector<int32_t> epochs_;  // of the blocks of the cluster
  int32_t arrivals_ = 0;
  int32_t waits_ = 0;
};

}  // namespace

std::vector<std::string> interpretKernel(const Kernel& kernel, std::span<const KernelBuffer> buffers,
                                         const ScalarBindings& bindings, const InterpreterOptions& options) {
  TK_CHECK(buffers.size() == kernel.tensors.size(), "{} takes {} buffers, {} are given", kernel.name,
           kernel.tensors.size(), buffers.size());
  const kir::LaunchSize size = kir::launchSize(kernel, bindings);
  if (size.blocks == 0 || size.threads == 0) return {};
  return Interpreter(kernel, buffers, bindings, options, size).run();
}

}  // namespace tokamak
