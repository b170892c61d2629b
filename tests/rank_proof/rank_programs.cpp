#include "rank_proof/rank_programs.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/text.h"
#include "host/ir/text/host_parser.h"

namespace tokamak {

namespace {

using Kind = RankStatement::Kind;

int64_t draw(std::mt19937& random, int64_t from, int64_t to) {
  return std::uniform_int_distribution<int64_t>(from, to)(random);
}

// --- programs without faults ---

class LegalProgram {
 public:
  LegalProgram(std::mt19937& random, const RankProgramShape& shape)
      : random_(random),
        shape_(shape),
        program_(static_cast<size_t>(shape.ranks)),
        waiting_(program_.size()),
        stream_(program_.size(), 0) {}

  RankTexts make() {
    groups_transfers_ = draw(random_, 0, 1) == 1;
    for (int64_t event = 0; event < shape_.events; ++event) {
      switch (draw(random_, 0, 5)) {
        case 0: groups_transfers_ ? ringGroup() : transfer(); break;
        case 1: groups_transfers_ ? ringGroup() : ring(); break;
        case 2: collectiveGroup(); break;
        default: collective(); break;
      }
      for (size_t rank = 0; rank < program_.size(); ++rank) passTime(rank);
    }
    for (size_t rank = 0; rank < program_.size(); ++rank) {
      while (!waiting_[rank].empty()) waitForOne(rank, 0);
      if (stream_[rank] != 0) moveTo(rank, 0);
    }
    return std::move(program_);
  }

 private:
  struct Waiting {
    int64_t first = 0;  // op to be waited for
    int64_t count = 1;  // ops that are over then
  };

  RankText& of(int64_t rank) { return program_[static_cast<size_t>(rank)]; }
  void add(int64_t rank, Kind kind, int64_t op, int64_t stream = 0) {
    of(rank).statements.push_back({.kind = kind, .op = op, .stream = stream});
  }

  int64_t addOp(int64_t rank, const RankOp& op) {
    const auto number = static_cast<int64_t>(of(rank).ops.size());
    of(rank).ops.push_back(op);
    if (elementsOf(op, rank).input > 0) add(rank, Kind::Write, number);
    return number;
  }

  void post(int64_t rank, const RankOp& op) {
    const int64_t number = addOp(rank, op);
    add(rank, Kind::Post, number);
    waiting_[static_cast<size_t>(rank)].push_back({.first = number});
  }

  void postGroup(int64_t rank, const std::vector<RankOp>& ops) {
    std::vector<int64_t> numbers;
    for (const RankOp& op : ops) numbers.push_back(addOp(rank, op));
    add(rank, Kind::StartGroup, numbers[0]);
    for (const int64_t number : numbers) add(rank, Kind::Post, number);
    add(rank, Kind::EndGroup, numbers[0]);
    waiting_[static_cast<size_t>(rank)].push_back({.first = numbers[0], .count = static_cast<int64_t>(numbers.size())});
  }

  RankOp someOp() { return {.count = draw(random_, 1, 3), .is_double = draw(random_, 0, 3) == 0}; }

  std::vector<int64_t> someTeam() {
    std::vector<int64_t> team(program_.size());
    std::iota(team.begin(), team.end(), int64_t{0});
    while (team.size() > 2 && draw(random_, 0, 2) == 0)
      team.erase(team.begin() + draw(random_, 0, static_cast<int64_t>(team.size()) - 1));
    return team;
  }

  RankOp someCollective(const std::vector<int64_t>& team) {
    constexpr CommunicationKind kKinds[] = {CommunicationKind::Allreduce, CommunicationKind::Allgather,
                                            CommunicationKind::Broadcast, CommunicationKind::ReduceScatter,
                                            CommunicationKind::Gather,    CommunicationKind::Scatter,
                                            CommunicationKind::Reduce};
    RankOp op = someOp();
    op.kind = kKinds[draw(random_, 0, static_cast<int64_t>(std::size(kKinds)) - 1)];
    op.team = team;
    const bool has_root = op.kind == CommunicationKind::Broadcast || op.kind == CommunicationKind::Gather ||
                          op.kind == CommunicationKind::Scatter || op.kind == CommunicationKind::Reduce;
    if (has_root) op.root = team[static_cast<size_t>(draw(random_, 0, static_cast<int64_t>(team.size()) - 1))];
    if (isReducing(op.kind) && draw(random_, 0, 2) == 0) op.reduction = ReductionKind::Max;
    return op;
  }

