#include "rank_proof/program_of_ranks.h"

#include <vector>

#include <fmt/format.h>

namespace tokamak {

namespace {

class ProgramOfRanks {
 public:
  ProgramOfRanks(std::mt19937& random, int64_t ranks) : random_(random), d_(ranks) {
    for (int64_t rank = 0; rank < d_; ++rank) ranks_ += fmt::format("{}{}", rank == 0 ? "" : " ", rank);
    const bool is_square = d_ % 2 == 0 && d_ > 2 && draw(0, 1) == 0;
    mesh_ = ranks_;
    if (is_square) {
      mesh_ = "{";
      for (int64_t rank = 0; rank < d_; ++rank)
        mesh_ += fmt::format("{}{}", rank == 0 ? "" : rank == d_ / 2 ? "} {" : " ", rank);
      mesh_ += "}";
    }
    row_ = is_square ? firstRanks(d_ / 2) : ranks_;
  }

  std::string make() {
    const std::string whole = tensor("iS@{" + std::to_string(d_) + "}, iS@{4}");
    source_ = whole;
    const int64_t statements = draw(1, 4);
    for (int64_t i = 0; i < statements; ++i) {
      switch (draw(0, 5)) {
        case 0: collective(); break;
        case 1: ring(); break;
        case 2: slices(); break;
        case 3: pairs(); break;
        case 4: chosen(); break;
        default: gather(); break;
      }
    }
    return fmt::format("%HostIrContainer {{ ({}) -> () :\n{}}} // %HostIrContainer\n", whole, text_);
  }

 private:
  int64_t draw(int64_t from, int64_t to) { return std::uniform_int_distribution<int64_t>(from, to)(random_); }
  bool isWrong() { return draw(0, 7) == 0; }
  static std::string firstRanks(int64_t count) {
    std::string text;
    for (int64_t rank = 0; rank < count; ++rank) text += fmt::format("{}{}", rank == 0 ? "" : " ", rank);
    return text;
  }

  // A new tensor; each @ is the number of an axis.
  std::string tensor(std::string axes) {
    for (size_t at = axes.find('@'); at != std::string::npos; at = axes.find('@'))
      axes.replace(at, 1, std::to_string(next_axis_++));
    return fmt::format("T{}_g_float[{}] (DeviceMesh{{{}}})", next_tensor_++, axes, mesh_);
  }

  // One that has a value.
  std::string filled() {
    const std::string made = tensor("iS@{" + std::to_string(d_) + "}, iS@{4}");
    text_ += fmt::format(
        "  {} = ALLOCATE(buffer={}, mem_type=global, size={}, zero_init=false, "
        "resets_to_zero=false)\n  {}\n     = -{};\n",
        made, made, 4 * d_, made, source_);
    return made;
  }

  std::string allocated(std::string made, int64_t size) {
    text_ +=
        fmt::format("  {} = ALLOCATE(buffer={}, mem_type=global, size={}, zero_init=false, resets_to_zero=false)\n",
                    made, made, size);
    return made;
  }

  // Each rank has a term; of a mesh of one dimension.
  std::string terms() {
    const std::string d = std::to_string(d_);
    const std::string parts = allocated(tensor("ideviceIdx.x@{" + d + "}, iS@{4}"), 4 * d_);
    const std::string sum = allocated(tensor("rS@{" + d + "}, iS@{4}") + " (Partial{sum DIDx})", 4);
    text_ += fmt::format(
        "  {}\n     = Set( {}, cache_op=Streaming )\n  {}\n     = reduction( {}, op = add, initial value = float(0), "
        "allreduce = false )\n",
        parts, filled(), sum, parts);
    return sum;
  }

  // "iS7" of a tensor's first axis.
  std::string firstAxis(const std::string& of) const {
    const size_t start = of.find('[') + 1;
    return of.substr(start, of.find(',') - start);
  }

  std::string select(const std::string& of, const std::string& index) {
    const std::string row = tensor("iS@{4}");
    text_ += fmt::format("  {}\n     = HirAliasSelect( {}, axis = {}, index = {} )\n", row, of, firstAxis(of), index);
    return row;
  }

  std::string further(int64_t steps) { return fmt::format("( ( rank + {} ) % {} )", steps, d_); }

  void transfer(const char* type, const std::string& buffer, const std::string& peer, const std::string& margin = "") {
    waits_.push_back(next_number_);
    text_ += fmt::format("{}  P2PCommunication {} (type={}, buffer={}, peer={}, backend=Local)\n", margin,
                         next_number_++, type, buffer, peer);
  }

