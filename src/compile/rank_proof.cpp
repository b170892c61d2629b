#include "compile/rank_proof.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "analysis/device_mesh.h"
#include "analysis/sharding.h"
#include "analysis/shards.h"
#include "base/require.h"
#include "host/check/checker.h"
#include "host/check/rank_checker.h"
#include "host/check/rank_dependence.h"
#include "host/check/rank_differences.h"
#include "host/check/rank_part_check.h"
#include "host/ir/verifier.h"
#include "host/local/local_program.h"
#include "ir/ops/host/communication.h"

namespace tokamak {

namespace {

constexpr int64_t kMostRanks = 65'536;

bool isOnRank(const TensorView& tensor, int64_t rank) { return tensor.mesh().empty() || hasRank(tensor.mesh(), rank); }

// What the rank's inputs tell of extents, and what has a name.
ScalarBindings localBindings(const HostIrContainer& program, const HostIrContainer& local,
                             const ScalarBindings& bindings, int64_t rank) {
  ScalarBindings own;
  size_t next = 0;
  for (Val* input : program.inputs()) {
    TensorView* const tensor = asTensor(input);
    if (tensor == nullptr) {
      const auto value = bindings.find(asScalar(input));
      if (value != bindings.end()) own[asScalar(local.inputs()[next])] = value->second;
      ++next;
      continue;
    }
    if (!isOnRank(*tensor, rank)) continue;
    std::vector<int64_t> sizes = sizesOf(*tensor, bindings);
    const Axes shape = shapeOf(*tensor);
    for (const Shard& shard : shardsOf(*tensor)) {
      const auto axis = static_cast<size_t>(std::ranges::find(shape, shard.logical) - shape.begin());
      const int64_t coordinate = (*coordinatesOf(tensor->mesh(), rank))[shard.dimension];
      sizes[axis] = shardRange(sizes[axis], evaluateInt(*shard.chunk, bindings), coordinate).extent;
    }
    bindShape(*asTensor(local.inputs()[next++]), sizes, own);
  }
  for (const Scalar* symbol : local.allSymbols()) {
    if (symbol->name().empty() || own.contains(symbol)) continue;
    for (const auto& [known, value] : bindings)
      if (known->name() == symbol->name()) own.emplace(symbol, value);
  }
  return own;
}

// Findings and works of one rank at a time, and of all together.
class Proof {
 public:
  explicit Proof(const RankProofOptions& options) : options_(options) { job_.ranks = options.ranks; }

  void setFrame(const RankFrame& frame) { job_.frame = frame; }

  // Number of the job's teams and maps for those of a program.
  int32_t addTeams(const RankDifferences& differences) {
    const auto first = static_cast<int32_t>(job_.team_maps.size());
    std::vector<int32_t> numbers;
    for (const std::vector<int64_t>& team : differences.teams()) {
      const auto [known, is_new] = number_of_team_.emplace(team, static_cast<int32_t>(job_.teams.size()));
      if (is_new) job_.teams.push_back(team);
      numbers.push_back(known->second);
    }
    for (TeamMap map : differences.teamMaps()) {
      for (int32_t& team : map) team = team < 0 ? team : numbers[static_cast<size_t>(team)];
      job_.team_maps.push_back(std::move(map));
    }
    return first;
  }