  void collective() {
    const std::vector<int64_t> team = someTeam();
    const RankOp op = someCollective(team);
    for (const int64_t rank : team) post(rank, op);
  }

  void collectiveGroup() {
    const std::vector<int64_t> team = someTeam();
    const std::vector<RankOp> ops = {someCollective(team), someCollective(team)};
    for (const int64_t rank : team) postGroup(rank, ops);
  }

  RankOp transferOp(CommunicationKind kind, int64_t peer, RankOp like) {
    like.kind = kind;
    like.peer = peer;
    return like;
  }

  void transfer() {
    const int64_t from = draw(random_, 0, shape_.ranks - 1);
    const int64_t to = (from + draw(random_, 1, shape_.ranks - 1)) % shape_.ranks;
    const RankOp op = someOp();
    post(from, transferOp(CommunicationKind::Send, to, op));
    post(to, transferOp(CommunicationKind::Recv, from, op));
  }

  void ring() {
    const RankOp op = someOp();
    for (int64_t rank = 0; rank < shape_.ranks; ++rank) {
      post(rank, transferOp(CommunicationKind::Send, (rank + 1) % shape_.ranks, op));
      post(rank, transferOp(CommunicationKind::Recv, (rank + shape_.ranks - 1) % shape_.ranks, op));
    }
  }

  void ringGroup() {
    const RankOp op = someOp();
    for (int64_t rank = 0; rank < shape_.ranks; ++rank)
      postGroup(rank, {transferOp(CommunicationKind::Recv, (rank + shape_.ranks - 1) % shape_.ranks, op),
                       transferOp(CommunicationKind::Send, (rank + 1) % shape_.ranks, op)});
  }

  // Waits come now or later, in any order; other streams take over.
  void passTime(size_t rank) {
    const auto number = static_cast<int64_t>(rank);
    if (draw(random_, 0, 3) == 0) moveTo(rank, stream_[rank] == 0 ? 1 : 0);
    for (const Waiting& waiting : waiting_[rank]) {
      const bool has_input = elementsOf(of(number).ops[static_cast<size_t>(waiting.first)], number).input > 0;
      if (has_input && draw(random_, 0, 5) == 0) add(number, Kind::ReadInput, waiting.first);
    }
    while (!waiting_[rank].empty() && draw(random_, 0, 1) == 0)
      waitForOne(rank, static_cast<size_t>(draw(random_, 0, static_cast<int64_t>(waiting_[rank].size()) - 1)));
  }

  void waitForOne(size_t rank, size_t which) {
    const auto number = static_cast<int64_t>(rank);
    const Waiting waiting = waiting_[rank][which];
    waiting_[rank].erase(waiting_[rank].begin() + static_cast<std::ptrdiff_t>(which));
    add(number, Kind::Wait, waiting.first);
    for (int64_t op = waiting.first; op < waiting.first + waiting.count; ++op) {
      const BufferCounts has = elementsOf(of(number).ops[static_cast<size_t>(op)], number);
      if (has.output > 0) add(number, Kind::Read, op);
      if (has.input > 0 && draw(random_, 0, 2) == 0) add(number, Kind::Write, op);
    }
  }

  void moveTo(size_t rank, int64_t stream) {
    const auto number = static_cast<int64_t>(rank);
    add(number, Kind::SetStream, -1, stream);
    add(number, Kind::Synchronize, -1, stream_[rank]);
    stream_[rank] = stream;
  }

