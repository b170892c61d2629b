// Any bytes as a program that calls the API: define, schedule, pass over, clone, print, lower. Every refusal is a typed
// error and leaves the fusion as legal as before. Most inputs are programs that made no error, with a few bytes
// exchanged.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "compile/lower_fusion.h"
#include "define/callables.h"
#include "graph/fusion_passes.h"
#include "host/ir/text/host_printer.h"
#include "host/ir/verifier.h"
#include "ir/clone.h"
#include "ir/equal.h"
#include "ir/text/fusion_printer.h"
#include "ir/verifier.h"
#include "schedule/propagate.h"
#include "schedule/transforms.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace tokamak;

// Bytes read one after the other; zeros behind the end.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool isAtEnd() const { return at_ >= size_; }
  size_t position() const { return std::min(at_, size_); }
  uint8_t next() { return isAtEnd() ? 0 : data_[at_++]; }
  size_t below(size_t n) { return next() % n; }
  bool isOneIn(size_t n) { return next() % n == n - 1; }
  int64_t integer() {
    constexpr int64_t rare[] = {
        -1, 1000, int64_t{1} << 31, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), -7};
    const uint8_t byte = next();
    return byte < 240 ? byte % 5 : rare[byte % std::size(rare)];
  }
  double number() { return static_cast<double>(integer()) / 2; }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

class Caller {
 public:
  explicit Caller(Bytes bytes) : bytes_(bytes), fusion_(std::make_unique<Fusion>("fuzz")) {}

  void run() {
    for (int calls = 0; calls < 24 && !bytes_.isAtEnd(); ++calls) {
      const size_t start = bytes_.position();
      try {
        call();
        ++done_;
      } catch (const Error& error) {
        if (errors_++ == 0) first_refused_ = start;
        requireTyped(error);
        requireLegal("a refused call left a broken fusion");
      }
    }
    requireLegal("the calls made a broken fusion");
    if (!fusion_->outputs().empty()) finish();
  }

