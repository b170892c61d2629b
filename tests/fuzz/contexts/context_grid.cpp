// The checked longjmp of fortified builds takes a switch to another stack for an error.
#undef _FORTIFY_SOURCE
#include "contexts/context_grid.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/require.h"
#include "base/text.h"

namespace tokamak::contexts {

namespace {

constexpr uint32_t kWarp = 32;
constexpr size_t kStackBytes = size_t{128} << 10;
constexpr int64_t kStaticSharedBytes = 48 << 10;
constexpr int64_t kSharedBytes = 227 << 10;
constexpr int64_t kSharedAlignment = 16;
constexpr int64_t kMostAccesses = 200'000'000;  // of a run that ends

enum class Place : uint8_t { Runs, Barrier, Shuffle, ClusterWait, Ended };

struct AsyncCopy {
  void* to;
  const void* from;
  int bytes;
};

struct Context {
  ucontext_t state = {};  // where it begins
  jmp_buf left = {};      // where it goes on
  Index3 thread;
  Progress progress;
  Place place = Place::Runs;
  int line = 0;
  uint32_t lane = 0;
  uint32_t mask = 0;  // of a shuffle
  uint32_t from = 0;  // the lane whose value it takes
  uint64_t value = 0;
  uint64_t taken = 0;
  bool has_begun = false;
  bool depends = false;                        // has waited for what the stream did before
  std::vector<AsyncCopy> open;                 // of no group yet
  std::vector<std::vector<AsyncCopy>> groups;  // under way
};

struct Block {
  Index3 index;
  std::vector<Context> contexts;
  std::vector<std::byte> shared;
  std::map<int, int64_t> sites;  // of declarations: where their memory begins
  int64_t used = 0;
  uint32_t remote_arrivals = 0;  // of the latest context of another block that has written here
  bool is_written_remotely = false;
};

// Memory for the stacks of a cluster, kept for the next one.
class Stacks {
 public:
  Stacks() = default;
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks() {
    if (memory_ != nullptr) munmap(memory_, count_ * kStackBytes);
  }
  char* of(size_t number, size_t count) {
    if (count > count_) {
      if (memory_ != nullptr) munmap(memory_, count_ * kStackBytes);
      void* memory = mmap(nullptr, count * kStackBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      TK_CHECK(memory != MAP_FAILED, "no memory for the stacks of {} contexts", count);
      memory_ = static_cast<char*>(memory);
      count_ = count;
    }
    return memory_ + number * kStackBytes;
  }

 private:
  char* memory_ = nullptr;
  size_t count_ = 0;
};

class Grid {
 public:
  Grid(const ContextKernel& kernel, const GridShape& shape, const GridOrder& order, MemoryWatch& watch,
       void* const* arguments)
      : kernel_(kernel), shape_(shape), order_(order), watch_(watch), arguments_(arguments), random_(order.seed) {
    threads_ = static_cast<size_t>(shape.threads[0] * shape.threads[1] * shape.threads[2]);
  }

  std::optional<std::string> run() {
    current = this;
    *kernel_.machine = &machine_;
    const int64_t blocks = shape_.blocks[0] * shape_.blocks[1] * shape_.blocks[2];
    std::vector<int64_t> clusters(static_cast<size_t>(blocks / shape_.cluster));
    std::iota(clusters.begin(), clusters.end(), 0);
    if (order_.seed != 0) std::ranges::shuffle(clusters, random_);
    for (const int64_t cluster : clusters) {
      makeCluster(cluster);
      runCluster();
      if (problem_) return problem_;
    }
    return std::nullopt;
  }