  std::mt19937& random_;
  const RankProgramShape shape_;
  RankTexts program_;
  std::vector<std::vector<Waiting>> waiting_;  // per rank
  std::vector<int64_t> stream_;                // per rank
  bool groups_transfers_ = false;
};

// --- mutants ---

struct Site {
  size_t rank = 0;
  size_t first = 0;   // a statement, or an op
  size_t second = 0;  // another statement
};

bool isTransfer(const RankOp& op) { return isPointToPoint(op.kind); }

const RankOp& opOf(const RankText& text, size_t statement) {
  return text.ops[static_cast<size_t>(text.statements[statement].op)];
}

template <class Predicate>
std::vector<Site> statementsWhere(const RankTexts& program, const Predicate& predicate) {
  std::vector<Site> sites;
  for (size_t rank = 0; rank < program.size(); ++rank)
    for (size_t i = 0; i < program[rank].statements.size(); ++i)
      if (predicate(program[rank], i)) sites.push_back({.rank = rank, .first = i});
  return sites;
}

template <class Predicate>
std::vector<Site> opsWhere(const RankTexts& program, const Predicate& predicate) {
  std::vector<Site> sites;
  for (size_t rank = 0; rank < program.size(); ++rank)
    for (size_t i = 0; i < program[rank].ops.size(); ++i)
      if (predicate(program[rank].ops[i])) sites.push_back({.rank = rank, .first = i});
  return sites;
}

// Two posts of one rank, with no other one between, both collectives or both transfers.
std::vector<Site> neighbours(const RankTexts& program, bool are_transfers) {
  std::vector<Site> sites;
  for (size_t rank = 0; rank < program.size(); ++rank) {
    const RankText& text = program[rank];
    size_t last = text.statements.size();
    for (size_t i = 0; i < text.statements.size(); ++i) {
      if (text.statements[i].kind != Kind::Post) continue;
      const bool fits =
          last < i && isTransfer(opOf(text, last)) == are_transfers && isTransfer(opOf(text, i)) == are_transfers;
      if (fits) sites.push_back({.rank = rank, .first = last, .second = i});
      last = i;
    }
  }
  return sites;
}

class Mutants {
 public:
  Mutants(const RankTexts& program, std::mt19937& random) : program_(program), random_(random) {}

  std::vector<RankMutant> make() {
    const auto isKind = [](Kind kind) {
      return [kind](const RankText& text, size_t i) { return text.statements[i].kind == kind; };
    };
    const auto erase = [](RankText& text, const Site& site) {
      text.statements.erase(text.statements.begin() + static_cast<std::ptrdiff_t>(site.first));
    };
    const auto isCollective = [](const RankOp& op) { return !isTransfer(op); };
    const auto isAny = [](const RankOp&) { return true; };
    add("removed wait", statementsWhere(program_, isKind(Kind::Wait)), erase);
    add("removed synchronisation", statementsWhere(program_, isKind(Kind::Synchronize)), erase);
    add("exchanged collectives", neighbours(program_, false), exchange);
    add("exchanged transfers", neighbours(program_, true), exchange);
    add("wrong root", opsWhere(program_, [](const RankOp& op) { return op.root >= 0; }),
        [](RankText& text, const Site& site) {
          RankOp& op = text.ops[site.first];
          const auto own = std::ranges::find(op.team, op.root) - op.team.begin();
          op.root = op.team[static_cast<size_t>(own + 1) % op.team.size()];
        });
    add("wrong size", opsWhere(program_, isAny),
        [](RankText& text, const Site& site) { ++text.ops[site.first].count; });
    add("wrong dtype", opsWhere(program_, isAny),
        [](RankText& text, const Site& site) { text.ops[site.first].is_double = !text.ops[site.first].is_double; });
    add("wrong reduction", opsWhere(program_, [](const RankOp& op) { return isReducing(op.kind); }),
        [](RankText& text, const Site& site) {
          ReductionKind& kind = text.ops[site.first].reduction;
          kind = kind == ReductionKind::Sum ? ReductionKind::Max : ReductionKind::Sum;
        });
    add("missing transfer", opsWhere(program_, isTransfer), forget);
    add("missing collective", opsWhere(program_, isCollective), forget);
    add("later post", statementsWhere(program_, isKind(Kind::Post)), postLater);
    return std::move(mutants_);
  }

 private:
  template <class Change>
  void add(std::string_view kind, const std::vector<Site>& sites, const Change& change) {
    if (sites.empty()) return;
    const Site site = sites[static_cast<size_t>(draw(random_, 0, static_cast<int64_t>(sites.size()) - 1))];
    RankMutant mutant = {.kind = kind, .program = program_};
    change(mutant.program[site.rank], site);
    mutants_.push_back(std::move(mutant));
  }

  static void exchange(RankText& text, const Site& site) {
    std::swap(text.statements[site.first].op, text.statements[site.second].op);
  }

