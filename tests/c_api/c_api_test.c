/* The interface for C, from C: c_api_test NAME runs the test of that name. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tokamak/c.h"

/* DLPack 1.x, as its users declare it. */
typedef struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct DLManagedTensorVersioned*);
  uint64_t flags;
  struct {
    void* data;
    int32_t device_type, device_id;
    int32_t rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t* sizes;
    int64_t* strides;
    uint64_t byte_offset;
  } array;
} DLManagedTensorVersioned;

static void fail(int line, const char* what) {
  fprintf(stderr, "line %d: %s\n", line, what);
  exit(1);
}
#define CHECK(condition) \
  if (!(condition)) fail(__LINE__, #condition)

static void okAt(int line, tokamak_error* error) {
  if (error == NULL) return;
  fail(line, tokamak_error_message(error));
}
#define OK(call) okAt(__LINE__, call)

/* That the call fails so, with a message that contains the text. */
static void failsAt(int line, tokamak_error* error, tokamak_error_code code, const char* text) {
  if (error == NULL) fail(line, "no error");
  if (tokamak_error_get_code(error) != code || strstr(tokamak_error_message(error), text) == NULL) {
    fprintf(stderr, "%s: %s\n", tokamak_error_code_name(tokamak_error_get_code(error)), tokamak_error_message(error));
    fail(line, text);
  }
  tokamak_error_free(error);
}
#define FAILS(call, code, text) failsAt(__LINE__, call, code, text)

static tokamak_device* openedCpu(void) {
  tokamak_device* device = NULL;
  tokamak_cpu_options options = {sizeof options, 2, 0, 0, 0, NULL};
  OK(tokamak_device_open_cpu(&options, &device));
  return device;
}

static tokamak_fusion* parsed(const char* text) {
  tokamak_fusion* fusion = NULL;
  OK(tokamak_fusion_parse(text, strlen(text), "test.fusion", &fusion));
  return fusion;
}

static tokamak_program* compiled(const tokamak_fusion* fusion, tokamak_device* device) {
  tokamak_program* program = NULL;
  OK(tokamak_compile(fusion, device, NULL, &program));
  return program;
}

static tokamak_tensor* wrapped(tokamak_device* device, float* data, int64_t rows, int64_t columns) {
  const int64_t sizes[2] = {rows, columns};
  tokamak_tensor* tensor = NULL;
  OK(tokamak_tensor_wrap(device, data, TOKAMAK_F32, 2, sizes, NULL, 0, &tensor));
  return tensor;
}

static tokamak_argument tensorArgument(const char* name, const tokamak_tensor* tensor) {
  tokamak_argument argument;
  memset(&argument, 0, sizeof argument);
  argument.name = name;
  argument.kind = TOKAMAK_ARGUMENT_TENSOR;
  argument.of.tensor = tensor;
  return argument;
}

static void fillNumbers(float* x, int count, int seed) {
  for (int i = 0; i < count; ++i) x[i] = 0.25f * (float)((i * 7 + seed) % 23) - 2.0f;
}

static void expectSoftmax(const float* y, const float* x, int rows, int columns) {
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int i = 0; i < columns; ++i) sum += exp((double)x[row * columns + i]);
    for (int i = 0; i < columns; ++i)
      CHECK(fabs(y[row * columns + i] - exp((double)x[row * columns + i]) / sum) < 1e-6);
  }
}

static const char* const kSoftmax = "fusion rows(x: f32[n, m]) -> y { y = softmax(x, axis=1) }";

/* Softmax over the caller's memory, and into memory that the call makes. */
static void testText(void) {
  float x[4 * 9], y[4 * 9];
  fillNumbers(x, 36, 0);
  tokamak_device* device = openedCpu();
  tokamak_fusion* fusion = parsed(kSoftmax);
  tokamak_program* program = compiled(fusion, device);
  CHECK(tokamak_program_input_count(program) == 1 && tokamak_program_output_count(program) == 1);
  CHECK(strcmp(tokamak_program_input_name(program, 0), "x") == 0);
  CHECK(strcmp(tokamak_program_output_name(program, 0), "y") == 0);
  CHECK(tokamak_program_input_name(program, 1) == NULL);

  tokamak_tensor* in = wrapped(device, x, 4, 9);
  tokamak_tensor* out = wrapped(device, y, 4, 9);
  tokamak_argument argument = tensorArgument(NULL, in);
  const tokamak_tensor* given[1] = {out};
  OK(tokamak_program_run(program, &argument, 1, given, NULL, NULL));
  expectSoftmax(y, x, 4, 9);

  tokamak_tensor* made = NULL;
  OK(tokamak_program_run(program, &argument, 1, NULL, NULL, &made));
  CHECK(tokamak_tensor_rank(made) == 2 && tokamak_tensor_sizes(made)[1] == 9 && tokamak_tensor_strides(made)[0] == 9);
  CHECK(tokamak_tensor_dtype(made) == TOKAMAK_F32);
  float copy[36];
  OK(tokamak_tensor_read(made, copy, sizeof copy));
  CHECK(memcmp(copy, y, sizeof y) == 0);
  FAILS(tokamak_tensor_read(made, copy, 8), TOKAMAK_ERROR_BIND, "8 bytes were given for a tensor of 144");
  void* data = NULL;
  OK(tokamak_tensor_host_data(made, 0, &data));
  CHECK(memcmp(data, y, sizeof y) == 0);

  const char* text = NULL;
  OK(tokamak_program_text(program, &text));
  CHECK(strstr(text, "LaunchKernel") != NULL || strstr(text, "HostUnit") != NULL);
  tokamak_tensor_free(made);
  tokamak_tensor_free(out);
  tokamak_tensor_free(in);
  tokamak_program_free(program);
  tokamak_fusion_free(fusion);
  tokamak_device_free(device);
}

