// What nccl.h wants of CUDA's header: the type of streams.
#pragma once

using cudaStream_t = struct CUstream_st*;
