/* Runs an exported softmax that is part of the program: tokamak export --c softmax_rows wrote its object and header. */
#include <math.h>
#include <stdio.h>

#include "softmax_rows.h"

static int failed(tokamak_error* error) {
  if (error == NULL) return 0;
  fprintf(stderr, "%s\n", tokamak_error_message(error));
  tokamak_error_free(error);
  return 1;
}

int main(void) {
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
  const int64_t sizes[2] = {1, 8};
  tokamak_device* device = NULL;
  tokamak_program* program = NULL;
  tokamak_tensor *in = NULL, *out = NULL;
  if (failed(tokamak_device_open_cpu(NULL, &device)) || failed(softmax_rows_load(device, &program)) ||
      failed(tokamak_tensor_wrap(device, x, TOKAMAK_F32, 2, sizes, NULL, 1, &in)) ||
      failed(tokamak_tensor_wrap(device, y, TOKAMAK_F32, 2, sizes, NULL, 0, &out)))
    return 1;
  const tokamak_tensor* given[1] = {out};
  if (failed(softmax_rows_run(program, in, given, NULL, NULL))) return 1;

  double sum = 0;
  for (int i = 1; i <= 8; ++i) sum += exp(i);
  printf("y = %.4f %.4f ... %.4f\n", y[0], y[1], y[7]);
  tokamak_tensor_free(in);
  tokamak_tensor_free(out);
  tokamak_program_free(program);
  tokamak_device_free(device);
  return fabs(y[7] - exp(8.0) / sum) < 1e-6 ? 0 : 1;
}