  int64_t done() const { return done_; }
  int64_t errors() const { return errors_; }
  /// Where the bytes of the first refused call begin.
  size_t firstRefused() const { return first_refused_; }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& detail) const {
    std::string text;
    try {
      text = printFusion(*fusion_);
    } catch (const Error& error) {
      text = error.what();
    }
    std::fprintf(stderr, "%s: %s\n%s\n", what.c_str(), detail.c_str(), text.c_str());
    std::abort();
  }
  void requireTyped(const Error& error) const {
    if (error.code() == ErrorCode::Internal) fail("an internal error", error.what());
  }
  void requireLegal(const char* what) const {
    const std::vector<Violation> violations = violationsOf(*fusion_, Stage::Scheduled);
    if (!violations.empty()) fail(what, violations.front().message);
  }

  void call() {
    switch (bytes_.below(16)) {
      case 0:
      case 1: return addInput();
      case 2: return addScalar();
      case 3: return addOutput();
      case 4:
      case 5:
      case 6:
      case 7: return schedule();
      case 8: return extra();
      default: return define();
    }
  }

  DataType dtype() { return kAllDataTypes[bytes_.below(std::size(kAllDataTypes))]; }
  Val* val() { return vals_.empty() ? nullptr : vals_[vals_.size() - 1 - bytes_.below(vals_.size())]; }
  TensorView* tensor() {
    for (int tries = 0; tries < 8; ++tries) {
      Val* found = val();
      if (found != nullptr && found->kind() == ValKind::Tensor) return asTensor(found);
    }
    return nullptr;
  }
  Scalar* extent() {
    const uint8_t byte = bytes_.next();
    if (byte < 160) return fusion_->symbol(byte % 2 == 0 ? "i0" : "i2");
    return fusion_->constant(byte < 240 ? byte % 9 : bytes_.integer());
  }

  void addInput() {
    Axes axes;
    for (size_t rank = bytes_.below(4); rank > 0; --rank) {
      if (bytes_.isOneIn(6))
        axes.push_back(fusion_->axis({.kind = IterKind::Broadcast}));
      else
        axes.push_back(fusion_->axis({.extent = extent()}));
    }
    TensorView* made = fusion_->tensor(bytes_.isOneIn(4) ? dtype() : DataType::F32, std::move(axes));
    fusion_->addInput(made);
    vals_.push_back(made);
  }
  void addScalar() {
    Scalar* made = bytes_.isOneIn(2) ? fusion_->constant(bytes_.integer())
                                     : fusion_->symbol("s" + std::to_string(bytes_.below(3)), dtype());
    if (made->isSymbol() && !fusion_->isInput(made)) fusion_->addInput(made);
    vals_.push_back(made);
  }
  void addOutput() {
    if (TensorView* found = tensor(); found != nullptr) fusion_->addOutput(found);
  }

  // A value of the form that a parameter of this name usually takes; one of twelve is of any form.
  FieldValue argument(const Parameter& parameter) {
    const std::string_view name = parameter.name;
    const auto isAny = [&](std::initializer_list<std::string_view> names) {
      return std::ranges::find(names, name) != names.end();
    };
    if (bytes_.isOneIn(12)) return anything();
    if (isAny({"axes", "order", "starts", "stops", "steps", "widths", "shape"})) {
      std::vector<int64_t> list;
      for (size_t n = bytes_.below(5); n > 0; --n) list.push_back(bytes_.integer());
      return list;
    }
    if (name == "flags") return flags();
    if (isAny({"axis", "index", "start", "stop", "step", "length", "norm_axes"})) return bytes_.integer();
    if (name == "dtype") return dtype();
    if (isAny({"keepdim", "is_causal"})) return bytes_.isOneIn(2);
    if (isAny({"eps", "beta", "slope", "threshold", "correction", "scale", "value"})) return bytes_.number();
    if (name == "in" && bytes_.isOneIn(16)) return tensors();
    return value(tensor());
  }
  static FieldValue value(Val* val) { return val == nullptr ? FieldValue(std::monostate{}) : FieldValue(val); }
  FieldValue flags() {
    std::vector<bool> list;
    for (size_t n = bytes_.below(5); n > 0; --n) list.push_back(bytes_.isOneIn(2));
    return list;
  }
  FieldValue tensors() {
    std::vector<Val*> list;
    for (size_t n = bytes_.below(4); n > 0; --n) {
      if (Val* found = val(); found != nullptr) list.push_back(found);
    }
    return list;
  }
  FieldValue anything() {
    switch (bytes_.below(9)) {
      case 0: return value(val());
      case 1: return bytes_.integer();
      case 2: return bytes_.number();
      case 3: return bytes_.isOneIn(2);
      case 4: return dtype();
      case 5: return flags();
      case 6: return tensors();
      case 7: return std::string("what");
      default: return std::monostate{};
    }
  }

  void define() {
    const auto callables = allCallables();
    const Callable& callable = callables[(bytes_.next() + 256U * bytes_.below(2)) % callables.size()];
    std::vector<CallArgument> arguments;
    for (const Parameter& parameter : callable.parameters) {
      if (!parameter.is_required && bytes_.isOneIn(2)) continue;
      if (parameter.is_required && bytes_.isOneIn(64)) continue;
      arguments.push_back({parameter.name, argument(parameter)});
    }
    if (bytes_.isOneIn(64)) arguments.push_back({"what", anything()});
    for (Val* result : callByName(*fusion_, callable, arguments)) vals_.push_back(result);
  }

  void schedule() {
    TensorView* found = tensor();
    if (found == nullptr) return;
    const int64_t axis = bytes_.integer();
    switch (bytes_.below(7)) {
      case 0: return split(found, axis, bytes_.integer());
      case 1: return outer_split(found, axis, bytes_.integer());
      case 2: return merge(found, axis);
      case 3: {
        std::vector<int64_t> order;
        for (size_t n = bytes_.below(5); n > 0; --n) order.push_back(bytes_.integer());
        return reorder(found, order);
      }
      case 4:
      case 5: return parallelize(found, axis, ParallelType::Stream);
      default: return propagate(found);
    }
  }

  void extra() {
    switch (bytes_.below(4)) {
      case 0: {
        TensorView* output = tensor();
        Val* input = val();
        if (output != nullptr && input != nullptr) fusion_->aliasOutput(output, input);
        return;
      }
      case 1: return static_cast<void>(cloneFusion(*fusion_));
      case 2: return static_cast<void>(printFusion(*fusion_));
      default: {
        const auto passes = fusionPasses();
        const auto result = passes[bytes_.below(passes.size())].run(*fusion_);
        const std::vector<Violation> violations = violationsOf(*result, Stage::Scheduled);
        if (!violations.empty()) fail("a pass made a broken fusion", violations.front().message);
      }
    }
  }

  // The fusion as it is now is cloned, printed and lowered.
  void finish() {
    // Names that are given in order of creation would differ in a clone.
    int64_t label = 0;
    for (TensorView* made : fusion_->allTensors()) made->setLabel(label++);
    try {
      const auto clone = cloneFusion(*fusion_);
      if (!isEqual(*fusion_, *clone)) fail("the clone differs", firstDifference(*fusion_, *clone));
      printFusion(*fusion_);
    } catch (const Error& error) {
      fail("a legal fusion is refused", error.what());
    }
    const Grouping grouping = done_ % 2 == 0 ? Grouping::Single : Grouping::Segments;
    const StreamSync sync = done_ % 4 < 2 ? StreamSync::Hoisted : StreamSync::InLoop;
    try {
      const auto program = lowerToHostProgram(*fusion_, {.grouping = grouping, .stream_sync = sync});
      verifyHostProgram(*program);
      printHostProgram(*program);
    } catch (const Error& error) {
      requireTyped(error);
    }
    requireLegal("lowering changed the fusion");
  }

  Bytes bytes_;
  std::unique_ptr<Fusion> fusion_;
  std::vector<Val*> vals_;
  int64_t done_ = 0;
  int64_t errors_ = 0;
  size_t first_refused_ = 0;
};

