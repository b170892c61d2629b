#include "runtime/cuda/gpu_activity.h"

#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "base/trace.h"
#include "device/work.h"
#include "runtime/cuda/cupti_records.h"

namespace tokamak {

namespace {

constexpr uint64_t kLabels = uint64_t{1} << 32U;
constexpr size_t kBufferBytes = size_t{1} << 20U;
constexpr std::align_val_t kBufferAlignment{64};  // CUPTI asks for 8

// CUPTI calls plain functions, from threads of its own, perhaps while the process ends: what they use is never
// destroyed.
struct Delivery {
  std::mutex mutex;
  const CuptiLibrary* library = nullptr;
  std::map<uint32_t, uint64_t> labels;  // per call of the driver
  std::vector<CuptiRecord> works;
};

Delivery& delivery() {
  static Delivery& made = *new Delivery;
  return made;
}

void requestBuffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(operator new(kBufferBytes, kBufferAlignment, std::nothrow));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // as many as fit
}

void takeRecord(Delivery& to, const CuptiRecord& record) {
  if (record.kind == CuptiRecord::Kind::Label) to.labels[record.call] = record.label;
  if (record.kind == CuptiRecord::Kind::Work && record.begin != 0 && record.end >= record.begin)
    to.works.push_back(record);
}

// Nothing may be thrown through CUPTI: without memory for it, what there is of the timeline is given up.
void takeBuffer(driver::Context /*context*/, uint32_t /*stream*/, uint8_t* buffer, size_t /*bytes*/, size_t valid) {
  Delivery& to = delivery();
  const std::lock_guard lock(to.mutex);
  try {
    void* record = nullptr;
    while (valid > 0 && to.library->next_record(buffer, valid, &record) == cupti::kSuccess)
      takeRecord(to, readCuptiRecord(record));
  } catch (const std::bad_alloc&) {
    to.works.clear();
    to.labels.clear();
  }
  operator delete(buffer, kBufferAlignment);
}

// Of several readings the one that took least time says most about the moment.
int64_t clockOffset(const CuptiLibrary& library) {
  int64_t offset = 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int reading = 0; reading < 8; ++reading) {
    uint64_t theirs = 0;
    const int64_t before = traceNow();
    const cupti::Status status = library.timestamp(&theirs);
    const int64_t taken = traceNow() - before;
    TK_REQUIRE(status == cupti::kSuccess, Unsupported, "CUPTI: reading its clock: {}", library.describe(status));
    if (taken >= least) continue;
    least = taken;
    offset = before + taken / 2 - static_cast<int64_t>(theirs);
  }
  return offset;
}

std::mutex& startMutex() {
  static std::mutex mutex;
  return mutex;
}
int recorders = 0;  // guarded by startMutex()

}  // namespace

std::shared_ptr<GpuActivityRecorder> GpuActivityRecorder::start() {
  static std::weak_ptr<GpuActivityRecorder> present;
  const std::lock_guard lock(startMutex());
  std::shared_ptr<GpuActivityRecorder> recorder = present.lock();
  if (recorder != nullptr) return recorder;
  recorder.reset(new GpuActivityRecorder(CuptiLibrary::load()));
  present = recorder;
  return recorder;
}

GpuActivityRecorder::GpuActivityRecorder(const CuptiLibrary& library) : library_(library) {
  if (recorders == 0) enableAll();
  try {
    clock_offset_ns_ = clockOffset(library);
  } catch (const Error&) {
    if (recorders == 0) disableAll();
    throw;
  }
  ++recorders;
}

GpuActivityRecorder::~GpuActivityRecorder() {
  const std::lock_guard lock(startMutex());
  if (--recorders == 0) disableAll();
}

void GpuActivityRecorder::enableAll() {
  {
    const std::lock_guard lock(delivery().mutex);
    delivery().library = &library_;
  }
  cupti::Status status = library_.register_callbacks(requestBuffer, takeBuffer);
  TK_REQUIRE(status == cupti::kSuccess, Unsupported, "CUPTI: starting to record: {}", library_.describe(status));
  for (const int kind : cuptiKinds()) {
    status = library_.enable(kind);
    if (status == cupti::kSuccess) continue;
    disableAll();
    TK_RAISE(Unsupported, "CUPTI: recording activities of kind {}: {}", kind, library_.describe(status));
  }
}

void GpuActivityRecorder::disableAll() {
  for (const int kind : cuptiKinds()) library_.disable(kind);
  library_.flush(cupti::kFlushForced);
  const std::lock_guard lock(delivery().mutex);
  delivery().labels.clear();
  delivery().works.clear();
}

uint64_t GpuActivityRecorder::takeLabels() {
  static std::atomic<uint64_t> taken = 0;
  return kLabels * ++taken;
}

void GpuActivityRecorder::setLabel(uint64_t label) {
  const cupti::Status status = library_.push_label(cuptiLabelKind(), label);
  TK_REQUIRE(status == cupti::kSuccess, Device, "CUPTI: labelling work: {}", library_.describe(status));
}

void GpuActivityRecorder::dropLabel() {
  uint64_t label = 0;
  library_.pop_label(cuptiLabelKind(), &label);
}

int64_t GpuActivityRecorder::now() const {
  uint64_t theirs = 0;
  library_.timestamp(&theirs);
  return static_cast<int64_t>(theirs) + clock_offset_ns_;
}

std::vector<GpuActivity> GpuActivityRecorder::collect(uint64_t first) {
  const cupti::Status status = library_.flush(cupti::kFlushForced);
  TK_REQUIRE(status == cupti::kSuccess, Device, "CUPTI: collecting its records: {}", library_.describe(status));
  Delivery& from = delivery();
  const std::lock_guard lock(from.mutex);
  const auto isOurs = [&](uint64_t label) { return first <= label && label < first + kLabels; };
  std::vector<GpuActivity> result;
  // What has no label is work of others in this process, which nobody asks for.
  std::erase_if(from.works, [&](const CuptiRecord& work) {
    const auto label = from.labels.find(work.call);
    if (label == from.labels.end()) return true;
    if (!isOurs(label->second)) return false;
    result.push_back({label->second, static_cast<int64_t>(work.begin) + clock_offset_ns_,
                      static_cast<int64_t>(work.end) + clock_offset_ns_});
    return true;
  });
  std::erase_if(from.labels, [&](const auto& entry) { return isOurs(entry.second); });
  return result;
}

std::string GpuActivityRecorder::describe() const { return fmt::format("CUPTI {}", cuptiHeaderVersion()); }

}  // namespace tokamak
