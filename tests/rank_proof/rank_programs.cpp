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

// Tensors: op k reads T4k and writes T4k+1; T4k+2 is an input of the program that T4k is computed of, and T4k+3 is what
// a reading gives.
std::string textOf(const RankText& text, int64_t rank) {
  const std::vector<int64_t> groups = groupsOf(text);
  std::vector<std::string> inputs;
  std::string body;
  int64_t axis = 0;
  std::map<int64_t, std::string> tensors;
  const auto tensor = [&](int64_t number, int64_t elements, bool is_double, bool is_reduced = false) {
    std::string& known = tensors[number];
    if (known.empty())
      known = fmt::format("T{}_g_{}[{}S{}{{{}}}]", number, is_double ? "double" : "float", is_reduced ? "r" : "i",
                          axis++, elements);
    return known;
  };
  const auto allocate = [&](const std::string& what, int64_t elements) {
    body += fmt::format("  {} = ALLOCATE(buffer={}, mem_type=global, size={}, zero_init=false, resets_to_zero=false)\n",
                        what, what, elements);
  };
  const auto elements = [&](int64_t op) { return elementsOf(text.ops[static_cast<size_t>(op)], rank); };
  const auto inputOf = [&](int64_t op) {
    return tensor(4 * op, elements(op).input, text.ops[static_cast<size_t>(op)].is_double);
  };
  const auto outputOf = [&](int64_t op) {
    return tensor(4 * op + 1, elements(op).output, text.ops[static_cast<size_t>(op)].is_double);
  };
  for (size_t i = 0; i < text.ops.size(); ++i) {
    const auto op = static_cast<int64_t>(i);
    if (elements(op).input > 0) {
      inputs.push_back(tensor(4 * op + 2, elements(op).input, text.ops[i].is_double));
      allocate(inputOf(op), elements(op).input);
    }
    if (elements(op).output > 0) allocate(outputOf(op), elements(op).output);
  }
  const auto streamText = [](int64_t stream) { return stream == 0 ? std::string("0") : fmt::format("( {} )", stream); };
  std::string named;
  std::map<int64_t, int64_t> sinks;
  int64_t next_sink = 4 * static_cast<int64_t>(text.ops.size());
  named = "  GetCurrentStream into Stream 0\n";
  body = named + body;
  const auto read = [&](const std::string& what, int64_t count, bool is_double) {
    const std::string sink = tensor(next_sink++, count, is_double, true);
    allocate(sink, 1);
    body += fmt::format("  {}\n     = reduction( {}, op = add, initial value = {}(0), allreduce = false )\n", sink,
                        what, is_double ? "double" : "float");
  };
  for (const RankStatement& statement : text.statements) {
    const int64_t op = statement.op;
    switch (statement.kind) {
      case Kind::Write:
        body += fmt::format("  {}\n     = -{};\n", inputOf(op),
                            tensor(4 * op + 2, elements(op).input, text.ops[static_cast<size_t>(op)].is_double));
        break;
      case Kind::Read: read(outputOf(op), elements(op).output, text.ops[static_cast<size_t>(op)].is_double); break;
      case Kind::ReadInput: read(inputOf(op), elements(op).input, text.ops[static_cast<size_t>(op)].is_double); break;
      case Kind::Wait: {
        const int64_t group = groups[static_cast<size_t>(op)];
        body += fmt::format("  Wait Communication {}\n", group >= 0 ? 1000 + group : op);
        break;
      }
      case Kind::StartGroup: body += "  StartCoalescing\n"; break;
      case Kind::EndGroup: body += fmt::format("  EndCoalescing {}\n", 1000 + op); break;
      case Kind::SetStream:
        body += fmt::format("  SetCurrentStream to Stream {}\n", streamText(statement.stream));
        break;
      case Kind::Synchronize: body += fmt::format("  Synchronize Stream {}\n", streamText(statement.stream)); break;
      case Kind::Post: {
        const RankOp& posted = text.ops[static_cast<size_t>(op)];
        if (isTransfer(posted)) {
          const bool sends = posted.kind == CommunicationKind::Send;
          body += fmt::format("  P2PCommunication {} (type={}, buffer={}, peer={}, backend=Local)\n", op,
                              sends ? "send" : "recv", sends ? inputOf(op) : outputOf(op), posted.peer);
          break;
        }
        std::string details = posted.root < 0 ? "" : fmt::format("root={}, ", posted.root);
        if (posted.reduction != ReductionKind::Sum) details += "reduction=max, ";
        body +=
            fmt::format("  Communication {} (type={}, team=({}), {}input={}, output={}, backend=Local)\n", op,
                        enumName(posted.kind), joined(posted.team, " "), details,
                        elements(op).input > 0 ? inputOf(op) : "none", elements(op).output > 0 ? outputOf(op) : "none");
        break;
      }
    }
  }
  return fmt::format("%HostIrContainer {{ ({}) -> () :\n{}}} // %HostIrContainer\n", joined(inputs), body);
}

std::vector<std::unique_ptr<HostIrContainer>> hostProgramsOf(const RankTexts& program) {
  std::vector<std::unique_ptr<HostIrContainer>> programs;
  for (size_t rank = 0; rank < program.size(); ++rank) {
    const std::string text = textOf(program[rank], static_cast<int64_t>(rank));
    programs.push_back(parseHostProgram(text, fmt::format("rank {}", rank)));
  }
  return programs;
}

}  // namespace tokamak
