#include "compile/agreed_steps.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "device/failure.h"
#include "dist/communication_error.h"

namespace tokamak {

namespace {

constexpr char kDone = 'd';
constexpr char kFailed = 'f';
constexpr char kEcho = 'e';  // of another rank's failure

std::vector<int64_t> ranksOf(const Communicator& communicator) {
  std::vector<int64_t> ranks(static_cast<size_t>(communicator.size()));
  std::iota(ranks.begin(), ranks.end(), int64_t{0});
  return ranks;
}

std::vector<std::string> exchanged(Communicator& communicator, std::string_view tag, std::string_view own) {
  std::vector<std::string> texts;
  for (const std::vector<std::byte>& bytes :
       communicator.exchange(tag, ranksOf(communicator), std::as_bytes(std::span(own))))
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return texts;
}

// A letter, the code, and the text.
std::string outcomeText(char letter, ErrorCode code, std::string_view text) {
  return fmt::format("{}{:02}{}", letter, static_cast<int>(code), text);
}

std::string outcomeOf(const std::function<void()>& run, int64_t rank) {
  try {
    run();
    return outcomeText(kDone, ErrorCode::Internal, "");
  } catch (const CommunicationError& error) {
    return outcomeText(error.rank() == rank ? kFailed : kEcho, error.code(), error.what());
  } catch (const SkippedError& error) {
    return outcomeText(kEcho, ErrorCode::Device, error.what());
  } catch (const Error& error) {
    return outcomeText(kFailed, error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return outcomeText(kFailed, ErrorCode::OutOfMemory, "out of host memory");
  } catch (const std::exception& error) {
    return outcomeText(kFailed, ErrorCode::Internal, error.what());
  }
}

}  // namespace

void agree(Communicator& communicator, std::string_view step, const std::function<void()>& run) {
  std::exception_ptr own;
  const auto runOwn = [&] {
    try {
      run();
    } catch (...) {
      own = std::current_exception();
      throw;
    }
  };
  const std::string outcome = outcomeOf(runOwn, communicator.rank());
  std::vector<std::string> outcomes;
  try {
    outcomes = exchanged(communicator, step, outcome);
  } catch (const CommunicationError&) {
    if (own != nullptr) std::rethrow_exception(own);  // which names the operation
    throw;
  }
  for (const char letter : {kFailed, kEcho}) {
    std::optional<ErrorCode> code;
    std::vector<std::string> told;
    std::string text;
    for (size_t rank = 0; rank < outcomes.size(); ++rank) {
      if (outcomes[rank][0] != letter) continue;
      const std::string said = outcomes[rank].substr(3);
      if (!code) code = static_cast<ErrorCode>(std::stoi(outcomes[rank].substr(1, 2)));
      if (std::ranges::find(told, said) != told.end()) continue;
      text += fmt::format("{}rank {}: {}", told.empty() ? "" : "\n", rank, said);
      told.push_back(said);
    }
    if (code) throw AgreedError(*code, text);
  }
}

void requireAlike(Communicator& communicator, std::span<const std::pair<std::string, std::string>> facts) {
  for (const auto& [name, own] : facts) {
    const std::vector<std::string> texts = exchanged(communicator, name, own);
    const auto other = std::ranges::find_if(texts, [&](const std::string& text) { return text != texts[0]; });
    if (other == texts.end()) continue;
    const auto shown = [](const std::string& text) {
      constexpr size_t kMost = 60;
      if (text.empty()) return std::string("nothing");
      return text.size() > kMost || text.find('\n') != std::string::npos ? fmt::format("{} bytes", text.size())
                                                                         : "'" + text + "'";
    };
    throw AgreedError(ErrorCode::Device,
                      fmt::format("rank {} has another {} than rank 0: {}, not {}; all ranks have to have the same",
                                  other - texts.begin(), name, shown(*other), shown(texts[0])));
  }
}

int64_t saidByFirst(Communicator& communicator, int64_t own) {
  int64_t first = 0;
  const auto all = communicator.exchange("end", ranksOf(communicator), std::as_bytes(std::span(&own, 1)));
  std::memcpy(&first, all[0].data(), sizeof(first));
  return first;
}

}  // namespace tokamak
