// What $TOKAMAK_FAKE_CUDA asks of the fake driver, read at every cuInit.
//   devices=2 version=12080 memory=1000000 lacks=122   devices, version, bytes per device, an attribute that is 0
//   attribute=16:128 attribute=120:0                   values of device attributes
//   cublas=130000                                      the version that the fake library says
//   ignores_launches=1                                 launches do nothing: to see what they cost who asks for them
//   nccl=23007                                         the version of NCCL that the fake library says
//   peers=0                                            no device reaches another one's memory
//   cupti_is_newer=1                                   CUPTI's version is not the header's
//   fail=cuStreamCreate:2 fail=cuMemAlloc_v2:2:3       the function fails with that status, in its third call
#pragma once

#include <cstdint>
#include <map>

namespace fake {

struct Settings {
  int devices = 1;
  int version = 13000;
  int64_t memory = int64_t{256} << 20;
  int lacks = -1;
  bool ignores_launches = false;
  bool cupti_is_newer = false;
  bool has_peers = true;
  int cublas_version = 130000;
  int nccl_version = 23007;
  std::map<int, int> attributes = {};
};

const Settings& settings();
void readSettings();
/// The status with which this call of `function` has to fail, or 0.
int faultOf(const char* function);

}  // namespace fake