/* The same fusion, built call by call, reads back from its text. */
static void testBuild(void) {
  tokamak_fusion* fusion = NULL;
  OK(tokamak_fusion_create("rows", &fusion));
  const tokamak_size sizes[2] = {{"n", 0}, {NULL, 8}};
  tokamak_value *x = NULL, *scale = NULL, *y = NULL, *parts[2] = {NULL, NULL};
  OK(tokamak_fusion_input(fusion, "x", TOKAMAK_F32, 2, sizes, &x));
  OK(tokamak_fusion_scalar_input(fusion, "scale", TOKAMAK_F64, &scale));
  tokamak_operand operands[3];
  memset(operands, 0, sizeof operands);
  operands[0].kind = TOKAMAK_OPERAND_VALUE;
  operands[0].of.value = x;
  operands[1].name = "axis";
  operands[1].kind = TOKAMAK_OPERAND_INTEGER;
  operands[1].of.integer = -1;
  OK(tokamak_fusion_call(fusion, "softmax", operands, 2, &y, 1, NULL));
  operands[0].of.value = y;
  operands[1].name = NULL;
  operands[1].kind = TOKAMAK_OPERAND_VALUE;
  operands[1].of.value = scale;
  OK(tokamak_fusion_call(fusion, "mul", operands, 2, &y, 1, NULL));
  OK(tokamak_fusion_output(fusion, "y", y));
  size_t count = 0;
  const int64_t axes[1] = {1};
  operands[1].name = "axes";
  operands[1].kind = TOKAMAK_OPERAND_INTEGERS;
  operands[1].of.integers = axes;
  operands[1].count = 1;
  OK(tokamak_fusion_call(fusion, "var_mean", operands, 2, parts, 2, &count));
  CHECK(count == 2);
  OK(tokamak_fusion_output(fusion, "spread", parts[0]));
  FAILS(tokamak_fusion_call(fusion, "var_mean", operands, 2, parts, 1, &count), TOKAMAK_ERROR_USAGE,
        "var_mean gives 2 results; there is room for 1");
  FAILS(tokamak_fusion_call(fusion, "softmix", operands, 2, parts, 1, &count), TOKAMAK_ERROR_DEFINITION,
        "no function 'softmix'");
  tokamak_fusion* other = NULL;
  tokamak_value *far = NULL, *mixed[2] = {x, NULL};
  OK(tokamak_fusion_create("other", &other));
  OK(tokamak_fusion_input(other, "x", TOKAMAK_F32, 2, sizes, &far));
  operands[0].of.value = far;
  FAILS(tokamak_fusion_call(fusion, "neg", operands, 1, &y, 1, NULL), TOKAMAK_ERROR_DEFINITION, "another fusion");
  FAILS(tokamak_fusion_output(fusion, "far", far), TOKAMAK_ERROR_DEFINITION, "another fusion");
  FAILS(tokamak_fusion_output(fusion, "far", scale), TOKAMAK_ERROR_USAGE, "tensor: it must be a tensor of the fusion");
  FAILS(tokamak_fusion_input(fusion, "z", TOKAMAK_F32, -1, sizes, &far), TOKAMAK_ERROR_USAGE, "rank -1 was given");
  operands[0].kind = (tokamak_operand_kind)77;
  FAILS(tokamak_fusion_call(fusion, "neg", operands, 1, &y, 1, NULL), TOKAMAK_ERROR_USAGE, "kind 77 was given");
  mixed[1] = far;
  operands[0].kind = TOKAMAK_OPERAND_VALUES;
  operands[0].of.values = mixed;
  operands[0].count = 2;
  FAILS(tokamak_fusion_call(fusion, "cat", operands, 1, &y, 1, NULL), TOKAMAK_ERROR_DEFINITION, "another fusion");
  tokamak_fusion_free(other);
  tokamak_value* pair[2] = {x, x};
  operands[0].kind = TOKAMAK_OPERAND_VALUES;
  operands[0].of.values = pair;
  operands[0].count = 2;
  operands[1].name = "axis";
  operands[1].kind = TOKAMAK_OPERAND_INTEGER;
  operands[1].of.integer = 0;
  OK(tokamak_fusion_call(fusion, "cat", operands, 2, &y, 1, NULL));
  operands[0].kind = TOKAMAK_OPERAND_VALUE;
  operands[0].of.value = y;
  operands[1].name = NULL;
  operands[1].kind = TOKAMAK_OPERAND_DTYPE;
  operands[1].of.integer = TOKAMAK_F64;
  OK(tokamak_fusion_call(fusion, "cast", operands, 2, &y, 1, NULL));
  OK(tokamak_fusion_output(fusion, "twice", y));

  const char* text = NULL;
  OK(tokamak_fusion_text(fusion, &text));
  tokamak_fusion* again = parsed(text);
  const char* read = NULL;
  OK(tokamak_fusion_text(again, &read));
  CHECK(strcmp(text, read) == 0);
  tokamak_fusion_free(again);

  float numbers[16];
  fillNumbers(numbers, 16, 3);
  tokamak_device* device = openedCpu();
  tokamak_program* program = compiled(fusion, device);
  tokamak_fusion_free(fusion); /* it is not needed any more */
  tokamak_tensor* in = wrapped(device, numbers, 2, 8);
  tokamak_argument arguments[2] = {{"scale", TOKAMAK_ARGUMENT_FLOAT, {NULL}}, tensorArgument("x", in)};
  arguments[0].of.floating = 2.0;
  tokamak_tensor* results[3] = {NULL, NULL, NULL};
  OK(tokamak_program_run(program, arguments, 2, NULL, NULL, results));
  float scaled[16];
  OK(tokamak_tensor_read(results[0], scaled, sizeof scaled));
  for (int i = 0; i < 16; ++i) scaled[i] /= 2;
  expectSoftmax(scaled, numbers, 2, 8);
  double twice[32];
  OK(tokamak_tensor_read(results[2], twice, sizeof twice));
  CHECK(twice[3] == numbers[3] && twice[16 + 5] == numbers[5]);
  for (int i = 0; i < 3; ++i) tokamak_tensor_free(results[i]);
  tokamak_tensor_free(in);
  tokamak_program_free(program);
  tokamak_device_free(device);
}

