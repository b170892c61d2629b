// What nccl.h wants of this header of CUDA: nothing.
#pragma once
