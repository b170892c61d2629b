#include "dist/local/local_job.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "base/wait_watch.h"

namespace tokamak {

LocalJob::LocalJob(int64_t size, const LocalOptions& options) : options_(options), ranks_(static_cast<size_t>(size)) {
  for (int64_t rank = 0; rank < size; ++rank)
    ranks_[static_cast<size_t>(rank)].log = std::make_shared<OperationLog>(rank, size, options_.operations);
}

const Breakage* LocalJob::whyGone(std::span<const int64_t> ranks) const {
  for (const int64_t rank : ranks) {
    const auto& gone = ranks_[static_cast<size_t>(rank)].gone;
    if (gone) return &*gone;
  }
  return nullptr;
}

const Breakage* LocalJob::whySilent(std::span<const int64_t> ranks) const {
  for (const int64_t rank : ranks) {
    const Rank& of = ranks_[static_cast<size_t>(rank)];
    if (of.is_silent) return &*of.gone;
  }
  return nullptr;
}

// The n-th call of each rank: the first exchange of this kind that the rank is not part of yet. One that failed stays
// until all have been told.
LocalJob::Exchange& LocalJob::join(std::string_view tag, std::span<const int64_t> ranks, size_t position) {
  const auto isThis = [&](const Exchange& exchange) {
    return exchange.tag == tag && std::ranges::equal(exchange.ranks, ranks) && !exchange.given[position];
  };
  const auto found = std::ranges::find_if(exchanges_, isThis);
  if (found != exchanges_.end()) return *found;
  exchanges_.push_back({.tag = std::string(tag),
                        .ranks = {ranks.begin(), ranks.end()},
                        .given = std::vector<std::optional<std::vector<std::byte>>>(ranks.size()),
                        .breakage = {}});
  return exchanges_.back();
}

std::vector<std::vector<std::byte>> LocalJob::exchange(int64_t rank, std::string_view tag,
                                                       std::span<const int64_t> ranks,
                                                       std::span<const std::byte> bytes) {
  const auto position = static_cast<size_t>(positionOf(ranks, rank));
  const auto deadline = std::chrono::steady_clock::now() + options_.timeout;
  std::unique_lock lock(mutex_);
  Exchange& here = join(tag, ranks, position);
  here.given[position].emplace(bytes.begin(), bytes.end());
  if (const Breakage* gone = whyGone(ranks); gone != nullptr && !here.breakage) here.breakage = *gone;
  const auto findMissing = [&] { return std::ranges::find_if(here.given, [](const auto& it) { return !it; }); };
  exchanged_.notify_all();
  while (!here.breakage && findMissing() != here.given.end()) {
    WaitWatch* const watch = WaitWatch::here();
    const auto next_look = watch == nullptr ? deadline : std::chrono::steady_clock::now() + WaitWatch::kPause;
    if (exchanged_.wait_until(lock, std::min(deadline, next_look)) != std::cv_status::timeout || here.breakage)
      continue;
    if (watch != nullptr && std::chrono::steady_clock::now() < deadline) {
      lock.unlock();
      const bool goes_on = watch->look();
      lock.lock();
      if (goes_on || here.breakage || findMissing() == here.given.end()) continue;
      here.breakage = {
          CommunicationFault::Failed, rank,
          fmt::format("exchange \"{}\" of ranks ({}): rank {} waits no more", tag, joined(ranks, " "), rank)};
      exchanged_.notify_all();
      break;
    }
    const auto missing = findMissing();
    if (missing == here.given.end()) break;
    const int64_t late = ranks[static_cast<size_t>(missing - here.given.begin())];
    here.breakage = {CommunicationFault::TimedOut, late,
                     fmt::format("exchange \"{}\" of ranks ({}): rank {} did not come within {} ms", tag,
                                 joined(ranks, " "), late, options_.timeout.count())};
    exchanged_.notify_all();
  }
  const std::optional<Breakage> breakage = here.breakage;
  std::vector<std::vector<std::byte>> theirs;
  if (!breakage)
    for (const auto& given : here.given) theirs.push_back(*given);
  if (++here.taken == here.ranks.size()) std::erase_if(exchanges_, [&](const Exchange& it) { return &it == &here; });
  if (breakage) raiseOf(*breakage);
  return theirs;
}

std::vector<int64_t> LocalJob::alive(std::span<const int64_t> ranks) const {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> alive;
  for (const int64_t rank : ranks)
    if (!ranks_[static_cast<size_t>(rank)].gone) alive.push_back(rank);
  return alive;
}

// Epochs behind which all members are that can still come. Works and teams hold theirs.
void LocalJob::letGoOfOld(std::span<const int64_t> ranks, Epochs& epochs) {
  const auto isBehind = [&](int64_t rank) {
    return ranks_[static_cast<size_t>(rank)].is_silent ||
           epochs.reached[static_cast<size_t>(positionOf(ranks, rank))] > epochs.first;
  };
  while (epochs.tables.size() > 1 && std::ranges::all_of(ranks, isBehind)) {
    epochs.tables.pop_front();
    ++epochs.first;
  }
}

std::shared_ptr<TeamTable> LocalJob::table(int64_t rank, std::span<const int64_t> ranks, int64_t epoch) {
  const std::lock_guard lock(mutex_);
  if (const Breakage* silent = whySilent(ranks)) raiseOf(*silent);
  const std::vector<int64_t> key(ranks.begin(), ranks.end());
  Epochs& epochs = teams_[key];
  epochs.reached.resize(ranks.size(), -1);
  epochs.reached[static_cast<size_t>(positionOf(ranks, rank))] = epoch;
  if (epoch == epochs.first + std::ssize(epochs.tables))
    epochs.tables.push_back(std::make_shared<TeamTable>(key, epoch, options_.timeout));
  const std::shared_ptr<TeamTable> table = epochs.tables[static_cast<size_t>(epoch - epochs.first)];
  letGoOfOld(ranks, epochs);
  return table;
}

std::vector<std::shared_ptr<TeamTable>> LocalJob::tablesOf(int64_t rank) const {
  std::vector<std::shared_ptr<TeamTable>> tables;
  for (const auto& [ranks, epochs] : teams_)
    if (positionOf(ranks, rank) >= 0) tables.insert(tables.end(), epochs.tables.begin(), epochs.tables.end());
  return tables;
}

// Those that are complete have been, whoever has not looked yet.
void LocalJob::breakExchangesOf(int64_t rank) {
  const auto isGiven = [](const auto& given) { return given.has_value(); };
  for (Exchange& exchange : exchanges_)
    if (positionOf(exchange.ranks, rank) >= 0 && !exchange.breakage && !std::ranges::all_of(exchange.given, isGiven))
      exchange.breakage = ranks_[static_cast<size_t>(rank)].gone;
  exchanged_.notify_all();
}

// Teams first: who is told by an exchange finds them broken.
void LocalJob::noteDeath(int64_t rank, std::string_view operation) {
  const Breakage death = {CommunicationFault::Died, rank, fmt::format("rank {} died in {}", rank, operation)};
  std::vector<std::shared_ptr<TeamTable>> tables;
  {
    const std::lock_guard lock(mutex_);
    Rank& of = ranks_[static_cast<size_t>(rank)];
    if (!of.gone) of.gone = death;
    of.is_silent = true;
    tables = tablesOf(rank);
  }
  for (const auto& table : tables) table->breakUp(death);
  const std::lock_guard lock(mutex_);
  breakExchangesOf(rank);
}

void LocalJob::noteLeaving(int64_t rank) {
  const std::lock_guard lock(mutex_);
  std::optional<Breakage>& gone = ranks_[static_cast<size_t>(rank)].gone;
  if (!gone) gone = {CommunicationFault::Left, rank, fmt::format("rank {} left the job", rank)};
  breakExchangesOf(rank);
}

void LocalJob::noteLeft(int64_t rank) {
  std::vector<std::shared_ptr<TeamTable>> tables;
  {
    const std::lock_guard lock(mutex_);
    ranks_[static_cast<size_t>(rank)].is_silent = true;
    tables = tablesOf(rank);
  }
  for (const auto& table : tables) table->noteLeft(rank);
}

}  // namespace tokamak
