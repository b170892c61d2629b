// The rate of fused multiply-adds that a processor reaches: f32 vectors of its width in registers, a dozen chains side
// by side. Prints GFLOP/s of one thread. cc -O2 -march=native peak_flops.c -o peak_flops
#include <stdio.h>
#include <time.h>

#if defined(__AVX512F__)
enum { kLanes = 16 };
#else
enum { kLanes = 8 };
#endif
typedef float Vector __attribute__((vector_size(4 * kLanes)));

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(void) {
  enum { kIterations = 200000, kChains = 12 };
  const Vector factor = (Vector){0} + 0.999f, term = (Vector){0} + 0.001f;
  double best = 1e9;
  for (int round = 0; round < 100; ++round) {
#define EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11)
#define START(i) Vector x##i = (Vector){0} + (float)(i + round);
#define STEP(i) x##i = x##i * factor + term; __asm__ volatile("" : "+v"(x##i));
    EACH(START)
    const double start = now();
    for (int turn = 0; turn < kIterations; ++turn) { EACH(STEP) }
    const double seconds = now() - start;
    if (seconds < best) best = seconds;
  }
  printf("%.1f\n", 2.0 * kLanes * kChains * kIterations / best / 1e9);
  return 0;
}