 private:
  void makeCluster(int64_t cluster) {
    watch_.forgetShared();
    blocks_ = std::vector<Block>(static_cast<size_t>(shape_.cluster));
    order_of_contexts_.clear();
    const size_t count = threads_ * blocks_.size();
    for (size_t b = 0; b < blocks_.size(); ++b) {
      Block& block = blocks_[b];
      const auto linear = static_cast<uint32_t>(cluster * shape_.cluster + static_cast<int64_t>(b));
      const auto nx = static_cast<uint32_t>(shape_.blocks[0]);
      const auto ny = static_cast<uint32_t>(shape_.blocks[1]);
      block.index = {linear % nx, linear / nx % ny, linear / nx / ny};
      block.shared.assign(static_cast<size_t>(kStaticSharedBytes + shape_.shared_bytes + kSharedAlignment),
                          std::byte{0xA5});
      if (shape_.shared_bytes > 0) addShared(b, launched(block), shape_.shared_bytes, "the launch's shared memory");
      block.contexts = std::vector<Context>(threads_);
      for (uint32_t t = 0; t < threads_; ++t) {
        Context& context = block.contexts[t];
        const auto tx = static_cast<uint32_t>(shape_.threads[0]);
        const auto ty = static_cast<uint32_t>(shape_.threads[1]);
        context.thread = {t % tx, t / tx % ty, t / tx / ty};
        context.lane = t % kWarp;
        context.progress.block = linear;
        context.progress.thread = t;
        context.progress.cluster = static_cast<uint32_t>(cluster);
        order_of_contexts_.emplace_back(b, t);
        getcontext(&context.state);
        context.state.uc_stack.ss_sp = stacks().of(b * threads_ + t, count);
        context.state.uc_stack.ss_size = kStackBytes;
        context.state.uc_link = nullptr;
        makecontext(&context.state, &Grid::begin, 0);
      }
    }
  }

