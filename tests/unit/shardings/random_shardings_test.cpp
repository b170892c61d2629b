// Properties of propagate-shardings over random programs with random marks.
#include <cstdio>

#include <gmock/gmock.h>

#include "unit/shardings/random_program.h"
#include "unit/shardings/sharding_case.h"
#include "unit/symbolic/random_scalars.h"

namespace tokamak {
namespace {

using test::caseCount;
using test::Index;
using test::ModelTensor;
using test::RandomProgram;

const DeviceMesh kMeshes[] = {{.shape = {2}, .devices = {0, 1}},
                              {.shape = {3}, .devices = {2, 0, 5}},
                              {.shape = {2, 3}, .devices = {0, 1, 2, 3, 4, 5}}};

// The devices of each mark of a mesh.
std::map<ParallelType, int64_t> typesOf(const DeviceMesh& mesh) {
  std::map<ParallelType, int64_t> types = {{ParallelType::DIDx, mesh.shape.back()}};
  if (mesh.shape.size() > 1) types[ParallelType::DIDy] = mesh.shape[mesh.shape.size() - 2];
  return types;
}

// A program read from its text, with tensors by their numbers in the model.
struct Program {
  Program(const RandomProgram& model, const std::vector<std::string>& names) : fusion(fusionFrom(model.text(names))) {
    std::map<std::string, TensorView*> named;
    for (TensorView* tensor : fusion->allTensors()) named[tensor->name()] = tensor;
    for (const std::string& name : names) tensors.push_back(named.at(name));
  }
  std::unique_ptr<Fusion> fusion;
  std::vector<TensorView*> tensors;
};

// What was said of one tensor: a mesh, and how each device axis was made.
struct Marks {
  size_t tensor = 0;
  DeviceMesh mesh;
  struct Axis {
    int64_t axis = 0;
    int64_t factor = 0;  // 0: no split
    SplitSide side = SplitSide::Outer;
    ParallelType type = ParallelType::DIDx;
  };
  std::vector<Axis> axes;
};

Marks drawMarks(std::mt19937_64& random, size_t tensor, const Index& shape) {
  const auto below = [&](size_t count) { return static_cast<int64_t>(random() % count); };
  Marks marks{.tensor = tensor, .mesh = kMeshes[below(std::size(kMeshes))], .axes = {}};
  std::vector<int64_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), int64_t{0});
  std::ranges::shuffle(axes, random);
  for (const auto& [type, devices] : typesOf(marks.mesh)) {
    if (axes.empty() || below(4) == 0) continue;
    const int64_t axis = axes.back();
    axes.pop_back();
    const int64_t size = shape[static_cast<size_t>(axis)];
    if (size == 1) continue;  // (A broadcast axis has one part.)
    const int64_t chunk = 1 + below(4);
    if (size == devices && below(2) == 0)
      marks.axes.push_back({.axis = axis, .factor = 0, .type = type});
    else if ((size + chunk - 1) / chunk == devices)
      marks.axes.push_back({.axis = axis, .factor = chunk, .side = SplitSide::Inner, .type = type});
    else
      marks.axes.push_back({.axis = axis, .factor = devices, .side = SplitSide::Outer, .type = type});
  }
  return marks;
}

void give(Program& program, const Marks& marks) {
  TensorView* tensor = program.tensors[marks.tensor];
  set_device_mesh(tensor, marks.mesh);
  const Axes shape = shapeOf(*tensor);
  for (const Marks::Axis& mark : marks.axes) {
    const auto position =
        std::ranges::find(tensor->loop(), shape[static_cast<size_t>(mark.axis)]) - tensor->loop().begin();
    if (mark.factor != 0) split(tensor, position, mark.factor, mark.side);
    parallelize(tensor, position, mark.type);
  }
}

// The model of a part: the indices of the axis, of `size`, at which the loop marked `type` is at `rank`.
std::set<int64_t> partOf(const TensorView& tensor, ParallelType type, int64_t size, int64_t rank) {
  const IterDomain* marked = *std::ranges::find(tensor.loop(), type, &IterDomain::parallelType);
  std::vector<const DomainExpr*> steps;
  for (const IterDomain* axis = marked; axis->definition() != nullptr; axis = axis->definition()->in[0])
    steps.insert(steps.begin(), axis->definition());
  std::set<int64_t> part;
  for (int64_t i = 0; i < size; ++i) {
    int64_t index = i;
    int64_t count = size;
    for (const DomainExpr* step : steps) {
      const int64_t factor = *step->factor->constantInt();
      const int64_t other = (count + factor - 1) / factor;
      index /= step->is_inner_factor ? factor : other;
      count = step->is_inner_factor ? other : factor;
    }
    if (index == rank) part.insert(i);
  }
  return part;
}

// A mark that was decided: axis `axis` of `tensor` is axis `from_axis` of `from`, or has its elements.
struct Decided {
  size_t tensor = 0;
  size_t from = 0;
  ParallelType type = ParallelType::DIDx;
  int64_t axis = 0;
  int64_t from_axis = 0;
};

size_t numberOf(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<size_t>(std::ranges::find(names, name) - names.begin());
}

std::optional<Decided> decidedBy(const ShardingCommand& command, const std::vector<std::string>& names) {
  if (!command.text.starts_with("parallelize(")) return std::nullopt;
  Decided decided;
  const std::string tensor = command.text.substr(12, command.text.find(',') - 12);
  decided.tensor = numberOf(names, tensor);
  char type[8] = {};
  char from[16] = {};
  int axis = 0;
  EXPECT_EQ(std::sscanf(command.reason.c_str(), "%7s of %15[^:]: axis %d", type, from, &axis), 3) << command.reason;
  decided.from = numberOf(names, from);
  decided.type = *parallelTypeFromName(type);
  decided.axis = axis;
  decided.from_axis = std::stoll(command.reason.substr(command.reason.rfind(' ') + 1));
  return decided;
}