  // All that the rank does with the op; of groups, with all of them.
  static void forget(RankText& text, const Site& site) {
    const std::vector<int64_t> groups = groupsOf(text);
    const auto op = static_cast<int64_t>(site.first);
    const int64_t group = groups[site.first];
    std::erase_if(text.statements, [&](const RankStatement& statement) {
      if (statement.op < 0) return false;
      return statement.op == op || (group >= 0 && groups[static_cast<size_t>(statement.op)] == group);
    });
  }

  // Behind the next statement that is a Wait of another op, with what the rank does to wait for it.
  static void postLater(RankText& text, const Site& site) {
    const std::vector<int64_t> groups = groupsOf(text);
    const int64_t op = text.statements[site.first].op;
    if (groups[static_cast<size_t>(op)] >= 0) return;
    std::vector<RankStatement> own;
    std::vector<RankStatement> others;
    for (size_t i = 0; i < text.statements.size(); ++i) {
      const bool is_own = i >= site.first && text.statements[i].op == op;
      (is_own ? own : others).push_back(text.statements[i]);
    }
    size_t place = site.first;
    while (place < others.size() && others[place].kind != Kind::Wait) ++place;
    if (place == others.size()) return;
    text.statements = others;
    text.statements.insert(text.statements.begin() + static_cast<std::ptrdiff_t>(place) + 1, own.begin(), own.end());
  }

  const RankTexts& program_;
  std::mt19937& random_;
  std::vector<RankMutant> mutants_;
};

// --- texts ---

// Tensors: op k reads T4k and writes T4k+1; T4k is computed of the input T4k+2. Behind all of them is what is read.
class RankTextWriter {
 public:
  RankTextWriter(const RankText& text, int64_t rank)
      : text_(text), rank_(rank), groups_(groupsOf(text)), next_sink_(4 * static_cast<int64_t>(text.ops.size())) {}

  std::string write() {
    std::vector<std::string> inputs;
    for (size_t i = 0; i < text_.ops.size(); ++i) {
      const auto op = static_cast<int64_t>(i);
      if (elements(op).input > 0) {
        inputs.push_back(sourceOf(op));
        allocate(inputOf(op), elements(op).input);
      }
      if (elements(op).output > 0) allocate(outputOf(op), elements(op).output);
    }
    for (const RankStatement& statement : text_.statements) add(statement);
    return fmt::format("%HostIrContainer {{ ({}) -> () :\n  GetCurrentStream into Stream 0\n{}}} // %HostIrContainer\n",
                       joined(inputs), body_);
  }

 private:
  const RankOp& opAt(int64_t op) const { return text_.ops[static_cast<size_t>(op)]; }
  BufferCounts elements(int64_t op) const { return elementsOf(opAt(op), rank_); }
  std::string inputOf(int64_t op) { return tensor(4 * op, elements(op).input, opAt(op)); }
  std::string outputOf(int64_t op) { return tensor(4 * op + 1, elements(op).output, opAt(op)); }
  std::string sourceOf(int64_t op) { return tensor(4 * op + 2, elements(op).input, opAt(op)); }

  std::string tensor(int64_t number, int64_t size, const RankOp& op, std::string_view axis = "i") {
    std::string& known = tensors_[number];
    if (known.empty())
      known = fmt::format("T{}_g_{}[{}S{}{{{}}}]", number, op.is_double ? "double" : "float", axis, next_axis_++, size);
    return known;
  }

  void allocate(const std::string& what, int64_t size) {
    body_ += fmt::format(
        "  {} = ALLOCATE(buffer={}, mem_type=global, size={}, zero_init=false, "
        "resets_to_zero=false)\n",
        what, what, size);
  }

  void read(const std::string& what, int64_t size, const RankOp& op) {
    const std::string sink = tensor(next_sink_++, size, op, "r");
    allocate(sink, 1);
    body_ += fmt::format("  {}\n     = reduction( {}, op = add, initial value = {}(0), allreduce = false )\n", sink,
                         what, op.is_double ? "double" : "float");
  }