  // `visits`: of the first rank, which `local` is of.
  void addClass(const std::vector<int64_t>& ranks, const HostIrContainer& local, const ScalarBindings& scalars,
                std::span<const RankVisit> visits, int32_t first_team_map,
                std::shared_ptr<const std::vector<std::string>> statements) {
    ++made_.classes;
    RankRecording recording;
    try {
      recording = recordRank(local, {.number = ranks[0], .ranks = options_.ranks}, scalars, options_.recording);
    } catch (const Error& error) {
      const bool is_programs = error.code() == ErrorCode::HostProgram || error.code() == ErrorCode::Usage;
      if (!is_programs) throw;
      return add(RankFinding::Kind::Refused, ranks, "", "", error.message());
    }
    const StepList& list = recording.steps;
    made_.steps += static_cast<int64_t>(list.steps.size());
    for (const RaceReport& report : checkStepList(list, {.report_limit = options_.limit})) {
      const auto textOf = [&](int64_t step) {
        const bool is_step = 0 <= step && step < static_cast<int64_t>(list.steps.size());
        return is_step ? list.steps[static_cast<size_t>(step)].text : "the caller";
      };
      add(RankFinding::Kind::Race, ranks, textOf(report.first), textOf(report.second), report.message);
    }
    const auto requestsOf = [&](const Work& work) {
      const UnconnectedCommunicator::Group* group = recording.communicator->groupOf(work);
      return group == nullptr ? std::span<const CommunicationRequest>() : std::span(group->requests);
    };
    auto works = std::make_shared<PostedWorks>(postedWorks(list, requestsOf));
    size_t next = 0;
    for (PostedWork& work : works->works) {
      for (PostedRequest& posted : work.requests) {
        TK_CHECK(next < visits.size(), "rank {} posts more than its {} communications", ranks[0], visits.size());
        const RankVisit& visit = visits[next++];
        posted.statement = visit.statement;
        posted.team = visit.team_map < 0 ? -1 : visit.team_map + first_team_map;
        posted.send_to = visit.send_to;
        posted.receive_from = visit.receive_from;
      }
    }
    TK_CHECK(next == visits.size(), "rank {} posts {} of its {} communications", ranks[0], next, visits.size());
    made_.communications += static_cast<int64_t>(next * ranks.size());
    job_.classes.push_back(
        {.ranks = ranks, .recorded = ranks[0], .works = std::move(works), .statements = std::move(statements)});
  }

  void addFindings(std::vector<RankFinding> findings) {
    for (RankFinding& finding : findings) made_.findings.push_back(std::move(finding));
  }

  // Ranks that are not known to do anything are not compared with others.
  RankProof finish() {
    const bool is_complete = std::ranges::none_of(
        made_.findings, [](const RankFinding& one) { return one.kind == RankFinding::Kind::Refused; });
    if (is_complete) {
      for (RankFinding& finding : checkRanks(job_, options_.limit)) made_.findings.push_back(std::move(finding));
    }
    if (made_.findings.size() > static_cast<size_t>(options_.limit))
      made_.findings.resize(static_cast<size_t>(options_.limit));
    return std::move(made_);
  }

 private:
  void add(RankFinding::Kind kind, const std::vector<int64_t>& ranks, std::string first, std::string second,
           std::string_view message) {
    const std::string others = ranks.size() == 1 ? "" : fmt::format(" (as {} more that do the same)", ranks.size() - 1);
    made_.findings.push_back({.kind = kind,
                              .first_rank = ranks[0],
                              .second_rank = ranks[0],
                              .first_statement = std::move(first),
                              .second_statement = std::move(second),
                              .message = fmt::format("rank {}{}: {}", ranks[0], others, message)});
  }

  const RankProofOptions& options_;
  RankProof made_;
  RankJob job_;
  std::map<std::vector<int64_t>, int32_t> number_of_team_;
};

// Ranks of the same signature, by the first one.
std::vector<std::vector<int64_t>> classesOf(RankDifferences& differences, int64_t ranks, const RankFrame& frame) {
  std::map<std::vector<int64_t>, size_t> number_of;
  std::vector<std::vector<int64_t>> classes;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const auto [known, is_new] = number_of.emplace(differences.signatureOf(rank, frame), classes.size());
    if (is_new) classes.emplace_back();
    classes[known->second].push_back(rank);
  }
  return classes;
}

struct Classes {
  RankFrame frame;
  std::vector<std::vector<int64_t>> ranks;
};

// In the frame in which there are the fewest.
Classes fewestClasses(RankDifferences& differences, const RankProofOptions& options) {
  Classes best;
  if (options.by == RankProofOptions::By::EachRank) {
    for (int64_t rank = 0; rank < options.ranks; ++rank) best.ranks.push_back({rank});
    return best;
  }
  for (const RankFrame& frame : differences.frames()) {
    std::vector<std::vector<int64_t>> ranks = classesOf(differences, options.ranks, frame);
    if (best.ranks.empty() || ranks.size() < best.ranks.size()) best = {.frame = frame, .ranks = std::move(ranks)};
    if (best.ranks.size() == 1) break;
  }
  return best;
}

// Terms of half types that someone marked by hand: passes make them of f32.
std::vector<std::string> roundedTerms(const HostIrContainer& program) {
  std::vector<std::string> warnings;
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* op = expr.as<Communication>();
    if (op == nullptr || op->in == nullptr || trueTerms(*op->in).empty()) return;
    const bool is_half = op->in->dtype() == DataType::F16 || op->in->dtype() == DataType::BF16;
    const bool rounds = op->reduction == ReductionKind::Sum || op->reduction == ReductionKind::Prod;
    const bool combines = op->type == CommunicationType::Reduce || op->type == CommunicationType::Allreduce ||
                          op->type == CommunicationType::ReduceScatter;
    if (!is_half || !rounds || !combines) return;
    warnings.push_back(fmt::format(
        "{} of {}: each rank rounds its term to {} before the terms are combined; let the op that makes {} "
        "give f32 (dtype=f32), and cast what the {} gives",
        enumName(op->type), nameOf(*op->in), dataTypeName(op->in->dtype()), nameOf(*op->in), enumName(op->type)));
  });
  return warnings;
}