/* What is wrong is told, and nothing changes hands. */
static void testErrors(void) {
  tokamak_device* device = openedCpu();
  tokamak_fusion* fusion = NULL;
  const char* bad = "fusion f(x: f32[n]) -> y {\n  y = exq(x)\n}";
  tokamak_error* error = tokamak_fusion_parse(bad, strlen(bad), "bad.fusion", &fusion);
  CHECK(error != NULL && fusion == NULL);
  CHECK(tokamak_error_get_code(error) == TOKAMAK_ERROR_PARSE);
  CHECK(tokamak_error_line(error) == 2 && tokamak_error_column(error) == 7);
  CHECK(strncmp(tokamak_error_message(error), "bad.fusion:2:7: ", 16) == 0);
  tokamak_error_free(error);
  const char* shape = "fusion f(x: f32[n]) -> y {\n  y = x\n\n  z = sum(x, axes=[3])\n}";
  error = tokamak_fusion_parse(shape, strlen(shape), NULL, &fusion);
  CHECK(error != NULL && tokamak_error_line(error) == 4);
  tokamak_error_free(error);
  CHECK(strcmp(tokamak_error_code_name(TOKAMAK_ERROR_OUT_OF_MEMORY), "out of memory") == 0);
  CHECK(strcmp(tokamak_error_code_name((tokamak_error_code)99), "unknown") == 0);

  FAILS(tokamak_fusion_parse(NULL, 5, NULL, &fusion), TOKAMAK_ERROR_USAGE, "text is null");
  FAILS(tokamak_fusion_parse(kSoftmax, strlen(kSoftmax), NULL, NULL), TOKAMAK_ERROR_USAGE, "fusion is null");
  fusion = parsed(kSoftmax);
  tokamak_program* program = NULL;
  FAILS(tokamak_compile(fusion, NULL, NULL, &program), TOKAMAK_ERROR_USAGE, "device is null");
  tokamak_compile_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = 3;
  FAILS(tokamak_compile(fusion, device, &options, &program), TOKAMAK_ERROR_USAGE, "struct_size is 3");
  options.struct_size = sizeof options;
  options.streams = -1;
  FAILS(tokamak_compile(fusion, device, &options, &program), TOKAMAK_ERROR_USAGE, "number of streams is -1");
  options.struct_size = sizeof(size_t); /* a caller who knows no options */
  OK(tokamak_compile(fusion, device, &options, &program));

  float x[8];
  fillNumbers(x, 8, 1);
  tokamak_tensor* tensor = NULL;
  const int64_t sizes[2] = {2, 4}, negative[2] = {2, -4};
  FAILS(tokamak_tensor_wrap(device, NULL, TOKAMAK_F32, 2, sizes, NULL, 0, &tensor), TOKAMAK_ERROR_BIND,
        "8 elements lie at a null address");
  FAILS(tokamak_tensor_wrap(device, x, (tokamak_dtype)9, 2, sizes, NULL, 0, &tensor), TOKAMAK_ERROR_USAGE,
        "dtype 9 was given");
  FAILS(tokamak_tensor_wrap(device, x, TOKAMAK_F32, 17, sizes, NULL, 0, &tensor), TOKAMAK_ERROR_BIND, "rank 17");
  FAILS(tokamak_tensor_wrap(device, x, TOKAMAK_F32, -1, sizes, NULL, 0, &tensor), TOKAMAK_ERROR_BIND, "rank -1");
  FAILS(tokamak_tensor_wrap(device, x, TOKAMAK_F32, 2, negative, NULL, 0, &tensor), TOKAMAK_ERROR_BIND, "not negative");
  FAILS(tokamak_tensor_wrap(device, (char*)x + 1, TOKAMAK_F32, 2, sizes, NULL, 0, &tensor), TOKAMAK_ERROR_BIND,
        "a multiple of their size is legal");
  tensor = wrapped(device, x, 2, 4);
  tokamak_argument arguments[2] = {tensorArgument(NULL, tensor), tensorArgument("x", tensor)};
  tokamak_tensor* result = NULL;
  FAILS(tokamak_program_run(program, arguments, 2, NULL, NULL, &result), TOKAMAK_ERROR_BIND, "takes 1 inputs, 2");
  FAILS(tokamak_program_run(program, arguments, 0, NULL, NULL, &result), TOKAMAK_ERROR_BIND, "takes 1 inputs, 0");
  FAILS(tokamak_program_run(program, arguments, 1, NULL, NULL, NULL), TOKAMAK_ERROR_USAGE, "results is null");
  arguments[0].name = "z";
  FAILS(tokamak_program_run(program, arguments, 1, NULL, NULL, &result), TOKAMAK_ERROR_BIND, "no input 'z'; it has x");
  arguments[0].name = NULL;
  arguments[0].kind = (tokamak_argument_kind)0;
  FAILS(tokamak_program_run(program, arguments, 1, NULL, NULL, &result), TOKAMAK_ERROR_USAGE, "kind 0");
  tokamak_device* other = openedCpu();
  tokamak_stream* stream = NULL;
  OK(tokamak_stream_create(other, &stream));
  FAILS(tokamak_program_run(program, arguments + 1, 1, NULL, stream, &result), TOKAMAK_ERROR_BIND,
        "a stream of another Device object");
  CHECK(result == NULL);
  FAILS(tokamak_stream_adopt_cuda(device, NULL, &stream), TOKAMAK_ERROR_UNSUPPORTED, "cpu has no CUDA streams");
  const char* names[2] = {"n", "k"};
  const int64_t values[2] = {2, 4};
  FAILS(tokamak_program_prepare(program, names, values, 2), TOKAMAK_ERROR_BIND, "no extent or scalar 'k'");
  names[1] = "n";
  FAILS(tokamak_program_prepare(program, names, values, 2), TOKAMAK_ERROR_BIND, "'n' is given twice");
  FAILS(tokamak_tensor_read(tensor, NULL, 32), TOKAMAK_ERROR_USAGE, "to is null");
  tokamak_stream_free(stream);
  tokamak_device_free(other);
  tokamak_tensor_free(tensor);
  tokamak_program_free(program);
  tokamak_fusion_free(fusion);
  tokamak_device_free(device);
  /* Nothing is freed without harm. */
  tokamak_error_free(NULL);
  tokamak_device_free(NULL);
  tokamak_stream_free(NULL);
  tokamak_tensor_free(NULL);
  tokamak_fusion_free(NULL);
  tokamak_program_free(NULL);
}

/* Objects are freed in every order of device, stream, program, input and result; the others are used meanwhile. */
static void testAnyOrder(void) {
  for (int order = 0; order < 120; ++order) {
    float x[12];
    fillNumbers(x, 12, order);
    tokamak_device* device = openedCpu();
    tokamak_stream* stream = NULL;
    OK(tokamak_stream_create(device, &stream));
    tokamak_fusion* fusion = parsed(kSoftmax);
    tokamak_program* program = compiled(fusion, device);
    tokamak_fusion_free(fusion);
    tokamak_tensor* in = wrapped(device, x, 3, 4);
    tokamak_tensor* result = NULL;
    tokamak_argument argument = tensorArgument(NULL, in);
    OK(tokamak_program_run(program, &argument, 1, NULL, stream, &result));
    int left[5] = {0, 1, 2, 3, 4};
    for (int count = 5, rest = order; count > 0; --count) {
      const int pick = rest % count;
      rest /= count;
      switch (left[pick]) {
        case 0: tokamak_device_free(device); break;
        case 1:
          OK(tokamak_stream_synchronize(stream));
          tokamak_stream_free(stream);
          break;
        case 2: tokamak_program_free(program); break;
        case 3: tokamak_tensor_free(in); break;
        default: {
          float y[12];
          OK(tokamak_tensor_read(result, y, sizeof y));
          expectSoftmax(y, x, 3, 4);
          tokamak_tensor_free(result);
        }
      }
      left[pick] = left[count - 1];
    }
  }
}

