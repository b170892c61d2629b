// Meshes and device axes by commands: what they print as, and what is refused.
#include "schedule/set_device_mesh.h"

#include <gmock/gmock.h>

#include "schedule/transforms.h"
#include "unit/schedule/schedule_case.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

constexpr const char* kExp = "fusion f(T0: f32[n, 2]) -> T1 { T1 = exp(T0) }\n";

TEST(ScheduleMesh, AMeshIsAMarkOfTheType) {
  EXPECT_THAT(after(kExp, "set_device_mesh(T1, mesh=mesh(0, 1))"), HasSubstr("T1: f32[n, 2] mesh(0, 1) = exp(T0)"));
  EXPECT_THAT(after(kExp, "set_device_mesh(T1, mesh((0, 3), (2, 5)))"),
              HasSubstr("T1: f32[n, 2] mesh((0, 3), (2, 5)) = exp(T0)"));
  EXPECT_THAT(after(kExp, "set_device_mesh(T1, mesh=[4, 2])"), HasSubstr("T1: f32[n, 2] mesh(4, 2) = exp(T0)"));
  EXPECT_THAT(after(kExp, "set_device_mesh(T1, mesh=[4]) set_device_mesh(T1, mesh=\"mesh(7)\")"),
              HasSubstr("T1: f32[n, 2] mesh(7) = exp(T0)"))
      << "another mesh is replaced";
}

TEST(ScheduleMesh, WithSplitsAndMarksItIsTheWholeOfATensorsSharding) {
  EXPECT_EQ(scheduleAfter(kExp,
                          "set_device_mesh(T0, mesh((0, 1), (2, 3))) split(T0, 0, 2, inner_split=false) "
                          "parallelize(T0, axis=0, type=DIDy) parallelize(T0, axis=2, type=DIDx)"),
            "  split(T0, axis=0, factor=2, inner_split=false)\n  parallelize(T0, axis=0, type=DIDy)\n"
            "  parallelize(T0, axis=2, type=DIDx)\n");
}

TEST(ScheduleMesh, MarksMayComeBeforeTheMesh) {
  EXPECT_EQ(scheduleAfter(kExp, "parallelize(T0, axis=1, type=DIDx) set_device_mesh(T0, mesh(0, 1))"),
            "  parallelize(T0, axis=1, type=DIDx)\n");
}

TEST(ScheduleMesh, MeshesThatAreNoneAreRefused) {
  EXPECT_EQ(refusalOf(kExp, "set_device_mesh(T0, mesh=[])"),
            "set_device_mesh: T0: f32[n, 2]: its mesh names no rank; legal is one or more, as in mesh(0)");
  EXPECT_EQ(refusalOf(kExp, "set_device_mesh(T0, mesh=mesh((0, 1), (1, 2)))"),
            "set_device_mesh: T0: f32[n, 2]: its mesh names rank 1 twice; each stands in one place");
  EXPECT_EQ(refusalOf(kExp, "set_device_mesh(T0, mesh=mesh(0, -1))"),
            "set_device_mesh: T0: f32[n, 2]: its mesh names rank -1; ranks are 0 or more");
  EXPECT_EQ(refusalOf(kExp, "set_device_mesh(T0, mesh=all)"),
            "set_device_mesh: 'mesh' of T0: f32[n, 2] must be a mesh, such as mesh(0, 1) or mesh((0, 1), (2, 3)); got "
            "all");
  EXPECT_EQ(refusalOf(kExp, "set_device_mesh(T0, mesh=3)"),
            "set_device_mesh: 'mesh' of T0: f32[n, 2] must be a mesh, such as mesh(0, 1) or mesh((0, 1), (2, 3)); got "
            "the argument 'mesh'");
  EXPECT_THAT(refusalOf(kExp, "set_device_mesh(T0)"), HasSubstr("set_device_mesh: argument 'mesh' is missing"));
}

