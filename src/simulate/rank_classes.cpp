#include "simulate/rank_classes.h"

#include <bit>
#include <unordered_map>
#include <utility>

namespace tokamak {

namespace {

// The finaliser of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
uint64_t mixed(uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

class Colour {
 public:
  explicit Colour(uint64_t start = 0) : value_(start) {}
  Colour& add(uint64_t number) {
    value_ = mixed(value_ ^ mixed(number));
    return *this;
  }
  Colour& add(int64_t number) { return add(static_cast<uint64_t>(number)); }
  Colour& add(double number) { return add(std::bit_cast<uint64_t>(number)); }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_;
};

uint64_t colourOf(const RankSteps& steps) {
  Colour colour;
  for (const RankTask& task : steps.tasks) {
    colour.add(int64_t{task.stream})
        .add(task.issued)
        .add(task.bytes)
        .add(task.from_host)
        .add(task.to_host)
        .add(static_cast<uint64_t>(task.after.size()));
    for (const int32_t earlier : task.after) colour.add(int64_t{earlier});
    if (task.work == nullptr) continue;
    colour.add(task.work->products).add(static_cast<uint64_t>(task.work->product_type)).add(task.work->functions);
    colour.add(static_cast<uint64_t>(task.work->group.size()));
  }
  return colour.value();
}

uint64_t colourOf(const MeetingParty& party, const MovedBytes& moved) {
  return Colour().add(int64_t{party.task}).add(int64_t{party.request}).add(moved.sent).add(moved.received).value();
}

size_t countOf(const std::vector<uint64_t>& colours, std::vector<size_t>& classes) {
  std::unordered_map<uint64_t, size_t> numbers;
  classes.clear();
  for (const uint64_t colour : colours) classes.push_back(numbers.emplace(colour, numbers.size()).first->second);
  return numbers.size();
}

}  // namespace

std::vector<size_t> rankClasses(std::span<const RankSteps> ranks, std::span<const RankMeeting> meetings,
                                std::span<const CommunicationCost> costs) {
  std::vector<uint64_t> colours;
  for (const RankSteps& steps : ranks) colours.push_back(colourOf(steps));
  std::vector<size_t> classes;
  size_t count = countOf(colours, classes);
  while (true) {
    std::vector<uint64_t> next = colours;
    for (size_t i = 0; i < meetings.size(); ++i) {
      const CommunicationCost& cost = costs[i];
      Colour all = Colour().add(cost.latency).add(cost.seconds).add(uint64_t{cost.is_over_network});
      uint64_t parties = 0;  // a sum: their order does not count
      for (size_t k = 0; k < meetings[i].parties.size(); ++k) {
        const MeetingParty& party = meetings[i].parties[k];
        parties += mixed(colours[static_cast<size_t>(party.rank)] ^ colourOf(party, cost.moved[k]));
      }
      all.add(parties).add(static_cast<uint64_t>(meetings[i].parties.size()));
      for (size_t k = 0; k < meetings[i].parties.size(); ++k) {
        const MeetingParty& party = meetings[i].parties[k];
        // A sum, too: a task may have a part in several meetings.
        next[static_cast<size_t>(party.rank)] += mixed(all.value() ^ colourOf(party, cost.moved[k]));
      }
    }
    colours = std::move(next);
    const size_t refined = countOf(colours, classes);
    if (refined == count) return classes;
    count = refined;
  }
}

}  // namespace tokamak
