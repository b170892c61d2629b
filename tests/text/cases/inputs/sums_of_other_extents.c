/* The kernel of sum_i32_gcc12_O3_miscompiled.c for other extents and types: ROWS 35, COLUMNS 5 and ELEMENT int give
   that one again. */
typedef ELEMENT tk_i32; typedef long long tk_i64; typedef unsigned long long tk_u64;
static inline tk_i64 tk_add_i64(tk_i64 x, tk_i64 y) { return (tk_i64)((tk_u64)x + (tk_u64)y); }
static inline tk_i64 tk_minimum_i64(tk_i64 x, tk_i64 y) { return x < y ? x : y; }
static __attribute__((noinline)) void tokamak_f_T3_blocks(const tk_i32* restrict const T0, tk_i64* restrict const T3, tk_i64 first_block, tk_i64 last_block) {
  for (tk_i64 block = first_block; block < last_block; ++block) {
    const tk_i64 blockIdx_x = block;
    tk_i64 T6[16] __attribute__((aligned(64)));
    for (tk_i64 k = 0; k < 16; ++k) {
      T6[k] = 0;
    }
    for (tk_i64 k_2 = 0; k_2 < 1; ++k_2) {
      tk_i64 T5[16] __attribute__((aligned(64)));
      for (tk_i64 k_3 = 0; k_3 < 16; ++k_3) {
        T5[k_3] = 0;
      }
      for (tk_i64 k_4 = 0; k_4 < 32; ++k_4) {
        for (tk_i64 k_5 = 0; k_5 < COLUMNS; ++k_5) {
          const tk_i32 t0 = T0[(blockIdx_x * ROWS + k_2 * 32 + k_4) * COLUMNS + k_5];
          const tk_i64 t4 = ((tk_i64)t0);  // T4 = cast(T0)
          T5[k_5] = tk_add_i64(T5[k_5], t4);
        }
      }
      for (tk_i64 k_6 = 0; k_6 < COLUMNS; ++k_6) {
        const tk_i64 t5 = T5[k_6];  // T5 = sum(T4)
        T6[k_6] = tk_add_i64(T6[k_6], t5);
      }
    }
    for (tk_i64 k_7 = 1; k_7 < 2; ++k_7) {
      tk_i64 T5[16] __attribute__((aligned(64)));
      for (tk_i64 k_8 = 0; k_8 < 16; ++k_8) {
        T5[k_8] = 0;
      }
      const tk_i64 c0 = tk_minimum_i64(ROWS - k_7 * 32, 32);
      for (tk_i64 k_9 = 0; k_9 < c0; ++k_9) {
        for (tk_i64 k_10 = 0; k_10 < COLUMNS; ++k_10) {
          const tk_i32 t0 = T0[(blockIdx_x * ROWS + k_7 * 32 + k_9) * COLUMNS + k_10];
          const tk_i64 t4 = ((tk_i64)t0);  // T4 = cast(T0)
          T5[k_10] = tk_add_i64(T5[k_10], t4);
        }
      }
      for (tk_i64 k_11 = 0; k_11 < COLUMNS; ++k_11) {
        const tk_i64 t5 = T5[k_11];  // T5 = sum(T4)
        T6[k_11] = tk_add_i64(T6[k_11], t5);
      }
    }
    for (tk_i64 k_12 = 0; k_12 < COLUMNS; ++k_12) {
      T3[blockIdx_x * COLUMNS + k_12] = T6[k_12];
    }
  }
}
void tokamak_f_T3(void* const* buffers, const tk_i64* symbols, tk_i64 first_block, tk_i64 last_block) {
  tokamak_f_T3_blocks(buffers[0], buffers[1], first_block, last_block);
}
#include <stdio.h>
#include <stdlib.h>

int main(){ ELEMENT* x=malloc(7*ROWS*COLUMNS*sizeof(ELEMENT)); long long* y=malloc(7*COLUMNS*8); for(int i=0;i<7*ROWS*COLUMNS;i++) x[i]=i%17-8; void* b[]={x,y}; long long s[8]={7,COLUMNS}; tokamak_f_T3(b,s,0,7); long long bad=0; for(int a=0;a<7;a++)for(int c=0;c<COLUMNS;c++){long long t=0;for(int n=0;n<ROWS;n++)t+=x[(a*ROWS+n)*COLUMNS+c]; bad+=t!=y[a*COLUMNS+c];} printf("wrong %lld of %d\n",bad,7*COLUMNS); }