TEST(ScheduleMesh, AMeshHasAPlaceInTheTextWhereItIsWrong) {
  const auto refusal = [](const std::string& mesh) {
    const Error error =
        errorOf([&] { fusionFrom(std::string(kExp) + "schedule {\n set_device_mesh(T0, mesh=" + mesh + ")\n}\n"); });
    EXPECT_EQ(error.code(), ErrorCode::Parse);
    return error.message();
  };
  EXPECT_THAT(refusal("mesh()"), HasSubstr("test.fusion:3:32: unexpected ')'; expected the number of a device"));
  EXPECT_THAT(refusal("mesh((0, 1), (2))"), HasSubstr("all rows of a mesh must be equally long"));
  EXPECT_THAT(refusal("mesh((0, 1), 2)"), HasSubstr("unexpected '2'; expected '('"));
  EXPECT_THAT(refusal("\"mesh(0, 1) (2, 3)\""), HasSubstr("expected the end of the mesh"));
}

TEST(ScheduleMesh, MarksThatDoNotFitTheMeshAreRefused) {
  const std::string mesh = "set_device_mesh(T0, mesh(0, 1)) ";
  EXPECT_EQ(refusalOf(kExp, mesh + "parallelize(T0, axis=0, type=DIDx)"),
            "parallelize: DIDx on axis 0 (iDIDx{n}) of T0: it has n parts, and dimension 0 of the mesh has 2 devices; "
            "split the axis by 2 with inner_split=false, and mark the outer part");
  EXPECT_EQ(refusalOf(kExp, mesh + "parallelize(T0, axis=1, type=DIDy)"),
            "parallelize: DIDy on axis 1 (iDIDy{2}) of T0: the mesh has 1 dimension(s); DIDx is the last one, DIDy the "
            "one before, DIDz the one before that");
  const std::string outer = mesh + "split(T0, axis=0, factor=2, inner_split=false) ";
  EXPECT_THAT(refusalOf(kExp, outer + "parallelize(T0, axis=0, type=DIDx) parallelize(T0, axis=1, type=Stream)"),
              HasSubstr("both are parts of one axis; a device has one run of indices, so mark another axis"));
  EXPECT_THAT(refusalOf(kExp, outer + "parallelize(T0, axis=1, type=Stream) parallelize(T0, axis=0, type=DIDx)"),
              HasSubstr("both are parts of one axis; a device has one run of indices, so mark another axis"));
  EXPECT_THAT(refusalOf(kExp, mesh + "split(T0, axis=0, factor=2) parallelize(T0, axis=1, type=DIDx)"),
              HasSubstr("parallelize: DIDx on axis 1 (iDIDx{2}) of T0: it is the inner part of a split"));
  EXPECT_THAT(refusalOf(kExp, outer + "parallelize(T0, axis=0, type=DIDx) parallelize(T0, axis=2, type=DIDx)"),
              HasSubstr("a dimension is given to one axis of a tensor"));
}

TEST(ScheduleMesh, AMeshThatDoesNotFitTheMarksIsRefusedAndNotSet) {
  const auto fusion = fusionFrom(std::string(kExp) + "schedule { parallelize(T0, axis=1, type=DIDx) }");
  TensorView* x = tensorOf(*fusion, 0);
  EXPECT_EQ(errorOf([&] { set_device_mesh(x, {.shape = {3}, .devices = {0, 1, 2}}); }).message(),
            "set_device_mesh: DIDx on axis 1 (iDIDx{2}) of T0: it has 2 parts, and dimension 0 of the mesh has 3 "
            "devices; split the axis by 3 with inner_split=false, and mark the outer part");
  EXPECT_TRUE(x->mesh().empty());
  EXPECT_EQ(errorOf([&] { set_device_mesh(x, {.shape = {2}, .devices = {0}}); }).message(),
            "set_device_mesh: T0: f32[n, 2]: its mesh of the shape [2] has 1 ranks; it needs one for each place");
  set_device_mesh(x, {.shape = {2}, .devices = {1, 0}});
  EXPECT_EQ(x->mesh().devices, (std::vector<int64_t>{1, 0}));
}

}  // namespace
}  // namespace tokamak