/* Options of every version: those of a later one are refused where they say something. */
static void testOptions(void) {
  tokamak_device* device = NULL;
  struct {
    tokamak_cpu_options known;
    int64_t later[2];
  } options;
  memset(&options, 0, sizeof options);
  options.known.struct_size = sizeof options;
  OK(tokamak_device_open_cpu(&options.known, &device));
  tokamak_device_free(device);
  options.later[1] = 1;
  FAILS(tokamak_device_open_cpu(&options.known, &device), TOKAMAK_ERROR_UNSUPPORTED, "a later version");
  options.known.struct_size = sizeof options.known;
  options.known.reserved = 3;
  FAILS(tokamak_device_open_cpu(&options.known, &device), TOKAMAK_ERROR_USAGE, "reserved is 3");
  options.known.reserved = 0;
  const size_t wrong[4] = {0, 3, 14, (size_t)-1};
  for (int i = 0; i < 4; ++i) {
    options.known.struct_size = wrong[i];
    FAILS(tokamak_device_open_cpu(&options.known, &device), TOKAMAK_ERROR_USAGE, "it must be the size of the struct");
  }
}

/* Messages are UTF-8, whatever bytes they tell of; counts that no array has are told. */
static void testMessages(void) {
  tokamak_fusion* fusion = NULL;
  FAILS(tokamak_fusion_create("f", NULL), TOKAMAK_ERROR_USAGE, "fusion is null");
  OK(tokamak_fusion_create("f", &fusion));
  tokamak_value* value = NULL;
  FAILS(tokamak_fusion_scalar_input(fusion, "a\xff\xc0\x80", TOKAMAK_F32, &value), TOKAMAK_ERROR_DEFINITION,
        "input 'a\\xff\\xc0\\x80'");
  FAILS(tokamak_fusion_scalar_input(fusion, "\xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82", TOKAMAK_F32, &value),
        TOKAMAK_ERROR_DEFINITION, "input '\\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xe2\\x82'");
  FAILS(tokamak_fusion_scalar_input(fusion, "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", TOKAMAK_F32, &value),
        TOKAMAK_ERROR_DEFINITION, "input '\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80'");
  tokamak_fusion* read = NULL;
  FAILS(tokamak_fusion_parse("x", (size_t)-1, NULL, &read), TOKAMAK_ERROR_USAGE, "no array has as many");
  tokamak_fusion_free(fusion);
}

/* Inputs that are updated in place: the call returns when they are, and outputs keep their names. */
static void testUpdates(void) {
  enum { kRows = 512 };
  tokamak_device* device = openedCpu();
  tokamak_fusion* fusion =
      parsed("fusion hidden(x: f32[n, m]) -> (z aliases x hidden) { z = exp(sin(x) - x) * 0.0 + 2.0 }");
  tokamak_program* program = compiled(fusion, device);
  tokamak_fusion_free(fusion);
  CHECK(tokamak_program_output_count(program) == 0);
  const int64_t sizes[2] = {kRows, kRows};
  tokamak_tensor* state = NULL;
  OK(tokamak_tensor_empty(device, TOKAMAK_F32, 2, sizes, NULL, &state));
  tokamak_argument argument = tensorArgument("x", state);
  for (int call = 0; call < 5; ++call) {
    void* data = NULL;
    OK(tokamak_tensor_host_data(state, 1, &data));
    float* elements = data;
    for (int i = 0; i < kRows * kRows; ++i) elements[i] = 1;
    OK(tokamak_program_run(program, &argument, 1, NULL, NULL, NULL));
    CHECK(elements[kRows * kRows - 1] == 2 && elements[0] == 2);
  }
  tokamak_tensor_free(state);
  tokamak_program_free(program);

  fusion = parsed("fusion late(x: f32[n, m]) -> (z aliases x, y) {\n  z = x + 1.0\n  y = x * 2.0\n}");
  program = compiled(fusion, device);
  tokamak_fusion_free(fusion);
  CHECK(strcmp(tokamak_program_output_name(program, 0), "z") == 0);
  CHECK(strcmp(tokamak_program_output_name(program, 1), "y") == 0);
  float x[4] = {1, 2, 3, 4};
  tokamak_tensor *in = wrapped(device, x, 2, 2), *results[2] = {NULL, NULL};
  argument.of.tensor = in;
  FAILS(tokamak_program_run(program, &argument, 1, NULL, NULL, NULL), TOKAMAK_ERROR_USAGE, "for the output z");
  OK(tokamak_program_run(program, &argument, 1, NULL, NULL, results));
  float y[4];
  OK(tokamak_tensor_read(results[1], y, sizeof y));
  CHECK(x[3] == 5 && y[3] == 8);
  const int64_t two[2] = {2, 2};
  tokamak_tensor* read_only = NULL;
  void* data = NULL;
  OK(tokamak_tensor_wrap(device, x, TOKAMAK_F32, 2, two, NULL, 1, &read_only));
  FAILS(tokamak_tensor_host_data(read_only, 1, &data), TOKAMAK_ERROR_BIND, "may only be read");
  OK(tokamak_tensor_host_data(read_only, 0, &data));
  CHECK(data == x);
  tokamak_tensor_free(read_only);
  for (int i = 0; i < 2; ++i) tokamak_tensor_free(results[i]);
  tokamak_tensor_free(in);
  tokamak_program_free(program);
  tokamak_device_free(device);
}

static int deleted = 0;
static void countDeleted(DLManagedTensorVersioned* array) {
  __atomic_add_fetch(&deleted, 1, __ATOMIC_SEQ_CST);
  free(array);
}

/* Arrays go in and out without a copy; deleters are called once, also when the device's handle is gone. */
static void testDlpack(void) {
  static float x[6] = {1, 2, 3, 4, 5, 6};
  static int64_t sizes[2] = {2, 3}, strides[2] = {1, 2};
  tokamak_device* device = openedCpu();
  DLManagedTensorVersioned* given = calloc(1, sizeof *given);
  given->major = 1;
  given->deleter = countDeleted;
  given->array.data = x;
  given->array.device_type = 1;
  given->array.rank = 2;
  given->array.code = 2;
  given->array.bits = 32;
  given->array.lanes = 2;
  given->array.sizes = sizes;
  given->array.strides = strides;
  tokamak_tensor* in = NULL;
  FAILS(tokamak_tensor_from_dlpack(device, given, NULL, &in), TOKAMAK_ERROR_BIND, "elements of type float32x2");
  CHECK(deleted == 0);
  given->array.lanes = 1;
  OK(tokamak_tensor_from_dlpack(device, given, NULL, &in));
  CHECK(tokamak_tensor_strides(in)[1] == 2);
  float row_major[6];
  OK(tokamak_tensor_read(in, row_major, sizeof row_major));
  CHECK(row_major[1] == 3 && row_major[3] == 2);

  tokamak_fusion* fusion = parsed("fusion neg(x: f32[n, m] strided) -> y { y = neg(x) }");
  tokamak_program* program = compiled(fusion, device);
  tokamak_argument argument = tensorArgument(NULL, in);
  tokamak_tensor* result = NULL;
  OK(tokamak_program_run(program, &argument, 1, NULL, NULL, &result));
  DLManagedTensorVersioned* out = NULL;
  OK(tokamak_tensor_to_dlpack(result, NULL, &out));
  tokamak_tensor_free(result);
  tokamak_tensor_free(in);
  tokamak_program_free(program);
  tokamak_fusion_free(fusion);
  tokamak_device_free(device);
  CHECK(deleted == 1);
  CHECK(out->major == 1 && out->array.rank == 2 && out->array.sizes[1] == 3);
  const float* y = (const float*)((const char*)out->array.data + out->array.byte_offset);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) CHECK(y[i * out->array.strides[0] + j * out->array.strides[1]] == -x[i + 2 * j]);
  out->deleter(out);
}