  static Stacks& stacks() {
    static Stacks stacks;
    return stacks;
  }
  static std::byte* launched(Block& block) {
    const auto address = reinterpret_cast<uintptr_t>(block.shared.data());
    const uintptr_t aligned = (address + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
    return block.shared.data() + (aligned - address);
  }
  void addShared(size_t block, std::byte* begin, int64_t bytes, std::string name) {
    watch_.add({begin, bytes, false, true, fmt::format("{} of block {} of the cluster", name, block)});
  }

  void runCluster() {
    while (!problem_) {
      if (order_.seed != 0) std::ranges::shuffle(order_of_contexts_, random_);
      bool runs = false;
      for (const auto& [b, t] : order_of_contexts_) {
        Context& context = blocks_[b].contexts[t];
        if (context.place != Place::Runs) continue;
        runs = true;
        enter(b, context);
        if (problem_) return;
      }
      const bool are_released = releaseAll();
      if (problem_) return;
      if (runs || are_released) continue;
      const bool is_done = std::ranges::all_of(blocks_, [](const Block& block) {
        return std::ranges::all_of(block.contexts, [](const Context& each) { return each.place == Place::Ended; });
      });
      if (!is_done) problem_ = "deadlock: " + whereAllStand();
      if (is_done) checkRemoteWrites();
      return;
    }
  }

  void enter(size_t block, Context& context) {
    block_ = block;
    context_ = &context;
    machine_.thread = context.thread;
    machine_.block = blocks_[block].index;
    // Jumps keep the mask of signals, for which `swapcontext` asks the system at every turn.
    if (_setjmp(scheduler_) != 0) return;
    if (context.has_begun) _longjmp(context.left, 1);
    context.has_begun = true;
    setcontext(&context.state);
  }
  static void begin() {
    Grid& grid = *current;
    grid.kernel_.call(grid.arguments_);
    grid.context_->place = Place::Ended;
    grid.leave();
  }
  void leave() {
    if (_setjmp(context_->left) == 0) _longjmp(scheduler_, 1);
  }
  void stand(Place place, int line) {
    context_->place = place;
    context_->line = line;
    leave();
  }
  // Does not come back.
  void fail(std::string problem) {
    problem_ = std::move(problem);
    leave();
  }

  // --- meeting ---

  bool releaseAll() {
    bool are_released = false;
    for (size_t b = 0; b < blocks_.size() && !problem_; ++b) {
      are_released |= releaseBarrier(blocks_[b]);
      for (size_t first = 0; first < threads_ && !problem_; first += kWarp)
        are_released |= releaseShuffles(blocks_[b], first);
    }
    return !problem_ && (releaseClusterWaits() || are_released);
  }

  bool releaseBarrier(Block& block) {
    size_t waiting = 0;
    size_t ended = 0;
    const Context* first = nullptr;
    for (const Context& each : block.contexts) {
      ended += each.place == Place::Ended ? 1 : 0;
      if (each.place != Place::Barrier) continue;
      ++waiting;
      if (first == nullptr) first = &each;
      if (each.line != first->line)
        problem_ =
            fmt::format("divergent barrier: thread {} of a block is at {}, thread {} at {}", first->progress.thread,
                        kernel_.line(first->line), each.progress.thread, kernel_.line(each.line));
    }
    if (waiting > 0 && ended > 0)
      problem_ = fmt::format("divergent barrier: {} threads of a block have ended, {} wait at {}", ended, waiting,
                             kernel_.line(first->line));
    if (problem_ || waiting < block.contexts.size()) return false;
    for (Context& each : block.contexts) {
      each.place = Place::Runs;
      ++each.progress.barriers;
    }
    return true;
  }

  // Threads of a warp whose masks name one another, at one place.
  bool releaseShuffles(Block& block, size_t first) {
    const size_t end = std::min(first + kWarp, block.contexts.size());
    bool are_released = false;
    for (size_t t = first; t < end; ++t) {
      const Context& each = block.contexts[t];
      if (each.place != Place::Shuffle) continue;
      bool is_complete = true;
      for (uint32_t lane = 0; lane < kWarp; ++lane) {
        if ((each.mask >> lane & 1U) == 0) continue;
        if (first + lane >= end) {
          problem_ = fmt::format("shuffle at {}: mask {:08x} names lane {}, which the block does not have",
                                 kernel_.line(each.line), each.mask, lane);
          return false;
        }
        const Context& other = block.contexts[first + lane];
        if (other.place == Place::Ended ||
            (other.place == Place::Shuffle && (other.mask != each.mask || other.line != each.line))) {
          problem_ =
              fmt::format("shuffle whose masks do not match: lane {} at {} with mask {:08x} names lane {}, which {}",
                          each.lane, kernel_.line(each.line), each.mask, lane, describe(other));
          return false;
        }
        is_complete &= other.place == Place::Shuffle;
      }
      if (!is_complete) continue;
      exchange(block, first, each.mask);
      are_released = true;
    }
    return are_released;
  }

  static void exchange(Block& block, size_t first, uint32_t mask) {
    for (uint32_t lane = 0; lane < kWarp; ++lane) {
      if ((mask >> lane & 1U) == 0) continue;
      Context& to = block.contexts[first + lane];
      to.taken = block.contexts[first + to.from].value;
      to.place = Place::Runs;
    }
  }

  bool releaseClusterWaits() {
    uint32_t arrivals = ~0U;
    for (const Block& block : blocks_) {
      for (const Context& each : block.contexts) arrivals = std::min(arrivals, each.progress.arrivals);
    }
    bool are_released = false;
    for (Block& block : blocks_) {
      for (Context& each : block.contexts) {
        if (each.place != Place::ClusterWait || each.progress.waits >= arrivals) continue;
        ++each.progress.waits;
        each.place = Place::Runs;
        are_released = true;
      }
    }
    return are_released;
  }

  // A block's memory may be gone with it: what others write there is ordered before it ends.
  void checkRemoteWrites() {
    for (const Block& block : blocks_) {
      for (const Context& each : block.contexts) {
        if (block.is_written_remotely && each.progress.waits <= block.remote_arrivals) {
          problem_ = "another block of the cluster writes into a block's shared memory, which may have ended";
          return;
        }
      }
    }
  }

  std::string describe(const Context& context) const {
    switch (context.place) {
      case Place::Runs: return "runs";
      case Place::Ended: return "has ended";
      case Place::Barrier: return "waits at the barrier " + kernel_.line(context.line);
      case Place::Shuffle: return fmt::format("waits with mask {:08x} at {}", context.mask, kernel_.line(context.line));
      case Place::ClusterWait: return "waits for the cluster at " + kernel_.line(context.line);
    }
    return "";
  }

  std::string whereAllStand() const {
    std::map<std::string, std::pair<std::string, size_t>> groups;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      for (const Context& each : blocks_[b].contexts) {
        auto& group = groups[describe(each)];
        if (group.second++ == 0) group.first = fmt::format("thread {} of block {}", each.progress.thread, b);
      }
    }
    std::vector<std::string> lines;
    for (const auto& [what, who] : groups)
      lines.push_back(fmt::format("{} and {} more: {}", who.first, who.second - 1, what));
    return joined(lines, "; ");
  }

