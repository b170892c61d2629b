/* Softmax over the caller's memory, from C: a fusion is read from its text, compiled for the processor, and called. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tokamak/c.h>

static int failed(tokamak_error* error) {
  if (error == NULL) return 0;
  fprintf(stderr, "%s\n", tokamak_error_message(error));
  tokamak_error_free(error);
  return 1;
}

int main(void) {
  const char* text = "fusion softmax_rows(x: f32[n, m]) -> y { y = softmax(x, axis=1) }";
  float x[8] = {1, 2, 3, 4, 4, 3, 2, 1}, y[8];
  const int64_t sizes[2] = {2, 4};

  tokamak_device* device = NULL;
  tokamak_fusion* fusion = NULL;
  tokamak_program* program = NULL;
  tokamak_tensor *in = NULL, *out = NULL;
  if (failed(tokamak_device_open_cpu(NULL, &device)) ||
      failed(tokamak_fusion_parse(text, strlen(text), "softmax_rows", &fusion)) ||
      failed(tokamak_compile(fusion, device, NULL, &program)) ||
      failed(tokamak_tensor_wrap(device, x, TOKAMAK_F32, 2, sizes, NULL, 1, &in)) ||
      failed(tokamak_tensor_wrap(device, y, TOKAMAK_F32, 2, sizes, NULL, 0, &out)))
    return 1;
  const tokamak_argument inputs[1] = {{NULL, TOKAMAK_ARGUMENT_TENSOR, {in}}};
  const tokamak_tensor* outputs[1] = {out};
  if (failed(tokamak_program_run(program, inputs, 1, outputs, NULL, NULL))) return 1;

  printf("y = %.4f %.4f %.4f %.4f\n", y[0], y[1], y[2], y[3]);
  tokamak_tensor_free(in);
  tokamak_tensor_free(out);
  tokamak_program_free(program);
  tokamak_fusion_free(fusion);
  tokamak_device_free(device);
  return fabs(y[0] - exp(1.0) / (exp(1.0) + exp(2.0) + exp(3.0) + exp(4.0))) < 1e-6 && y[0] == y[7] ? 0 : 1;
}