/* A call on a stream: what it was given is freed at once. What was prepared compiles nothing. */
static void testStream(void) {
  static float x[64 * 32], y[64 * 32];
  fillNumbers(x, 64 * 32, 5);
  tokamak_device* device = openedCpu();
  tokamak_stream* stream = NULL;
  OK(tokamak_stream_create(device, &stream));
  tokamak_fusion* fusion = parsed(kSoftmax);
  tokamak_program* program = compiled(fusion, device);
  const char* names[2] = {"m", "n"};
  const int64_t values[2] = {32, 64};
  OK(tokamak_program_prepare(program, names, values, 2));
  for (int call = 0; call < 10; ++call) {
    memset(y, 0, sizeof y);
    tokamak_tensor* in = wrapped(device, x, 64, 32);
    tokamak_tensor* out = wrapped(device, y, 64, 32);
    tokamak_argument argument = tensorArgument(NULL, in);
    const tokamak_tensor* given[1] = {out};
    OK(tokamak_program_run(program, &argument, 1, given, stream, NULL));
    tokamak_tensor_free(in);
    tokamak_tensor_free(out);
    OK(tokamak_stream_synchronize(stream));
    expectSoftmax(y, x, 64, 32);
  }
  const int64_t sizes[2] = {64, 32};
  tokamak_tensor* fresh = NULL;
  OK(tokamak_tensor_empty(device, TOKAMAK_F32, 2, sizes, NULL, &fresh));
  tokamak_tensor* in = wrapped(device, x, 64, 32);
  tokamak_argument argument = tensorArgument(NULL, in);
  const tokamak_tensor* given[1] = {fresh};
  OK(tokamak_program_run(program, &argument, 1, given, stream, NULL));
  OK(tokamak_tensor_read(fresh, y, sizeof y));
  expectSoftmax(y, x, 64, 32);
  tokamak_tensor_free(in);
  tokamak_tensor_free(fresh);
  tokamak_program_free(program);
  tokamak_fusion_free(fusion);
  tokamak_stream_free(stream);
  tokamak_device_free(device);
}

enum { kThreads = 8, kCalls = 20 };
static tokamak_device* shared_device = NULL;
static tokamak_program* shared_program = NULL;

static void* compileAndRun(void* number) {
  const int thread = (int)(intptr_t)number;
  char text[160];
  snprintf(text, sizeof text, "fusion own(x: f32[n, m]) -> y { y = softmax(x * %d.0, axis=1) }", 1 + thread % 3);
  tokamak_fusion* fusion = parsed(text);
  tokamak_program* own = compiled(fusion, shared_device);
  const char* words = NULL;
  OK(tokamak_program_text(shared_program, &words));
  CHECK(strstr(words, "HostIrContainer") != NULL);
  tokamak_fusion_free(fusion);
  for (int call = 0; call < kCalls; ++call) {
    float x[5 * 12], y[5 * 12], scaled[5 * 12];
    const int columns = 3 + (thread + call) % 10;
    fillNumbers(x, 5 * columns, call);
    for (int i = 0; i < 5 * columns; ++i) scaled[i] = x[i] * (float)(1 + thread % 3);
    tokamak_tensor* in = wrapped(shared_device, x, 5, columns);
    tokamak_argument argument = tensorArgument(NULL, in);
    tokamak_tensor *mine = NULL, *shared = NULL;
    OK(tokamak_program_run(own, &argument, 1, NULL, NULL, &mine));
    OK(tokamak_program_run(shared_program, &argument, 1, NULL, NULL, &shared));
    OK(tokamak_tensor_read(mine, y, (int64_t)sizeof(float) * 5 * columns));
    expectSoftmax(y, scaled, 5, columns);
    OK(tokamak_tensor_read(shared, y, (int64_t)sizeof(float) * 5 * columns));
    expectSoftmax(y, x, 5, columns);
    tokamak_tensor_free(mine);
    tokamak_tensor_free(shared);
    tokamak_tensor_free(in);
  }
  tokamak_program_free(own);
  return NULL;
}

/* Eight threads compile programs of their own, and run these and one that all share. */
static void testThreads(void) {
  shared_device = openedCpu();
  tokamak_fusion* fusion = parsed(kSoftmax);
  shared_program = compiled(fusion, shared_device);
  tokamak_fusion_free(fusion);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, compileAndRun, (void*)(intptr_t)i) == 0);
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  tokamak_program_free(shared_program);
  tokamak_device_free(shared_device);
}

/* A program goes into a file, and comes out of it as it was. */
static void testExported(void) {
  tokamak_device* device = openedCpu();
  tokamak_fusion* fusion = parsed(kSoftmax);
  const char* path = "c_api_exported.tk";
  const int64_t ends[2] = {1, 64}, columns[1] = {9};
  const tokamak_export_size sizes[2] = {{"n", ends, 2, 1, 0}, {"m", columns, 1, 0, 0}};
  const char* processors[1] = {"native"};
  tokamak_export_options options = {sizeof options, processors, 1, 2, 0, 0, NULL, 1};
  FAILS(tokamak_export(fusion, sizes, 2, &options, path), TOKAMAK_ERROR_USAGE, "gpus is null");
  const char* gpus[1] = {"sm_1"};
  options.gpus = gpus;
  FAILS(tokamak_export(fusion, sizes, 2, &options, path), TOKAMAK_ERROR_USAGE, "the GPU sm_1");
  options.gpu_count = 0;
  OK(tokamak_export(fusion, sizes, 2, &options, path));
  FAILS(tokamak_export(fusion, sizes, 1, NULL, path), TOKAMAK_ERROR_BIND, "m");
  const tokamak_export_size twice[2] = {sizes[1], sizes[1]};
  FAILS(tokamak_export(fusion, twice, 2, NULL, path), TOKAMAK_ERROR_USAGE, "'m' is given twice");
  const tokamak_export_size endless[1] = {{"n", ends, SIZE_MAX, 0, 0}};
  FAILS(tokamak_export(fusion, endless, 1, NULL, path), TOKAMAK_ERROR_USAGE, "no array has as many");
  const tokamak_export_size half[1] = {{"n", ends, 1, 1, 0}};
  FAILS(tokamak_export(fusion, half, 1, NULL, path), TOKAMAK_ERROR_USAGE, "two ends");
  tokamak_fusion_free(fusion);

  tokamak_program* program = NULL;
  OK(tokamak_program_load(device, path, NULL, &program));
  float x[36];
  fillNumbers(x, 36, 3);
  tokamak_tensor* in = wrapped(device, x, 4, 9);
  tokamak_argument argument = tensorArgument("x", in);
  tokamak_tensor* made = NULL;
  OK(tokamak_program_run(program, &argument, 1, NULL, NULL, &made));
  float y[36];
  OK(tokamak_tensor_read(made, y, sizeof y));
  expectSoftmax(y, x, 4, 9);
  tokamak_tensor_free(made);
  tokamak_tensor* other = wrapped(device, x, 6, 6);
  argument.of.tensor = other;
  FAILS(tokamak_program_run(program, &argument, 1, NULL, NULL, &made), TOKAMAK_ERROR_BIND, "m is 6, not 9");
  tokamak_program_free(program);

  static unsigned char bytes[1 << 20];
  FILE* file = fopen(path, "rb");
  CHECK(file != NULL);
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  CHECK(size > 0 && size < sizeof bytes);
  const tokamak_load_options load = {sizeof load, NULL, 0, 1};
  OK(tokamak_program_load_bytes(device, bytes, size, "bytes", &load, &program));
  bytes[size / 2] ^= 1;
  OK(tokamak_program_run(program, &argument, 1, NULL, NULL, &made)); /* which is compiled */
  tokamak_tensor_free(made);
  tokamak_program_free(program);
  FAILS(tokamak_program_load_bytes(device, bytes, size, "bytes", NULL, &program), TOKAMAK_ERROR_IO, "damaged");
  FAILS(tokamak_program_load(device, "/tmp/there is none", NULL, &program), TOKAMAK_ERROR_IO, "No such file");
  CHECK(remove(path) == 0);
  tokamak_tensor_free(in);
  tokamak_tensor_free(other);
  tokamak_device_free(device);
}

