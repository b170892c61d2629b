// Whether our own declarations of NCCL are those of its header, where that is found (scripts/setup installs it).
#include <cstddef>
#include <type_traits>

#include <gtest/gtest.h>

#ifdef TOKAMAK_HAS_NCCL_HEADER
#include <nccl.h>

#include "dist/nccl/nccl_library.h"
#include "dist/nccl/nccl_types.h"

namespace tokamak {

namespace {

static_assert(NCCL_VERSION_CODE >= nccl::kOldestVersion);
static_assert(sizeof(ncclUniqueId) == sizeof(nccl::UniqueId) && NCCL_UNIQUE_ID_BYTES == sizeof(nccl::UniqueId::bytes));
static_assert(sizeof(ncclResult_t) == sizeof(nccl::Result) && sizeof(ncclDataType_t) == sizeof(int) &&
              sizeof(ncclRedOp_t) == sizeof(int));
static_assert(ncclSuccess == nccl::kSuccess && ncclSystemError == nccl::kSystemError &&
              ncclRemoteError == nccl::kRemoteError && ncclInProgress == nccl::kInProgress);
static_assert(ncclUint8 == nccl::kUint8 && ncclInt32 == nccl::kInt32 && ncclInt64 == nccl::kInt64 &&
              ncclFloat16 == nccl::kFloat16 && ncclFloat32 == nccl::kFloat32 && ncclFloat64 == nccl::kFloat64 &&
              ncclBfloat16 == nccl::kBfloat16);
static_assert(ncclSum == nccl::kSum && ncclProd == nccl::kProd && ncclMax == nccl::kMax && ncclMin == nccl::kMin);
constexpr ncclConfig_t kInitial = NCCL_CONFIG_INITIALIZER;
static_assert(NCCL_CONFIG_UNDEF_INT == nccl::kUndefined && kInitial.magic == nccl::kConfigMagic);
static_assert(offsetof(ncclConfig_t, size) == offsetof(nccl::Config, size) &&
              offsetof(ncclConfig_t, magic) == offsetof(nccl::Config, magic) &&
              offsetof(ncclConfig_t, version) == offsetof(nccl::Config, version) &&
              offsetof(ncclConfig_t, blocking) == offsetof(nccl::Config, blocking) &&
              offsetof(ncclConfig_t, cgaClusterSize) == offsetof(nccl::Config, cluster_size) &&
              offsetof(ncclConfig_t, minCTAs) == offsetof(nccl::Config, fewest_blocks) &&
              offsetof(ncclConfig_t, maxCTAs) == offsetof(nccl::Config, most_blocks) &&
              offsetof(ncclConfig_t, netName) == offsetof(nccl::Config, network) &&
              offsetof(ncclConfig_t, splitShare) == offsetof(nccl::Config, shares_split));

// What a parameter or result of theirs is called here: handles, enumerations and structures by value have own names.
template <class T>
struct Own {
  using Type = std::conditional_t<std::is_enum_v<T>, int, T>;
};
template <>
struct Own<ncclComm_t> {
  using Type = nccl::Communicator;
};
template <>
struct Own<ncclComm_t*> {
  using Type = nccl::Communicator*;
};
template <>
struct Own<cudaStream_t> {
  using Type = driver::Stream;
};
template <>
struct Own<ncclUniqueId> {
  using Type = nccl::UniqueId;
};
template <>
struct Own<ncclUniqueId*> {
  using Type = nccl::UniqueId*;
};
template <>
struct Own<ncclConfig_t*> {
  using Type = nccl::Config*;
};
template <>
struct Own<ncclResult_t*> {
  using Type = nccl::Result*;
};

template <class Function>
struct OwnFunction;
template <class Result, class... Parameters>
struct OwnFunction<Result(Parameters...)> {
  using Type = typename Own<Result>::Type (*)(typename Own<Parameters>::Type...);
};

#define TK_IS_DECLARED(member, function) \
  static_assert(std::is_same_v<decltype(NcclLibrary::member), OwnFunction<decltype(function)>::Type>)
TK_IS_DECLARED(get_version, ncclGetVersion);
TK_IS_DECLARED(get_unique_id, ncclGetUniqueId);
TK_IS_DECLARED(init_rank, ncclCommInitRankConfig);
TK_IS_DECLARED(abort_communicator, ncclCommAbort);
TK_IS_DECLARED(async_error, ncclCommGetAsyncError);
TK_IS_DECLARED(error_string, ncclGetErrorString);
TK_IS_DECLARED(last_error, ncclGetLastError);
TK_IS_DECLARED(group_start, ncclGroupStart);
TK_IS_DECLARED(group_end, ncclGroupEnd);
TK_IS_DECLARED(all_reduce, ncclAllReduce);
TK_IS_DECLARED(reduce, ncclReduce);
TK_IS_DECLARED(reduce_scatter, ncclReduceScatter);
TK_IS_DECLARED(all_gather, ncclAllGather);
TK_IS_DECLARED(broadcast, ncclBroadcast);
TK_IS_DECLARED(send, ncclSend);
TK_IS_DECLARED(receive, ncclRecv);

}  // namespace

}  // namespace tokamak
#endif

namespace tokamak {

namespace {

TEST(NcclHeader, OurDeclarationsAreThoseOfTheHeader) {
#ifdef TOKAMAK_HAS_NCCL_HEADER
  SUCCEED() << "compared while this was compiled, with version " << NCCL_VERSION_CODE;
#else
  GTEST_SKIP() << "nccl.h was not found; scripts/setup installs it";
#endif
}

}  // namespace

}  // namespace tokamak