// The reader's part reads exactly the part of what is read: of each index that anybody reads.
void expectSamePart(const RandomProgram& model, const Program& program, const Decided& decided) {
  const std::vector<ModelTensor>& tensors = model.tensors();
  const auto reads = [&](size_t reader, size_t operand) {
    return std::ranges::find(tensors[reader].operands, operand) != tensors[reader].operands.end();
  };
  const bool is_forward = reads(decided.tensor, decided.from);
  ASSERT_TRUE(is_forward || reads(decided.from, decided.tensor)) << "a mark from no neighbour";
  const size_t reader = is_forward ? decided.tensor : decided.from;
  const size_t operand = is_forward ? decided.from : decided.tensor;
  const auto reader_axis = static_cast<size_t>(is_forward ? decided.axis : decided.from_axis);
  const auto operand_axis = static_cast<size_t>(is_forward ? decided.from_axis : decided.axis);
  std::map<int64_t, std::set<int64_t>> read_by;  // index of the reader's axis -> of the operand's
  std::set<int64_t> all;
  test::forEachIndex(tensors[reader].shape, [&](const Index& at) {
    tensors[reader].reads(at, [&](size_t tensor, const Index& index) {
      if (tensor != operand) return;
      read_by[at[reader_axis]].insert(index[operand_axis]);
      all.insert(index[operand_axis]);
    });
  });
  for (int64_t rank = 0; rank < typesOf(program.tensors[decided.tensor]->mesh()).at(decided.type); ++rank) {
    std::set<int64_t> wanted;
    for (const int64_t i : partOf(*program.tensors[reader], decided.type, tensors[reader].shape[reader_axis], rank))
      wanted.insert(read_by[i].begin(), read_by[i].end());
    std::set<int64_t> had;
    for (const int64_t i :
         partOf(*program.tensors[operand], decided.type, tensors[operand].shape[operand_axis], rank)) {
      if (all.contains(i)) had.insert(i);
    }
    EXPECT_EQ(wanted, had) << "rank " << rank << " of " << parallelTypeName(decided.type);
  }
}

// Mesh and loops, without names.
std::vector<std::string> marksOf(const Program& program) {
  std::vector<std::string> texts;
  for (const TensorView* tensor : program.tensors) {
    texts.push_back(joined(tensor->mesh().devices, " ") + "/" + joined(tensor->mesh().shape, " ") + ":");
    for (const IterDomain* axis : tensor->loop()) texts.back() += " " + describeLoop(*axis);
  }
  return texts;
}

std::vector<std::string> namesLike(const RandomProgram& model, std::mt19937_64& random) {
  std::vector<std::string> names;
  for (size_t i = 0; i < model.tensors().size(); ++i) names.push_back(fmt::format("t{}", i));
  std::ranges::shuffle(names, random);
  return names;
}

TEST(RandomShardings, MarksAreThePartsThatOpsReadWhateverTheNames) {
  std::mt19937_64 random(190);
  int64_t decided_axes = 0;
  int64_t decided_meshes = 0;
  for (int64_t i = 0; i < caseCount(1'500); ++i) {
    const RandomProgram model(random);
    const std::vector<std::string> names = namesLike(model, random);
    Program program(model, names);
    Program other(model, namesLike(model, random));
    std::set<size_t> said;
    for (size_t tensor = 0; tensor < model.tensors().size(); ++tensor) {
      if (random() % 3 != 0) continue;
      const Marks marks = drawMarks(random, tensor, model.tensors()[tensor].shape);
      give(program, marks);
      give(other, marks);
      said.insert(tensor);
    }
    SCOPED_TRACE(fmt::format("case {}:\n{}", i, printFusion(*program.fusion)));
    expectPromises(*program.fusion);
    const std::vector<std::string> before = marksOf(program);
    const std::vector<ShardingCommand> commands = giveShardings(*program.fusion);
    giveShardings(*other.fusion);
    const std::vector<std::string> after = marksOf(program);
    EXPECT_EQ(after, marksOf(other)) << "names matter";
    for (const size_t tensor : said) EXPECT_EQ(before[tensor], after[tensor]) << "the user's marks have changed";
    for (const ShardingCommand& command : commands) {
      const auto decided = decidedBy(command, names);
      ++(decided ? decided_axes : decided_meshes);
      SCOPED_TRACE(command.text + "  // " + command.reason);
      if (decided) expectSamePart(model, program, *decided);
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(decided_axes, caseCount(1'500) / 2);
  EXPECT_GT(decided_meshes, caseCount(1'500));
}

// What is left without a mesh is not connected with any.
TEST(RandomShardings, AllThatIsConnectedWithAMeshHasOne) {
  std::mt19937_64 random(191);
  for (int64_t i = 0; i < caseCount(300); ++i) {
    const RandomProgram model(random);
    Program program(model, namesLike(model, random));
    give(program, drawMarks(random, random() % model.tensors().size(), {}));
    giveShardings(*program.fusion);
    for (size_t tensor = 0; tensor < model.tensors().size(); ++tensor) {
      for (const size_t operand : model.tensors()[tensor].operands) {
        EXPECT_EQ(program.tensors[tensor]->mesh().empty(), program.tensors[operand]->mesh().empty())
            << printFusion(*program.fusion);
      }
    }
  }
}

}  // namespace
}  // namespace tokamak