/* What the functions of a caller count. */
typedef struct Counts {
  int calls, allocated, released, done, all, logged, let_go;
  tokamak_cancel* cancel;
} Counts;

static int countProgress(void* context, int64_t done, int64_t all) {
  Counts* counts = context;
  ++counts->calls;
  counts->done = (int)done;
  counts->all = (int)all;
  return 0;
}
static int cancelByNumber(void* context, int64_t done, int64_t all) {
  (void)done, (void)all;
  return ++((Counts*)context)->calls;
}
static int cancelByRequest(void* context, int64_t done, int64_t all) {
  (void)done, (void)all;
  tokamak_cancel_request(((Counts*)context)->cancel);
  return 0;
}

/* Of a number that no other process, and no earlier one, has compiled a kernel for. */
static tokamak_fusion* freshFusion(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  char text[160];
  snprintf(text, sizeof text, "fusion fresh(x: f32[n, m]) -> y { y = softmax(x * %d.%09ld, axis=1) }",
           (int)(now.tv_sec % 1000), now.tv_nsec);
  return parsed(text);
}

/* Calls that prepare are cancelled by a request and by their progress function, and work later. */
static void testCancel(void) {
  tokamak_device* device = openedCpu();
  tokamak_fusion* fusion = freshFusion();
  tokamak_program* program = compiled(fusion, device);
  const char* names[2] = {"n", "m"};
  const int64_t values[2] = {6, 8};
  Counts counts;
  memset(&counts, 0, sizeof counts);
  tokamak_prepare_options options = {sizeof options, NULL, cancelByNumber, &counts};
  FAILS(tokamak_program_prepare_with(program, names, values, 2, &options), TOKAMAK_ERROR_CANCELLED, "it gave 1");
  CHECK(counts.calls == 1);
  OK(tokamak_cancel_create(&counts.cancel));
  options.cancel = counts.cancel;
  options.progress = cancelByRequest;
  static float x[48], y[48];
  fillNumbers(x, 48, 1);
  tokamak_tensor *in = wrapped(device, x, 6, 8), *out = NULL;
  tokamak_argument argument = tensorArgument(NULL, in);
  FAILS(tokamak_program_run_with(program, &argument, 1, NULL, NULL, &options, &out), TOKAMAK_ERROR_CANCELLED,
        "the caller cancelled it");
  CHECK(out == NULL);
  tokamak_cancel_free(counts.cancel);
  options.cancel = NULL;
  options.progress = countProgress;
  counts.calls = 0;
  OK(tokamak_program_run_with(program, &argument, 1, NULL, NULL, &options, &out));
  CHECK(counts.calls >= 2 && counts.done == counts.all && counts.all >= 1);
  OK(tokamak_tensor_read(out, y, sizeof y));
  double sum = 0;
  for (int i = 0; i < 8; ++i) sum += (double)y[i];
  CHECK(fabs(sum - 1) < 1e-6);
  counts.calls = 0;
  OK(tokamak_program_prepare_with(program, names, values, 2, &options));
  CHECK(counts.calls == 0);
  OK(tokamak_program_prepare_with(program, names, values, 2, NULL));
  options.struct_size = 1;
  FAILS(tokamak_program_prepare_with(program, names, values, 2, &options), TOKAMAK_ERROR_USAGE, "struct_size is 1");
  tokamak_tensor_free(in);
  tokamak_tensor_free(out);
  tokamak_program_free(program);
  tokamak_fusion_free(fusion);
  tokamak_device_free(device);
}

static int runInTurn(void* context, int64_t count, void (*body)(void* body_context, int64_t i), void* body_context) {
  ++((Counts*)context)->calls;
  for (int64_t i = count; i > 0; --i) body(body_context, i - 1);
  return ((Counts*)context)->done;
}
static void* giveMemory(void* context, int64_t bytes, tokamak_memory_kind kind, void* cuda_stream) {
  CHECK(kind == TOKAMAK_MEMORY_DEVICE && cuda_stream == NULL);
  if (bytes > 1 << 20) return NULL;
  ++((Counts*)context)->allocated;
  return aligned_alloc(256, (size_t)(bytes / 256 + 1) * 256);
}
static void* giveNothing(void* context, int64_t bytes, tokamak_memory_kind kind, void* cuda_stream) {
  (void)context, (void)bytes, (void)kind, (void)cuda_stream;
  return NULL;
}
static void takeMemory(void* context, void* address, int64_t bytes, tokamak_memory_kind kind, void* cuda_stream) {
  CHECK(bytes <= 1 << 20 && kind == TOKAMAK_MEMORY_DEVICE && cuda_stream == NULL);
  ++((Counts*)context)->released;
  free(address);
}