  // --- what the text calls ---

  static void access(const void* place, unsigned long bytes, bool is_write) {
    Grid& grid = *current;
    const auto* at = static_cast<const char*>(place);
    const auto* stack = static_cast<const char*>(grid.context_->state.uc_stack.ss_sp);
    if (at >= stack && at < stack + kStackBytes) return;
    if (at >= grid.kernel_.image && at < grid.kernel_.image_end) return;
    if (at >= reinterpret_cast<const char*>(&grid.machine_) && at < reinterpret_cast<const char*>(&grid.machine_ + 1))
      return;
    if (++grid.accesses_ > kMostAccesses) grid.fail("the kernel does not end: " + grid.whereAllStand());
    if (!grid.context_->depends) grid.fail("memory is accessed before what the stream did before is over");
    if (auto problem = grid.watch_.access(place, static_cast<int64_t>(bytes), is_write, grid.context_->progress))
      grid.fail(std::move(*problem));
  }

  static void barrier(int line) { current->stand(Place::Barrier, line); }

  static unsigned long long shuffle(unsigned mask, unsigned long long bits, int lanes, int line) {
    Grid& grid = *current;
    Context& context = *grid.context_;
    context.mask = mask;
    context.value = bits;
    context.from = context.lane ^ static_cast<uint32_t>(lanes);
    if (context.from >= kWarp) context.from = context.lane;
    if ((mask >> context.lane & 1U) == 0 || (mask >> context.from & 1U) == 0)
      grid.fail(fmt::format("shuffle at {}: lane {} takes lane {}'s value with mask {:08x}, which lacks one of them",
                            grid.kernel_.line(line), context.lane, context.from, mask));
    grid.stand(Place::Shuffle, line);
    return grid.context_->taken;
  }

  static void arrive(int line) {
    Progress& progress = current->context_->progress;
    if (progress.arrivals != progress.waits)
      current->fail(fmt::format("{} arrives twice at the cluster's barrier, at {}", toString(progress),
                                current->kernel_.line(line)));
    ++progress.arrivals;
  }
  static void wait(int line) {
    const Progress& progress = current->context_->progress;
    if (progress.arrivals == progress.waits)
      current->fail(fmt::format("{} waits for a cluster at which it has not arrived, at {}", toString(progress),
                                current->kernel_.line(line)));
    current->stand(Place::ClusterWait, line);
  }

  static void copy(void* to, const void* from, int bytes) {
    Grid& grid = *current;
    access(from, static_cast<unsigned long>(bytes), false);
    if (auto problem = grid.watch_.launch(to, bytes, grid.context_->progress)) grid.fail(std::move(*problem));
    if (grid.order_.copies == GridOrder::Copies::Early) std::memcpy(to, from, static_cast<size_t>(bytes));
    grid.context_->open.push_back({to, from, bytes});
  }
  static void commit() {
    Context& context = *current->context_;
    context.groups.push_back(std::move(context.open));
    context.open.clear();
  }
  static void waitGroup(int pending) {
    Grid& grid = *current;
    std::vector<std::vector<AsyncCopy>>& groups = grid.context_->groups;
    while (groups.size() > static_cast<size_t>(pending)) {
      for (const AsyncCopy& each : groups.front()) {
        std::memcpy(each.to, each.from, static_cast<size_t>(each.bytes));
        if (auto problem = grid.watch_.land(each.to, each.bytes, grid.context_->progress))
          grid.fail(std::move(*problem));
      }
      groups.erase(groups.begin());
    }
  }