  void waitForAll() {
    if (draw(0, 1) == 0) std::swap(waits_.front(), waits_.back());
    for (const int64_t number : waits_) text_ += fmt::format("  Wait Communication {}\n", number);
    waits_.clear();
  }

  void use(const std::string& row) {
    const std::string made = tensor("iS@{4}");
    text_ += fmt::format(
        "  {} = ALLOCATE(buffer={}, mem_type=global, size=4, zero_init=false, "
        "resets_to_zero=false)\n  {}\n     = -{};\n",
        made, made, made, row);
  }

  void collective() {
    const bool has_root = mesh_ != ranks_ || draw(0, 1) == 0;
    const std::string in = has_root ? filled() : terms();
    const std::string out = has_root ? filled() : allocated(tensor("iS@{4}"), 4);
    text_ += fmt::format("  Communication {} (type={}, team=({}), {}input={}, output={}, backend=Local)\n",
                         next_number_, has_root ? "Broadcast" : "Allreduce", row_, has_root ? "root=1, " : "", in, out);
    if (isWrong()) use(has_root ? select(out, further(draw(0, 2))) : out);
    text_ += fmt::format("  Wait Communication {}\n", next_number_++);
  }

  void ring() {
    const int64_t steps = draw(1, d_ - 1);
    const std::string in = filled();
    const std::string out = filled();
    const bool is_late = isWrong();
    transfer("send", in, further(steps));
    if (is_late) waitForAll();
    transfer("recv", out, further(isWrong() ? steps : d_ - steps));
    waitForAll();
  }

  // Into a row whose place is computed of the rank, while another one is read.
  void slices() {
    const std::string all = filled();
    const int64_t place = draw(0, d_ - 1);
    const std::string row = select(all, further(place));
    const std::string other = draw(0, 1) == 0 ? select(all, further(isWrong() ? place : (place + 1) % d_))
                                              : select(all, isWrong() ? "1" : further((place + 1) % d_));
    transfer("send", filled(), further(1));
    transfer("recv", isWrong() ? all : row, further(d_ - 1));
    use(other);
    waitForAll();
  }

  // Ranks of even numbers send to the next one.
  void pairs() {
    if (d_ % 2 != 0) return ring();
    const std::string in = filled();
    const std::string out = filled();
    const int64_t number = next_number_;
    text_ += "  IF ( ( rank % 2 ) == 0 ):\n";
    transfer("send", in, isWrong() ? further(1) : "( rank + 1 )", "  ");
    text_ += "  ELSE:\n";
    next_number_ = number;
    waits_.clear();
    transfer("recv", out, "( rank - 1 )", "  ");
    waitForAll();
  }

  void chosen() {
    const std::string in = filled();
    const std::string out = filled();
    const int64_t rank = draw(0, d_ - 1);
    const std::string condition = isWrong() ? fmt::format("rank > {}", rank) : "rank >= 0";
    text_ += fmt::format(
        "  IF ( {} ):\n    Communication {} (type=Broadcast, team=({}), root=0, input={}, output={}, "
        "backend=Local)\n    Wait Communication {}\n",
        condition, next_number_, ranks_, in, out, next_number_);
    ++next_number_;
  }

  void gather() {
    const std::string whole = filled();
    if (mesh_ != ranks_) return;
    const std::string part = tensor("ideviceIdx.x@{" + std::to_string(d_) + "}, iS@{4}");
    text_ += fmt::format(
        "  {} = ALLOCATE(buffer={}, mem_type=global, size={}, zero_init=false, "
        "resets_to_zero=false)\n  {}\n     = Set( {}, cache_op=Streaming )\n",
        part, part, 4 * d_, part, whole);
    const std::string all = isWrong() ? whole : filled();
    text_ += fmt::format("  Communication {} (type=Allgather, team=({}), input={}, output={}, backend=Local)\n",
                         next_number_, ranks_, part, all);
    if (isWrong()) use(select(whole, further(1)));
    text_ += fmt::format("  Wait Communication {}\n", next_number_++);
  }

  std::mt19937& random_;
  const int64_t d_;
  std::string ranks_;
  std::string mesh_;
  std::string row_;
  std::string source_;
  std::string text_;
  int64_t next_tensor_ = 0;
  int64_t next_axis_ = 0;
  int64_t next_number_ = 0;
  std::vector<int64_t> waits_;
};

}  // namespace

std::string programOfRanks(std::mt19937& random, int64_t ranks) { return ProgramOfRanks(random, ranks).make(); }

}  // namespace tokamak