/* Blocks on the caller's threads; outputs and intermediates in the caller's memory, with a limit. */
static void testHooks(void) {
  enum { kRows = 300, kColumns = 200 };
  static float x[kRows * kColumns], y[kRows * kColumns];
  fillNumbers(x, kRows * kColumns, 1);
  Counts threads, outputs, between;
  memset(&threads, 0, sizeof threads);
  memset(&outputs, 0, sizeof outputs);
  memset(&between, 0, sizeof between);
  tokamak_parallel_for parallel_for = {sizeof parallel_for, &threads, NULL};
  tokamak_cpu_options cpu = {sizeof cpu, 4, 0, 0, 0, &parallel_for};
  tokamak_device* device = NULL;
  FAILS(tokamak_device_open_cpu(&cpu, &device), TOKAMAK_ERROR_USAGE, "run is null");
  parallel_for.run = runInTurn;
  OK(tokamak_device_open_cpu(&cpu, &device));
  /* A sum over rows and then one over all: something is kept in memory between two kernels. */
  tokamak_fusion* fusion =
      parsed("fusion f(x: f32[n, m]) -> y { a = softmax(x, axis=1) b = sum(a, axes=[0]) c = b * 0.0 y = a + c }");
  tokamak_allocator output_memory = {sizeof output_memory, &outputs, giveMemory, NULL};
  tokamak_allocator between_memory = {sizeof between_memory, &between, giveMemory, takeMemory};
  tokamak_compile_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.output_allocator = &output_memory;
  options.intermediate_allocator = &between_memory;
  tokamak_program* program = NULL;
  FAILS(tokamak_compile(fusion, device, &options, &program), TOKAMAK_ERROR_USAGE, "allocate or release is null");
  output_memory.release = takeMemory;
  options.reserved = 1;
  FAILS(tokamak_compile(fusion, device, &options, &program), TOKAMAK_ERROR_USAGE, "reserved is 1");
  options.reserved = 0;
  OK(tokamak_compile(fusion, device, &options, &program));
  tokamak_tensor *in = wrapped(device, x, kRows, kColumns), *out = NULL;
  tokamak_argument argument = tensorArgument(NULL, in);
  OK(tokamak_program_run(program, &argument, 1, NULL, NULL, &out));
  OK(tokamak_tensor_read(out, y, sizeof y));
  expectSoftmax(y, x, kRows, kColumns);
  CHECK(threads.calls > 0 && outputs.allocated == 1 && between.allocated > 0);
  threads.done = 7; /* what its run gives from now on */
  tokamak_tensor* failed = NULL;
  FAILS(tokamak_program_run(program, &argument, 1, NULL, NULL, &failed), TOKAMAK_ERROR_DEVICE,
        "parallel-for of the caller: it gave 7");
  threads.done = 0;
  tokamak_program_free(program);
  CHECK(between.released == between.allocated && outputs.released == 1);
  tokamak_tensor_free(out);
  CHECK(outputs.released == outputs.allocated);

  options.most_intermediate_bytes = 16;
  OK(tokamak_compile(fusion, device, &options, &program));
  FAILS(tokamak_program_run(program, &argument, 1, NULL, NULL, &out), TOKAMAK_ERROR_OUT_OF_MEMORY,
        "the limit that was set is 16");
  tokamak_program_free(program);

  options.most_intermediate_bytes = 0;
  output_memory.allocate = giveNothing;
  OK(tokamak_compile(fusion, device, &options, &program));
  FAILS(tokamak_program_run(program, &argument, 1, NULL, NULL, &out), TOKAMAK_ERROR_OUT_OF_MEMORY,
        "the caller's allocator has no");
  tokamak_program_free(program);
  tokamak_fusion_free(fusion);
  tokamak_tensor_free(in);
  tokamak_device_free(device);
}

static void countLog(void* context, const char* text) {
  CHECK(strlen(text) > 0 && text[strlen(text) - 1] != '\n');
  ++((Counts*)context)->logged;
}
static void countLetGo(void* context) { ++((Counts*)context)->let_go; }

/* Without a compiler the library says so, once, to whom it is told to. */
static void testLog(void) {
  Counts first, second;
  memset(&first, 0, sizeof first);
  memset(&second, 0, sizeof second);
  setenv("TOKAMAK_CC", "/no/compiler", 1);
  tokamak_set_log(countLog, &first, countLetGo);
  tokamak_set_log(countLog, &second, countLetGo);
  CHECK(first.let_go == 1 && second.let_go == 0);
  tokamak_device* device = openedCpu();
  tokamak_fusion* fusion = parsed(kSoftmax);
  tokamak_program_free(compiled(fusion, device));
  CHECK(first.logged == 0 && second.logged == 1);
  tokamak_set_log(NULL, NULL, NULL);
  CHECK(second.let_go == 1);
  tokamak_fusion_free(fusion);
  tokamak_device_free(device);
}

/* Deleters that wait until they are asked for. */
static void testDeleters(void) {
  static float x[4];
  static int64_t sizes[1] = {4};
  tokamak_device* device = openedCpu();
  tokamak_device_defer_deleters(device);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) {
      DLManagedTensorVersioned* given = calloc(1, sizeof *given);
      given->major = 1;
      given->deleter = countDeleted;
      given->array.data = x;
      given->array.device_type = 1;
      given->array.rank = 1;
      given->array.code = 2;
      given->array.bits = 32;
      given->array.lanes = 1;
      given->array.sizes = sizes;
      tokamak_tensor* tensor = NULL;
      OK(tokamak_tensor_from_dlpack(device, given, NULL, &tensor));
      tokamak_tensor_free(tensor);
    }
    CHECK(deleted == 3 * round);
    if (round == 0) {
      for (int tries = 0; deleted < 3 && tries < 100000; ++tries) tokamak_device_collect(device);
      CHECK(deleted == 3);
    }
  }
  tokamak_device_free(device);
  CHECK(deleted == 6);
}

/* Each rank has a row of x, and gets the sum of all rows. */
static const char* const kRowSum =
    "fusion sums(x: f32[2 * ranks, 3] mesh(ranks)) -> y {\n"
    "  y: f32[3] mesh(ranks) = sum(x, axes=[0])\n"
    "}\n"
    "schedule {\n"
    "  split(x, axis=0, factor=ranks, inner_split=false)\n"
    "  parallelize(x, axis=0, type=DIDx)\n"
    "}\n";

static void* runRank(void* given) {
  tokamak_communicator* communicator = given;
  const int rank = (int)tokamak_communicator_rank(communicator);
  CHECK(tokamak_communicator_size(communicator) == 2);
  tokamak_fusion* fusion = NULL;
  OK(tokamak_fusion_parse_for_ranks(kRowSum, strlen(kRowSum), NULL, 2, &fusion));
  tokamak_compile_options options = {.struct_size = sizeof options, .communicator = communicator};
  tokamak_program* program = NULL;
  OK(tokamak_compile(fusion, shared_device, &options, &program));
  tokamak_fusion_free(fusion);
  tokamak_communicator_free(communicator); /* which the program keeps */
  for (int call = 0; call < 3; ++call) {
    float x[6], y[3];
    for (int i = 0; i < 6; ++i) x[i] = (float)(i + 10 * rank + call);
    tokamak_tensor* in = wrapped(shared_device, x, 2, 3);
    tokamak_argument argument = tensorArgument(NULL, in);
    tokamak_tensor* out = NULL;
    OK(tokamak_program_run(program, &argument, 1, NULL, NULL, &out));
    OK(tokamak_tensor_read(out, y, sizeof y));
    for (int i = 0; i < 3; ++i) CHECK(y[i] == (float)(4 * (i + call) + 26));
    tokamak_tensor_free(out);
    tokamak_tensor_free(in);
  }
  tokamak_program_free(program);
  return NULL;
}

