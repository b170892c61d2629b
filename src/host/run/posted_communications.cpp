#include "host/run/posted_communications.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "host/plan/recorder.h"
#include "ir/expr_summary.h"

namespace tokamak {

namespace {

OperandDesc operandOf(const RunTensor& tensor) {
  return {.dtype = tensor.dtype, .sizes = tensor.sizes, .strides = tensor.strides};
}

// The address of a side that the rank does not have is not looked at.
void* addressOf(const RunTensor* side, const RunTensor* other) {
  if (side != nullptr) return side->address;
  return other != nullptr ? other->address : nullptr;
}

}  // namespace

PostedCommunications::PostedCommunications(Device& device, RankCommunications& ranks)
    : device_(device), ranks_(ranks), recorder_(dynamic_cast<Recorder*>(&device)) {}

void PostedCommunications::post(const Expr& statement, int64_t number, const CommunicationMemory& memory,
                                const ScalarBindings& scalars, Stream& current) {
  if (!is_grouping_)
    return launch({requestOf(statement, memory, scalars, ranks_.rank())}, RankCommunications::Posted::Alone, {number},
                  summaryOf(statement), current);
  auto waiting = std::make_unique<Waiting>();
  waiting->number = number;
  if (memory.in != nullptr) waiting->in = *memory.in;
  if (memory.out != nullptr) waiting->out = *memory.out;
  const CommunicationMemory own = {.in = memory.in == nullptr ? nullptr : &waiting->in,
                                   .out = memory.out == nullptr ? nullptr : &waiting->out};
  waiting->request = requestOf(statement, own, scalars, ranks_.rank());
  if (group_.empty()) group_text_ = summaryOf(statement);
  group_.push_back(std::move(waiting));
}

void PostedCommunications::endGroup(int64_t number, Stream& current) {
  is_grouping_ = false;
  const std::vector<std::unique_ptr<Waiting>> group = std::exchange(group_, {});
  if (group.empty()) return;
  std::vector<RankRequest> requests;
  std::vector<int64_t> numbers = {number};
  for (const std::unique_ptr<Waiting>& waiting : group) {
    requests.push_back(waiting->request);
    numbers.push_back(waiting->number);
  }
  std::string text = std::move(group_text_);
  if (group.size() > 1) text += fmt::format(" and {} more", group.size() - 1);
  launch(std::move(requests), RankCommunications::Posted::InGroup, std::move(numbers), std::move(text), current);
}

void PostedCommunications::launch(std::vector<RankRequest> requests, RankCommunications::Posted how,
                                  std::vector<int64_t> numbers, std::string text, Stream& current) {
  const RankCommunications::Prepared prepared = ranks_.prepare(requests, how);
  Stream& stream = recorder_ == nullptr ? *prepared.stream : recorder_->recordedStream(*prepared.stream);
  auto posted = std::make_shared<Posted>();
  posted->text = std::move(text);
  posted->done = device_.createEvent();
  const std::unique_ptr<Event> before = device_.createEvent();
  std::vector<void*> addresses;
  std::vector<Recorder::Touched> touched;
  for (const RankRequest& request : requests) {
    const auto [in, out] = request.memory;
    addresses.insert(addresses.end(), {addressOf(in, out), addressOf(out, in)});
    if (in != nullptr) touched.push_back({operandOf(*in), in->address, AccessMode::Read});
    if (out != nullptr) touched.push_back({operandOf(*out), out->address, AccessMode::Write});
    for (const RunTensor* side : {in, out})
      if (side != nullptr && side->storage != nullptr) posted->uses.push_back(side->storage);
  }
  if (recorder_ != nullptr) recorder_->describeNext(posted->text);
  device_.record(*before, current);
  device_.wait(stream, *before);
  if (recorder_ != nullptr)
    recorder_->launchPrepared(stream, prepared.work, addresses, touched);
  else
    device_.launch(stream, *prepared.work, addresses);
  device_.record(*posted->done, stream);
  for (const int64_t number : numbers) by_number_[number] = posted;
  posted_.push_back(std::move(posted));
}

void PostedCommunications::wait(int64_t number, Stream& current) {
  const auto found = by_number_.find(number);
  TK_REQUIRE(found != by_number_.end(), HostProgram, "Wait Communication {}: it was never posted", number);
  Posted& posted = *found->second;
  if (recorder_ != nullptr) recorder_->describeNext("Wait " + posted.text);
  device_.wait(current, *posted.done);
  posted.is_waited_for = true;
  posted.uses.clear();
  std::erase_if(posted_, [](const std::shared_ptr<Posted>& one) { return one->is_waited_for; });
}

void PostedCommunications::requireUnused(const RunStorage& storage, const std::string& name) const {
  for (const std::shared_ptr<Posted>& posted : posted_) {
    const bool is_used = std::ranges::any_of(posted->uses, [&](const auto& used) { return used.get() == &storage; });
    TK_REQUIRE(!is_used, HostProgram,
               "DEALLOCATE of {}: {} uses it, and nobody has waited for that; write a Wait first", name, posted->text);
  }
}

void PostedCommunications::requireAllWaitedFor() const {
  TK_REQUIRE(posted_.empty(), HostProgram, "nobody waits for {}; write a Wait for it before the end of the program{}",
             posted_[0]->text, posted_.size() == 1 ? "" : fmt::format(", as for {} more", posted_.size() - 1));
}

void PostedCommunications::joinInto(Stream& stream, RunStreams& workers) {
  for (const std::shared_ptr<Posted>& posted : posted_) {
    device_.waitOver(stream, *posted->done);
    workers.waitOver(*posted->done);
  }
}

}  // namespace tokamak
