// ContextMachine: what CUDA text asks of the machine that runs its threads as contexts. Kernels and the machine share
// it; it includes nothing.
#pragma once

namespace tokamak::contexts {

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};

struct ContextMachine {
  Index3 thread;  ///< of the context that runs
  Index3 block;
  void (*access)(const void* place, unsigned long bytes, bool is_write);  ///< before each access to memory
  void (*barrier)(int line);
  unsigned long long (*shuffle)(unsigned mask, unsigned long long bits, int lanes, int line);
  void (*arrive)(int line);
  void (*wait)(int line);
  void (*copy)(void* to, const void* from, int bytes);  ///< asynchronous
  void (*commit)();
  void (*wait_group)(int pending);
  void* (*shared)(int site, unsigned long bytes);  ///< the block's memory of a declaration
  void* (*launched)();                             ///< what the launch gives the block
  void* (*remote)(void* place, unsigned block);
  unsigned (*add)(unsigned* place, unsigned value);
  void (*fence)();
  void (*depend)();  ///< waits for what the stream did before
};

}  // namespace tokamak::contexts