void requireRanks(int64_t ranks) {
  TK_REQUIRE(0 < ranks && ranks <= kMostRanks, Usage, "{} ranks were asked for; 1 to {} are legal", ranks, kMostRanks);
}

}  // namespace

RankProof proveRanks(const HostIrContainer& program, const ScalarBindings& bindings, const RankProofOptions& options) {
  requireRanks(options.ranks);
  verifyHostProgram(program, HostStage::Written);
  const RankLimits limits = {.ranks = options.ranks, .most_iterations = options.recording.most_iterations};
  RankDifferences differences(program, bindings, limits);
  const Classes classes = fewestClasses(differences, options);
  const auto statements = std::make_shared<const std::vector<std::string>>(differences.statements());
  Proof proof(options);
  proof.setFrame(classes.frame);
  const int32_t team_map = proof.addTeams(differences);
  for (const std::vector<int64_t>& ranks : classes.ranks) {
    const auto describe = [&] { return fmt::format("for rank {}", ranks[0]); };
    const ErrorNote note(describe);
    const auto local =
        localProgram(program, {.number = ranks[0], .ranks = options.ranks, .extents = WholeExtents::Given});
    finishHostProgram(*local, options.lowering);
    proof.addClass(ranks, *local, localBindings(program, *local, bindings, ranks[0]),
                   differences.visitsOf(ranks[0], classes.frame), team_map, statements);
  }
  proof.addFindings(checkRankParts(differences.dependence(), options.ranks, options.limit));
  RankProof made = proof.finish();
  made.warnings = roundedTerms(program);
  return made;
}

RankProof proveLocalPrograms(std::span<const std::unique_ptr<HostIrContainer>> locals,
                             const RankProofOptions& options) {
  requireRanks(static_cast<int64_t>(locals.size()));
  RankProofOptions own = options;
  own.ranks = static_cast<int64_t>(locals.size());
  Proof proof(own);
  for (size_t i = 0; i < locals.size(); ++i) {
    const auto describe = [&] { return fmt::format("for rank {}", i); };
    const ErrorNote note(describe);
    verifyHostProgram(*locals[i]);
    const ScalarBindings none;
    const RankLimits limits = {.ranks = own.ranks, .most_iterations = own.recording.most_iterations};
    RankDifferences differences(*locals[i], none, limits);
    const int32_t team_map = proof.addTeams(differences);
    const auto rank = static_cast<int64_t>(i);
    proof.addClass({rank}, *locals[i], none, differences.visitsOf(rank, {}), team_map,
                   std::make_shared<const std::vector<std::string>>(differences.statements()));
  }
  return proof.finish();
}

void requireProved(const RankProof& proof, int64_t ranks) {
  constexpr size_t kShown = 10;
  const size_t found = proof.findings.size();
  std::string text;
  for (size_t i = 0; i < std::min(found, kShown); ++i)
    text += fmt::format("\n  {}. {}: {}", i + 1, rankFindingName(proof.findings[i].kind), proof.findings[i].message);
  TK_REQUIRE(found == 0, Race, "check: the host program has {} problem{} over {} ranks{}:{}", found,
             found == 1 ? "" : "s", ranks, found > kShown ? fmt::format(", the first {}", kShown) : "", text);
}

}  // namespace tokamak