  static void* shared(int site, unsigned long bytes) {
    Grid& grid = *current;
    Block& block = grid.blocks_[grid.block_];
    const auto [found, is_new] = block.sites.try_emplace(site, block.used);
    std::byte* const begin = launched(block) + grid.shape_.shared_bytes + found->second;
    if (!is_new) return begin;
    const auto size = static_cast<int64_t>(bytes);
    block.used += (size + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
    if (block.used > kStaticSharedBytes || block.used + grid.shape_.shared_bytes > kSharedBytes)
      grid.fail(fmt::format("a block has {} bytes of shared memory, and {} of the launch", block.used,
                            grid.shape_.shared_bytes));
    grid.addShared(grid.block_, begin, size, fmt::format("declaration {}", site));
    return begin;
  }
  static void* launchedMemory() { return launched(current->blocks_[current->block_]); }

  static void* remote(void* place, unsigned number) {
    Grid& grid = *current;
    if (number >= grid.blocks_.size()) grid.fail(fmt::format("the cluster has no block {}", number));
    Block& own = grid.blocks_[grid.block_];
    Block& block = grid.blocks_[number];
    const int64_t offset = static_cast<std::byte*>(place) - launched(own);
    // The other block's declarations are at the same places; it may not have come there.
    for (const auto& [site, begin] : own.sites) {
      if (!block.sites.contains(site)) {
        const auto next = std::ranges::find_if(own.sites, [&](const auto& each) { return each.second > begin; });
        const int64_t end = next == own.sites.end() ? own.used : next->second;
        block.sites[site] = begin;
        block.used = std::max(block.used, end);
        grid.addShared(number, launched(block) + grid.shape_.shared_bytes + begin, end - begin,
                       fmt::format("declaration {}", site));
      }
    }
    if (number != grid.block_) {
      const Progress& now = grid.context_->progress;
      if (now.waits == 0) grid.fail(toString(now) + " writes into another block, which may not have begun");
      block.is_written_remotely = true;
      block.remote_arrivals = std::max(block.remote_arrivals, now.arrivals);
    }
    return launched(block) + offset;
  }

  static unsigned add(unsigned* place, unsigned value) {
    Grid& grid = *current;
    if (!grid.context_->depends) grid.fail("memory is accessed before what the stream did before is over");
    if (!grid.watch_.contains(place)) grid.fail("an atomic operation outside of every buffer");
    std::vector<uint32_t> fences;
    for (const Context& each : grid.blocks_[grid.block_].contexts) fences.push_back(each.progress.fences);
    grid.watch_.synchronize(place, grid.context_->progress, std::move(fences));
    return std::exchange(*place, *place + value);
  }
  static void fence() { ++current->context_->progress.fences; }
  static void depend() { current->context_->depends = true; }

  static Grid* current;

  const ContextKernel& kernel_;
  const GridShape& shape_;
  const GridOrder& order_;
  MemoryWatch& watch_;
  void* const* arguments_;
  std::mt19937_64 random_;
  size_t threads_ = 1;
  int64_t accesses_ = 0;
  std::vector<Block> blocks_;  // of the cluster that runs
  std::vector<std::pair<size_t, size_t>> order_of_contexts_;
  size_t block_ = 0;
  Context* context_ = nullptr;
  jmp_buf scheduler_ = {};
  std::optional<std::string> problem_;
  ContextMachine machine_ = {{},     {},        access, barrier,        shuffle, arrive, wait,  copy,
                             commit, waitGroup, shared, launchedMemory, remote,  add,    fence, depend};
};

Grid* Grid::current = nullptr;

}  // namespace

std::optional<std::string> runGrid(const ContextKernel& kernel, const GridShape& shape, const GridOrder& order,
                                   MemoryWatch& watch, void* const* arguments) {
  // On the heap: gcc 13 takes `current` for a pointer to what has left the stack.
  return std::make_unique<Grid>(kernel, shape, order, watch, arguments)->run();
}

}  // namespace tokamak::contexts
