#include "host/run/rank_agreement.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/library_version.h"
#include "base/text.h"
#include "device/tensor.h"
#include "dist/communication_error.h"

namespace tokamak {

namespace {

constexpr char kEnd = '\0';  // of a name, of a value, and of what is said behind it
constexpr const char* kOfEqualChunks = "of equal chunks";

std::string textOf(const RunFacts& facts) {
  std::string text;
  for (const RunFact& fact : facts) {
    text.append(fact.name).append(1, kEnd).append(fact.value).append(1, kEnd);
    text.append(fact.is_of_equal_chunks ? kOfEqualChunks : "").append(1, kEnd);
  }
  return text;
}

RunFacts factsIn(std::string_view text) {
  RunFacts facts;
  const auto take = [&] {
    const size_t end = std::min(text.find(kEnd), text.size());
    std::string word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
  };
  while (!text.empty()) {
    RunFact fact;
    fact.name = take();
    fact.value = take();
    fact.is_of_equal_chunks = take() == kOfEqualChunks;
    facts.push_back(std::move(fact));
  }
  return facts;
}

// An Allgather in the memory of the device.
std::vector<int64_t> gathered(TeamCommunicator& team, Device& device, std::vector<int64_t> own) {
  const auto members = static_cast<int64_t>(team.ranks().size());
  const auto words = static_cast<int64_t>(own.size());
  std::vector<int64_t> theirs(static_cast<size_t>(members * words));
  const auto bytes = [](const std::vector<int64_t>& list) {
    return static_cast<int64_t>(list.size() * sizeof(int64_t));
  };
  const std::shared_ptr<Stream> stream = device.createStream();
  const auto in = Buffer::allocate(device, stream, bytes(own), MemoryKind::Device);
  const auto out = Buffer::allocate(device, stream, bytes(theirs), MemoryKind::Device);
  const std::shared_ptr<const Work> work =
      team.prepare({.kind = CommunicationKind::Allgather,
                    .dtype = DataType::I64,
                    .counts = std::vector<int64_t>(static_cast<size_t>(members), words)});
  const std::unique_ptr<Event> before = device.createEvent();
  const std::unique_ptr<Event> after = device.createEvent();
  device.copy(*stream, in->address(), own.data(), bytes(own));
  device.record(*before, *stream);
  device.wait(team.stream(), *before);
  device.launch(team.stream(), *work, std::vector<void*>{in->address(), out->address()});
  device.record(*after, team.stream());
  device.wait(*stream, *after);
  device.copy(*stream, theirs.data(), out->address(), bytes(theirs));
  device.synchronize(*stream);
  return theirs;
}

std::vector<RunFacts> factsOfAll(TeamCommunicator& team, Device& device, const std::string& text,
                                 const std::vector<int64_t>& lengths) {
  const int64_t longest = std::ranges::max(lengths);
  std::vector<int64_t> padded(static_cast<size_t>(longest) / sizeof(int64_t) + 1);
  std::memcpy(padded.data(), text.data(), text.size());
  const std::vector<int64_t> all = gathered(team, device, padded);
  std::vector<RunFacts> facts;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto* const first = reinterpret_cast<const char*>(all.data() + i * padded.size());
    facts.push_back(factsIn({first, static_cast<size_t>(lengths[i])}));
  }
  return facts;
}

}  // namespace

RunFacts factsOf(const HostIrContainer& program, const ScalarBindings& bindings) {
  RunFacts facts = {{"the version of Tokamak", libraryVersion()}};
  const RankOrigin* origin = program.rankOrigin();
  if (origin == nullptr) return facts;
  facts.push_back({"the program", fmt::format("{} with the hash {:016x}", program.name(), origin->text_hash)});
  for (const RankOrigin::Value& known : origin->values) {
    if (const auto value = evaluate(*known.scalar, bindings))
      facts.push_back({known.name, std::visit([](auto number) { return fmt::format("{}", number); }, *value),
                       known.is_of_equal_chunks});
  }
  return facts;
}

bool requireAgreement(TeamCommunicator& team, Device& device, const std::string& program, const RunFacts& facts,
                      bool is_told) {
  const std::string text = textOf(facts);
  // Ranks that run the same, which is the rule, have the same text: they compare its hash.
  const std::vector<int64_t> words = gathered(
      team, device,
      {static_cast<int64_t>(text.size()), static_cast<int64_t>(std::hash<std::string>{}(text)), is_told ? 1 : 0});
  std::vector<int64_t> lengths;
  bool is_same = true;
  bool is_told_by_any = false;
  for (size_t i = 0; i < words.size(); i += 3) {
    lengths.push_back(words[i]);
    is_same = is_same && words[i] == words[0] && words[i + 1] == words[1];
    is_told_by_any = is_told_by_any || words[i + 2] != 0;
  }
  if (is_same) return is_told_by_any;
  const std::vector<RunFacts> all = factsOfAll(team, device, text, lengths);
  struct Said {
    int64_t rank = 0;
    std::string value;
  };
  std::map<std::string, Said> first;  // who said it first, in the order of the team
  std::map<std::string, std::string> differences;
  int64_t differs = -1;
  bool needs_equal_chunks = false;
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t rank = team.ranks()[i];
    for (const auto& [name, value, is_of_equal_chunks] : all[i]) {
      const Said& known = first.try_emplace(name, Said{rank, value}).first->second;
      if (known.value == value) continue;
      differences.try_emplace(
          name, fmt::format("{} is {} on rank {} and {} on rank {}", name, known.value, known.rank, value, rank));
      needs_equal_chunks = needs_equal_chunks || is_of_equal_chunks;
      if (differs < 0) differs = rank;
    }
  }
  if (differences.empty()) return is_told_by_any;
  std::vector<std::string> list;
  for (auto& [name, difference] : differences) list.push_back(std::move(difference));
  std::string said = fmt::format("{}: its ranks do not run the same: {}", program, joined(list, "; "));
  if (needs_equal_chunks)
    said += "; parts of several sizes do not tell the whole extent: give it as a number, or as a scalar input";
  throw CommunicationError(CommunicationFault::Mismatch, differs, said);
}

}  // namespace tokamak