/* What a bootstrap is given: how often it is called, and what it does wrong. */
typedef struct Meeting {
  int calls, code, is_silent;
} Meeting;

static int meetAlone(void* context, const void* own, size_t size, void* sink,
                     void (*give)(void* sink, int64_t rank, const void* bytes, size_t size)) {
  Meeting* meeting = context;
  ++meeting->calls;
  give(sink, 7, own, size); /* no rank of the job */
  if (!meeting->is_silent) give(sink, 0, own, size);
  return meeting->code;
}

/* Two threads are the ranks of a job. */
static void testRanks(void) {
  shared_device = openedCpu();
  tokamak_device* devices[2] = {shared_device, shared_device};
  tokamak_communicator* ranks[2] = {NULL, NULL};
  OK(tokamak_communicator_open_local(devices, 2, 0, ranks));
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, runRank, ranks[i]) == 0);
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(threads[i], NULL) == 0);

  FAILS(tokamak_communicator_open_local(devices, 0, 0, ranks), TOKAMAK_ERROR_USAGE, "no devices were given");
  FAILS(tokamak_communicator_open_local(devices, 2, -1, ranks), TOKAMAK_ERROR_USAGE, "timeout: -1 ms");
  FAILS(tokamak_communicator_open_local(NULL, 2, 0, ranks), TOKAMAK_ERROR_USAGE, "devices is null");
  tokamak_device* other = openedCpu();
  OK(tokamak_communicator_open_local(devices, 1, 0, ranks));
  tokamak_fusion* fusion = NULL;
  FAILS(tokamak_fusion_parse(kRowSum, strlen(kRowSum), NULL, &fusion), TOKAMAK_ERROR_PARSE,
        "mesh(ranks) is all ranks of a job, and it is not known here how many these are");
  FAILS(tokamak_fusion_parse_for_ranks(kRowSum, strlen(kRowSum), NULL, 0, &fusion), TOKAMAK_ERROR_PARSE,
        "0 were asked for; expected 1 to 1024");
  fusion = parsed(kSoftmax);
  tokamak_compile_options options = {.struct_size = sizeof options, .communicator = ranks[0]};
  tokamak_program* program = NULL;
  FAILS(tokamak_compile(fusion, other, &options, &program), TOKAMAK_ERROR_USAGE, "bound to another device");
  tokamak_fusion_free(fusion);
  tokamak_communicator_free(ranks[0]);
  tokamak_device_free(other);

  Meeting meeting = {0, 0, 0};
  tokamak_bootstrap bootstrap = {sizeof bootstrap, &meeting, 0, 1, meetAlone};
  FAILS(tokamak_communicator_open_nccl(shared_device, &bootstrap, 0, ranks), TOKAMAK_ERROR_UNSUPPORTED, "");
  FAILS(tokamak_communicator_open_peer(shared_device, &bootstrap, 0, ranks), TOKAMAK_ERROR_UNSUPPORTED,
        "is no GPU; it is between GPUs");
  bootstrap.rank = 1;
  FAILS(tokamak_communicator_open_nccl(shared_device, &bootstrap, 0, ranks), TOKAMAK_ERROR_USAGE,
        "rank 1 of a job of 1");
  bootstrap.exchange = NULL;
  FAILS(tokamak_communicator_open_nccl(shared_device, &bootstrap, 0, ranks), TOKAMAK_ERROR_USAGE, "exchange is null");
  unsetenv("RANK");
  unsetenv("OMPI_COMM_WORLD_RANK");
  FAILS(tokamak_communicator_open_nccl(shared_device, NULL, 0, ranks), TOKAMAK_ERROR_USAGE, "$RANK is not set");
  tokamak_device_free(shared_device);
}

/* A rank with a GPU, to which a function brings the others. ctest gives a driver that needs no GPU. */
static void testBootstrap(void) {
  tokamak_device* gpu = NULL;
  tokamak_error* missing = tokamak_device_open_cuda(0, &gpu);
  CHECK(missing == NULL || getenv("TOKAMAK_CUDA_DRIVER") == NULL);
  if (missing != NULL) {
    tokamak_error_free(missing);
    return;
  }
  tokamak_communicator* rank = NULL;
  Meeting meeting = {0, 5, 0};
  tokamak_bootstrap bootstrap = {sizeof bootstrap, &meeting, 0, 1, meetAlone};
  FAILS(tokamak_communicator_open_nccl(gpu, &bootstrap, 0, &rank), TOKAMAK_ERROR_DEVICE,
        "exchange() of rank 0 has failed with 5");
  meeting.code = 0;
  meeting.is_silent = 1;
  FAILS(tokamak_communicator_open_nccl(gpu, &bootstrap, 0, &rank), TOKAMAK_ERROR_USAGE, "gave nothing of rank 0");
  meeting.is_silent = 0;
  OK(tokamak_communicator_open_nccl(gpu, &bootstrap, 0, &rank));
  CHECK(meeting.calls >= 3 && tokamak_communicator_size(rank) == 1);
  tokamak_communicator_free(rank);
  OK(tokamak_communicator_open_peer(gpu, &bootstrap, 0, &rank));
  CHECK(tokamak_communicator_rank(rank) == 0 && tokamak_communicator_size(rank) == 1);
  tokamak_communicator_free(rank);
  tokamak_device_free(gpu);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } tests[] = {{"text", testText},
               {"build", testBuild},
               {"errors", testErrors},
               {"options", testOptions},
               {"messages", testMessages},
               {"updates", testUpdates},
               {"any_order", testAnyOrder},
               {"dlpack", testDlpack},
               {"stream", testStream},
               {"threads", testThreads},
               {"cancel", testCancel},
               {"hooks", testHooks},
               {"log", testLog},
               {"deleters", testDeleters},
               {"exported", testExported},
               {"ranks", testRanks},
               {"bootstrap", testBootstrap}};
  CHECK(strcmp(tokamak_version(), TOKAMAK_EXPECTED_VERSION) == 0);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i) {
    if (argc == 2 && strcmp(argv[1], tests[i].name) != 0) continue;
    deleted = 0;
    tests[i].run();
    if (argc == 2) return 0;
  }
  return argc == 2 ? 2 : 0;
}