  void add(const RankStatement& statement) {
    const int64_t op = statement.op;
    const std::string stream = statement.stream == 0 ? "0" : fmt::format("( {} )", statement.stream);
    switch (statement.kind) {
      case Kind::Write: body_ += fmt::format("  {}\n     = -{};\n", inputOf(op), sourceOf(op)); break;
      case Kind::Read: read(outputOf(op), elements(op).output, opAt(op)); break;
      case Kind::ReadInput: read(inputOf(op), elements(op).input, opAt(op)); break;
      case Kind::Wait: {
        const int64_t group = groups_[static_cast<size_t>(op)];
        body_ += fmt::format("  Wait Communication {}\n", group >= 0 ? kFirstGroup + group : op);
        break;
      }
      case Kind::StartGroup: body_ += "  StartCoalescing\n"; break;
      case Kind::EndGroup: body_ += fmt::format("  EndCoalescing {}\n", kFirstGroup + op); break;
      case Kind::SetStream: body_ += fmt::format("  SetCurrentStream to Stream {}\n", stream); break;
      case Kind::Synchronize: body_ += fmt::format("  Synchronize Stream {}\n", stream); break;
      case Kind::Post: post(op); break;
    }
  }

  void post(int64_t number) {
    const RankOp& op = opAt(number);
    if (isTransfer(op)) {
      const bool sends = op.kind == CommunicationKind::Send;
      body_ += fmt::format("  P2PCommunication {} (type={}, buffer={}, peer={}, backend=Local)\n", number,
                           sends ? "send" : "recv", sends ? inputOf(number) : outputOf(number), op.peer);
      return;
    }
    std::string details = op.root < 0 ? "" : fmt::format("root={}, ", op.root);
    if (op.reduction != ReductionKind::Sum) details += "reduction=max, ";
    body_ += fmt::format("  Communication {} (type={}, team=({}), {}input={}, output={}, backend=Local)\n", number,
                         enumName(op.kind), joined(op.team, " "), details,
                         elements(number).input > 0 ? inputOf(number) : "none",
                         elements(number).output > 0 ? outputOf(number) : "none");
  }

  static constexpr int64_t kFirstGroup = 1000;
  const RankText& text_;
  const int64_t rank_;
  const std::vector<int64_t> groups_;
  std::map<int64_t, std::string> tensors_;
  std::string body_;
  int64_t next_axis_ = 0;
  int64_t next_sink_;
};

}  // namespace

RankTexts legalProgram(std::mt19937& random, const RankProgramShape& shape) {
  return LegalProgram(random, shape).make();
}

std::vector<RankMutant> mutantsOf(const RankTexts& program, std::mt19937& random) {
  return Mutants(program, random).make();
}

BufferCounts elementsOf(const RankOp& op, int64_t rank) {
  if (op.kind == CommunicationKind::Send) return {.input = op.count, .output = 0};
  if (op.kind == CommunicationKind::Recv) return {.input = 0, .output = op.count};
  CommunicationRequest request = {.kind = op.kind, .counts = {op.count}, .root = op.root};
  const bool is_dealt = op.kind == CommunicationKind::Allgather || op.kind == CommunicationKind::Gather ||
                        op.kind == CommunicationKind::Scatter || op.kind == CommunicationKind::ReduceScatter;
  if (is_dealt) request.counts.assign(op.team.size(), op.count);
  return bufferCounts(request, op.team, rank);
}

std::vector<int64_t> groupsOf(const RankText& text) {
  std::vector<int64_t> groups(text.ops.size(), -1);
  int64_t group = -1;
  for (const RankStatement& statement : text.statements) {
    if (statement.kind == Kind::StartGroup) group = statement.op;
    if (statement.kind == Kind::EndGroup) group = -1;
    if (statement.kind == Kind::Post && group >= 0) groups[static_cast<size_t>(statement.op)] = group;
  }
  return groups;
}

std::string textOf(const RankText& text, int64_t rank) { return RankTextWriter(text, rank).write(); }

std::vector<std::unique_ptr<HostIrContainer>> hostProgramsOf(const RankTexts& program) {
  std::vector<std::unique_ptr<HostIrContainer>> programs;
  for (size_t rank = 0; rank < program.size(); ++rank) {
    const std::string text = textOf(program[rank], static_cast<int64_t>(rank));
    programs.push_back(parseHostProgram(text, fmt::format("rank {}", rank)));
  }
  return programs;
}

}  // namespace tokamak