bool isValid(const std::vector<uint8_t>& bytes) {
  Caller caller(Bytes(bytes.data(), bytes.size()));
  caller.run();
  return caller.errors() == 0 && caller.done() >= 5;
}

// Programs of several calls without an error: random ones up to their first refused call.
std::vector<std::vector<uint8_t>>& validPrograms() {
  static std::vector<std::vector<uint8_t>> programs = [] {
    std::vector<std::vector<uint8_t>> found;
    std::mt19937 random(1);
    for (int tries = 0; tries < 2000 && found.size() < 100; ++tries) {
      std::vector<uint8_t> bytes(30 + random() % 60);
      std::ranges::generate(bytes, [&] { return static_cast<uint8_t>(random()); });
      bytes[0] = 0;
      Caller caller(Bytes(bytes.data(), bytes.size()));
      caller.run();
      if (caller.errors() > 0) bytes.resize(caller.firstRefused());
      if (isValid(bytes)) found.push_back(bytes);
    }
    return found;
  }();
  return programs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Caller caller(Bytes(data, size));
  caller.run();
  constexpr size_t kKept = 500;
  if (caller.errors() == 0 && caller.done() >= 5 && validPrograms().size() < kKept)
    validPrograms().emplace_back(data, data + size);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  if (below(4) == 0 || validPrograms().empty()) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<uint8_t> bytes = validPrograms()[below(validPrograms().size())];
  for (size_t changes = 1 + below(3); changes > 0; --changes) {
    const size_t at = below(bytes.size());
    switch (below(3)) {
      case 0: bytes[at] = static_cast<uint8_t>(below(256)); break;
      case 1: bytes.insert(bytes.begin() + static_cast<int64_t>(at), static_cast<uint8_t>(below(256))); break;
      default: bytes.push_back(static_cast<uint8_t>(below(256))); break;
    }
  }
  const size_t length = std::min(bytes.size(), max_size);
  std::copy_n(bytes.begin(), length, data);
  return length;
}
