/* The interface for C, and for languages that call C: fusions by text or call by call, compiled and run on arrays of
 * the caller, with DLPack in and out.
 *
 *   tokamak_device* device = NULL;
 *   tokamak_error* error = tokamak_device_open_cpu(NULL, &device);
 *
 * Every function that can fail gives an error object, or null. The caller frees it. On an error nothing is
 * written to the results, and nothing that was given has changed hands.
 *
 * Objects are opaque. The caller frees each by its _free function, which takes null, too; objects may be freed
 * in any order, as what an object needs is kept by it. Texts that functions give live as long as the object that was
 * asked. Names and texts are UTF-8 that ends with a zero byte, unless a length is given. Messages are UTF-8 whatever
 * was given: of other bytes they have \xff and the like. Functions that give no error object take no null for an
 * object, but for the _free functions.
 *
 * Threads: any threads may use different objects side by side, and one device, stream, program or tensor, too. A fusion
 * is for one thread at a time. An object is freed when nobody else uses it. */
#ifndef TOKAMAK_C_H
#define TOKAMAK_C_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TOKAMAK_C_EXPORT __attribute__((visibility("default")))
#else
#define TOKAMAK_C_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tokamak_error tokamak_error;
typedef struct tokamak_device tokamak_device;
typedef struct tokamak_stream tokamak_stream;
typedef struct tokamak_tensor tokamak_tensor;
typedef struct tokamak_fusion tokamak_fusion;
typedef struct tokamak_program tokamak_program;
typedef struct tokamak_communicator tokamak_communicator;
/* A tensor or scalar of a fusion, which owns it: it is not freed, and goes with the fusion. */
typedef struct tokamak_value tokamak_value;

/* --- the library --- */

/* The version of the library that runs, "MAJOR.MINOR.PATCH"; the text is the library's and stays. Any thread may
 * ask. */
TOKAMAK_C_EXPORT const char* tokamak_version(void);

/* Where the library says what a caller should know and no result tells, for all of the process; a null `log` is
 * standard error, as at first. `text` is a sentence without a line end, and valid during the call. It is called on any
 * thread, also on those of the library, by several at once, and perhaps under a lock of the library: it does not call
 * the library. `release` (may be null) is called once, on any thread, when nothing calls `log` with this `context` any
 * more. Any thread may set it at any time. Without memory nothing changes, and `release` is called. */
TOKAMAK_C_EXPORT void tokamak_set_log(void (*log)(void* context, const char* text), void* context,
                                      void (*release)(void* context));

/* --- errors --- */

/* The numbers stay as they are. A library of a later version may give others. */
typedef enum tokamak_error_code {
  TOKAMAK_ERROR_USAGE = 1,         /* an option or an argument is wrong */
  TOKAMAK_ERROR_PARSE = 2,         /* a text cannot be read */
  TOKAMAK_ERROR_DEFINITION = 3,    /* a fusion is built wrongly: type, rank, shape, axis */
  TOKAMAK_ERROR_SCHEDULE = 4,      /* a schedule command is illegal where it stands */
  TOKAMAK_ERROR_HOST_PROGRAM = 5,  /* a host program is malformed */
  TOKAMAK_ERROR_RACE = 6,          /* a host program is not free of races */
  TOKAMAK_ERROR_BIND = 7,          /* what was given to a call does not fit the program */
  TOKAMAK_ERROR_OUT_OF_MEMORY = 8, /* an allocation cannot be served */
  TOKAMAK_ERROR_IO = 9,            /* a file cannot be read or written */
  TOKAMAK_ERROR_DEVICE = 10,       /* a device reports a fault */
  TOKAMAK_ERROR_UNSUPPORTED = 11,  /* legal, but not available here */
  TOKAMAK_ERROR_COMPILE = 12,      /* a compiler failed on generated source */
  TOKAMAK_ERROR_INTERNAL = 13,     /* a broken invariant of the library */
  TOKAMAK_ERROR_CANCELLED = 14,    /* who waited gave up, or the process exits */
  TOKAMAK_ERROR_ANY = 0x7fffffff   /* none: any number may be asked about */
} tokamak_error_code;

TOKAMAK_C_EXPORT tokamak_error_code tokamak_error_get_code(const tokamak_error* error);
/* "parse", "out of memory", ...; for ever. */
TOKAMAK_C_EXPORT const char* tokamak_error_code_name(tokamak_error_code code);
/* The sentence, and lines that say where it happened. */
TOKAMAK_C_EXPORT const char* tokamak_error_message(const tokamak_error* error);
/* Where in a text, from 1; 0 where the error is about no text. */
TOKAMAK_C_EXPORT int64_t tokamak_error_line(const tokamak_error* error);
TOKAMAK_C_EXPORT int64_t tokamak_error_column(const tokamak_error* error);
TOKAMAK_C_EXPORT void tokamak_error_free(tokamak_error* error);

/* --- devices and streams --- */

/* Options are structs that begin with their size, sizeof as the caller knows it: members that a later version adds
 * have defaults, and are refused (UNSUPPORTED) by a library that does not know them, unless they are 0.
 * tokamak_cpu_options options = {sizeof options}; leaves all to their defaults. */
typedef struct tokamak_parallel_for tokamak_parallel_for;
typedef struct tokamak_cpu_options {
  size_t struct_size;
  int64_t threads;                          /* that share out blocks; 0: as many processors as this process may use */
  int64_t memory_limit;                     /* in bytes; 0: the machine's memory */
  int32_t op_by_op;                         /* 1: nothing is compiled, each op runs on the library's own loops */
  int32_t reserved;                         /* 0 */
  const tokamak_parallel_for* parallel_for; /* the caller's threads; null: the device has threads of its own */
} tokamak_cpu_options;

/* The caller's threads, for the blocks of kernels; `threads` of the device's options says how many are meant to work on
 * one kernel. run() calls body(body_context, i) once for each 0 <= i < count, in any order, on any threads, and returns
 * when all have ended: 0, or another number, with which the kernel has failed (DEVICE). Bodies raise nothing, and do
 * not call it. It is called on threads of the library, and on those of callers, side by side for several streams, under
 * no lock of the library. It does not call the library. The struct is copied; run() and `context` outlive the device,
 * its streams, programs and tensors. */
struct tokamak_parallel_for {
  size_t struct_size;
  void* context;
  int (*run)(void* context, int64_t count, void (*body)(void* body_context, int64_t i), void* body_context);
};

/* The processor. `options` may be null. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_device_open_cpu(const tokamak_cpu_options* options, tokamak_device** device);
/* The GPU of this number. Errors: UNSUPPORTED without a driver or such a GPU. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_device_open_cuda(int64_t ordinal, tokamak_device** device);
/* 0 without a driver. */
TOKAMAK_C_EXPORT int64_t tokamak_cuda_device_count(void);
/* "cpu", "cuda:0". */
TOKAMAK_C_EXPORT const char* tokamak_device_name(const tokamak_device* device);
/* Whether code of the host may use addresses of the device's memory. */
TOKAMAK_C_EXPORT int tokamak_device_host_reads_memory(const tokamak_device* device);
/* Blocks until the work of the streams that are freed is done, if nothing else keeps the device. */
TOKAMAK_C_EXPORT void tokamak_device_free(tokamak_device* device);

TOKAMAK_C_EXPORT tokamak_error* tokamak_stream_create(tokamak_device* device, tokamak_stream** stream);
/* A stream (CUstream, cudaStream_t; null: the default one) that somebody else made in the primary context, and keeps
 * until the tokamak_stream is freed, and what was given it. Freeing it does not wait for the GPU. Errors: UNSUPPORTED
 * on a device that is no GPU. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_stream_adopt_cuda(tokamak_device* device, void* cuda_stream,
                                                          tokamak_stream** stream);
/* Blocks until the work enqueued so far is done. Errors: of that work, once. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_stream_synchronize(tokamak_stream* stream);
/* The CUstream of a stream on a GPU, else null. */
TOKAMAK_C_EXPORT void* tokamak_stream_cuda_handle(const tokamak_stream* stream);
TOKAMAK_C_EXPORT void tokamak_stream_free(tokamak_stream* stream);

/* --- tensors --- */

typedef enum tokamak_dtype {
  TOKAMAK_F64 = 1,
  TOKAMAK_F32 = 2,
  TOKAMAK_F16 = 3,
  TOKAMAK_BF16 = 4,
  TOKAMAK_I32 = 5,
  TOKAMAK_I64 = 6,
  TOKAMAK_BOOL = 7,              /* a byte of 0 or 1 */
  TOKAMAK_DTYPE_ANY = 0x7fffffff /* none, as TOKAMAK_ERROR_ANY */
} tokamak_dtype;

/* The caller's memory of the host, which stays until the calls that use it are done. Sizes and strides in elements,
 * `strides` null for row-major; at most 16 axes. With `is_read_only` calls do not write it. Errors: BIND;
 * OUT_OF_MEMORY for sizes of more than 63 bits. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_tensor_wrap(tokamak_device* device, void* data, tokamak_dtype dtype,
                                                    int32_t rank, const int64_t* sizes, const int64_t* strides,
                                                    int is_read_only, tokamak_tensor** tensor);
/* Memory of the device, row-major; its contents are undefined. `stream` may be null: the memory may then be used on any
 * stream at once. Errors: OUT_OF_MEMORY, BIND. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_tensor_empty(tokamak_device* device, tokamak_dtype dtype, int32_t rank,
                                                     const int64_t* sizes, tokamak_stream* stream,
                                                     tokamak_tensor** tensor);
TOKAMAK_C_EXPORT tokamak_dtype tokamak_tensor_dtype(const tokamak_tensor* tensor);
TOKAMAK_C_EXPORT int32_t tokamak_tensor_rank(const tokamak_tensor* tensor);
/* `rank` numbers, which live as long as the tensor; strides in elements. */
TOKAMAK_C_EXPORT const int64_t* tokamak_tensor_sizes(const tokamak_tensor* tensor);
TOKAMAK_C_EXPORT const int64_t* tokamak_tensor_strides(const tokamak_tensor* tensor);
/* The address of element [0, 0, ...] for code of the host that reads (or writes, with `for_writing`), once the calls
 * that access the memory are done. Errors: BIND where the host cannot reach the memory, or may only read it and
 * `for_writing` is set; of the work that wrote it. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_tensor_host_data(const tokamak_tensor* tensor, int for_writing, void** data);
/* Blocks until the calls that write the tensor are done. Errors: of these calls. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_tensor_wait(const tokamak_tensor* tensor);
/* Copies all elements, row-major, between host memory of `bytes` bytes and the tensor, and waits. Errors: BIND for
 * another number of bytes. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_tensor_read(const tokamak_tensor* tensor, void* to, int64_t bytes);
TOKAMAK_C_EXPORT void tokamak_tensor_free(tokamak_tensor* tensor);

/* DLPack 1.x: a DLManagedTensorVersioned, whose header the caller brings. Taken without a copy: on success the array is
 * the tensor's, and its deleter is called once, on any thread, when the tensor and the calls that use it are gone. The
 * data is there for work on `stream`; null: it is there. Errors: BIND, UNSUPPORTED, OUT_OF_MEMORY (as above);
 * the array then stays the caller's. */
struct DLManagedTensorVersioned;
TOKAMAK_C_EXPORT tokamak_error* tokamak_tensor_from_dlpack(tokamak_device* device,
                                                           struct DLManagedTensorVersioned* array,
                                                           tokamak_stream* stream, tokamak_tensor** tensor);
/* For another library, which calls the deleter once. With a stream the data is there for work on it; with null, and for
 * memory that the host reads, this waits until it is there. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_tensor_to_dlpack(const tokamak_tensor* tensor, tokamak_stream* stream,
                                                         struct DLManagedTensorVersioned** array);

/* From now on deleters of arrays that tokamak_tensor_from_dlpack() took on this device are called by
 * tokamak_device_collect(), and by tokamak_device_free(), which waits, on the threads of these calls alone: for
 * languages whose objects may be let go on some threads only, or under a lock. Those of arrays whose tensors are freed
 * after the device are called then. */
TOKAMAK_C_EXPORT void tokamak_device_defer_deleters(tokamak_device* device);
/* Calls the deleters of arrays that nothing uses any more. They may call the library. */
TOKAMAK_C_EXPORT void tokamak_device_collect(tokamak_device* device);

/* --- fusions --- */

/* From its text (docs/text.md), of `length` bytes; `file` is its name in messages. Errors: PARSE, DEFINITION,
 * SCHEDULE. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_fusion_parse(const char* text, size_t length, const char* file,
                                                     tokamak_fusion** fusion);
/* The same for a job of so many ranks, of which mesh(ranks) in the text has all, and which `ranks` is the number of. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_fusion_parse_for_ranks(const char* text, size_t length, const char* file,
                                                               int64_t ranks, tokamak_fusion** fusion);
TOKAMAK_C_EXPORT tokamak_error* tokamak_fusion_create(const char* name, tokamak_fusion** fusion);

/* A size of an input: the name of an extent, or, without a name, a number. */
typedef struct tokamak_size {
  const char* name;
  int64_t number;
} tokamak_size;

TOKAMAK_C_EXPORT tokamak_error* tokamak_fusion_input(tokamak_fusion* fusion, const char* name, tokamak_dtype dtype,
                                                     int32_t rank, const tokamak_size* sizes, tokamak_value** value);
TOKAMAK_C_EXPORT tokamak_error* tokamak_fusion_scalar_input(tokamak_fusion* fusion, const char* name,
                                                            tokamak_dtype dtype, tokamak_value** value);

/* What a call in a fusion is given, as in a text: softmax(x, axis=-1). */
typedef enum tokamak_operand_kind {
  TOKAMAK_OPERAND_NONE = 0,
  TOKAMAK_OPERAND_VALUE = 1,    /* .value */
  TOKAMAK_OPERAND_INTEGER = 2,  /* .integer */
  TOKAMAK_OPERAND_FLOAT = 3,    /* .floating */
  TOKAMAK_OPERAND_BOOL = 4,     /* .integer, 0 or 1 */
  TOKAMAK_OPERAND_TEXT = 5,     /* .text: a name of an enumerator */
  TOKAMAK_OPERAND_DTYPE = 6,    /* .integer, a tokamak_dtype */
  TOKAMAK_OPERAND_INTEGERS = 7, /* .integers, .count of them */
  TOKAMAK_OPERAND_VALUES = 8,   /* .values, .count of them: tensors, or scalars */
  TOKAMAK_OPERAND_BOOLS = 9,    /* .integers of 0 or 1, .count of them */
  TOKAMAK_OPERAND_ANY = 0x7fffffff
} tokamak_operand_kind;

typedef struct tokamak_operand {
  const char* name; /* null: by position */
  tokamak_operand_kind kind;
  size_t count;
  union {
    tokamak_value* value;
    int64_t integer;
    double floating;
    const char* text;
    const int64_t* integers;
    tokamak_value* const* values;
  } of;
} tokamak_operand;

/* Appends the call of a function of docs/ops.md by its name, and gives its results, at most `capacity` of them;
 * `count` (may be null) says how many there are. After an error the fusion may hold steps of the call, which nothing
 * reads and no program computes. Errors: DEFINITION, USAGE for too small a capacity. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_fusion_call(tokamak_fusion* fusion, const char* function,
                                                    const tokamak_operand* operands, size_t operand_count,
                                                    tokamak_value** results, size_t capacity, size_t* count);
TOKAMAK_C_EXPORT tokamak_error* tokamak_fusion_output(tokamak_fusion* fusion, const char* name, tokamak_value* tensor);
/* Calls write `value` into the memory of `input`, and do not give it. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_fusion_update(tokamak_fusion* fusion, tokamak_value* input,
                                                      tokamak_value* value);
/* The fusion as text, which reads back; lives until the next call of this function, or the fusion's end. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_fusion_text(tokamak_fusion* fusion, const char** text);
TOKAMAK_C_EXPORT void tokamak_fusion_free(tokamak_fusion* fusion);

/* --- ranks of a job, for programs over several devices (docs/devices.md) --- */

/* What ranks may wait for one another, in milliseconds, is `timeout` everywhere; 0: 600,000. */

/* The ranks of a job that are threads of this process: `count` of them, on processors, which may be one. Each rank's
 * program is compiled and called by a thread of its own, with memory of its own: calls of ranks of one device that
 * write the same memory wait for each other, until the time is up. `communicators` takes as many. Errors: USAGE,
 * UNSUPPORTED for a GPU. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_communicator_open_local(tokamak_device* const* devices, size_t count,
                                                                int64_t timeout, tokamak_communicator** communicators);
/* This process of those that mpirun started, on a processor; returns when all have come. Errors: UNSUPPORTED without
 * MPI; DEVICE for ranks that do not come. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_communicator_open_mpi(tokamak_device* device, int64_t timeout,
                                                              tokamak_communicator** communicator);

/* How the ranks of a job first hear of one another. exchange() calls give(sink, i, bytes, size) once for each rank i,
 * with what that rank has given, and returns 0; another number is an error (DEVICE) of who called it. All ranks call it
 * equally often, on the threads that open the communicators, and under no lock of the library. */
typedef struct tokamak_bootstrap {
  size_t struct_size;
  void* context;
  int64_t rank; /* from 0 on */
  int64_t size; /* how many ranks there are */
  int (*exchange)(void* context, const void* own, size_t size, void* sink,
                  void (*give)(void* sink, int64_t rank, const void* bytes, size_t size));
} tokamak_bootstrap;

/* This rank of a job whose ranks have a GPU each; returns when all have come. `bootstrap` is used until then; null: as
 * RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say, or mpirun. Errors: UNSUPPORTED without NCCL; USAGE; DEVICE for
 * ranks that do not come, or have another version. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_communicator_open_nccl(tokamak_device* device,
                                                               const tokamak_bootstrap* bootstrap, int64_t timeout,
                                                               tokamak_communicator** communicator);
/* The same for ranks with GPUs of one host, which several may share: they copy from one another's memory, without NCCL.
 * Errors: UNSUPPORTED for ranks on other hosts, and GPUs that do not reach each other; USAGE; DEVICE as above. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_communicator_open_peer(tokamak_device* device,
                                                               const tokamak_bootstrap* bootstrap, int64_t timeout,
                                                               tokamak_communicator** communicator);
TOKAMAK_C_EXPORT int64_t tokamak_communicator_rank(const tokamak_communicator* communicator);
TOKAMAK_C_EXPORT int64_t tokamak_communicator_size(const tokamak_communicator* communicator);
/* The rank leaves its job when its programs are gone, too. */
TOKAMAK_C_EXPORT void tokamak_communicator_free(tokamak_communicator* communicator);

/* --- programs --- */

typedef enum tokamak_memory_kind {
  TOKAMAK_MEMORY_DEVICE = 1, /* the device's own */
  TOKAMAK_MEMORY_PINNED = 2, /* of the host, which the device reaches */
  TOKAMAK_MEMORY_HOST = 3,   /* of the host */
  TOKAMAK_MEMORY_ANY = 0x7fffffff
} tokamak_memory_kind;

/* A caller's memory. allocate() gives a multiple of 256, not null for no bytes, too, for work on the stream from now
 * on; null: there is none (OUT_OF_MEMORY). release() is called once for each: on the processor when no call uses the
 * memory any more; on a GPU work on the stream may still use it, and only later work there, or what waits for it, may
 * get it next. `cuda_stream`: as tokamak_stream_cuda_handle(). Both are called under no lock of the library: allocate()
 * on the thread of tokamak_program_run(), release() on any. Neither runs a program that it allocates for. The struct is
 * copied; functions and `context` outlive the program and all of its outputs. */
typedef struct tokamak_allocator {
  size_t struct_size;
  void* context;
  void* (*allocate)(void* context, int64_t bytes, tokamak_memory_kind kind, void* cuda_stream);
  void (*release)(void* context, void* address, int64_t bytes, tokamak_memory_kind kind, void* cuda_stream);
} tokamak_allocator;

typedef struct tokamak_compile_options {
  size_t struct_size;
  int64_t streams;         /* of each call, for axes that are marked as Stream; 0: 4 */
  int64_t calls_in_flight; /* 0: 4; at most 4096 */
  int64_t most_plans;      /* that are kept, one for each set of sizes; 0: 128 */
  int64_t most_plan_bytes; /* 0: 64 MiB */
  int32_t copies_views;    /* 1: outputs are never views of inputs or of each other */
  int32_t row_major;       /* 1: outputs are row-major, however inputs lie */
  /* Of each call, for what it computes on the way; 0: no limit. Sizes that need more are OUT_OF_MEMORY when they are
   * prepared. A program holds `calls_in_flight` times that at most. */
  int64_t most_intermediate_bytes;
  const tokamak_allocator* output_allocator; /* for outputs that the caller does not give; null: the device */
  /* For what is computed on the way; null: the device. Calls in flight have memory of their own each: allocate() and
   * release() are never called twice at a time for one of them, but side by side for several. */
  const tokamak_allocator* intermediate_allocator;
  int32_t
      runs_on_callers_thread; /* 1: small programs run on the thread that calls, where they wait for nothing (CPU) */
  int32_t reserved;           /* 0 */
  /* Of a fusion over devices: the program is what this rank does of it, on the communicator's device. All ranks compile
   * the same fusions and call their programs in the same order; a call is refused (USAGE) while another thread issues
   * one. Inputs and outputs are the parts that the rank has. Null: the fusion is for one device. */
  const tokamak_communicator* communicator;
} tokamak_compile_options;

/* What does not depend on sizes is compiled. The fusion may change, and go. `options` may be null. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_compile(const tokamak_fusion* fusion, tokamak_device* device,
                                                const tokamak_compile_options* options, tokamak_program** program);
TOKAMAK_C_EXPORT size_t tokamak_program_input_count(const tokamak_program* program);
TOKAMAK_C_EXPORT size_t tokamak_program_output_count(const tokamak_program* program);
/* Null beyond the last one. */
TOKAMAK_C_EXPORT const char* tokamak_program_input_name(const tokamak_program* program, size_t i);
TOKAMAK_C_EXPORT const char* tokamak_program_output_name(const tokamak_program* program, size_t i);
/* The host program in words; lives as long as the program. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_program_text(tokamak_program* program, const char** text);

/* All that may be slow, for inputs whose extents (and integer scalars) have these values: a later call with such inputs
 * compiles nothing. Errors: BIND for an extent that is missing or unknown; COMPILE; OUT_OF_MEMORY for
 * sizes that no memory holds. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_program_prepare(tokamak_program* program, const char* const* names,
                                                        const int64_t* values, size_t count);

/* What cancels calls: any number of them, for ever. It may be freed while they use it. */
typedef struct tokamak_cancel tokamak_cancel;
TOKAMAK_C_EXPORT tokamak_error* tokamak_cancel_create(tokamak_cancel** cancel);
/* Any thread may ask at any time, in the progress function, too, but no handler of a signal. */
TOKAMAK_C_EXPORT void tokamak_cancel_request(tokamak_cancel* cancel);
TOKAMAK_C_EXPORT void tokamak_cancel_free(tokamak_cancel* cancel);

typedef struct tokamak_prepare_options {
  size_t struct_size;
  /* When it is requested, the call gives CANCELLED, soon, and has run nothing. A C compiler that nobody else waits for
   * is killed; NVRTC cannot be. Program and device stay as they are: the same call works later. May be null. */
  const tokamak_cancel* cancel;
  /* Called on the thread of the call, under no lock, when compilers begin, whenever one more kernel is done, and when
   * all are; not where none is missing. Anything but 0 cancels the call. It may call the library, but it does not run
   * the same program. May be null. */
  int (*progress)(void* context, int64_t done, int64_t all);
  void* progress_context;
} tokamak_prepare_options;

/* As tokamak_program_prepare(). `options` may be null. Errors: CANCELLED, too. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_program_prepare_with(tokamak_program* program, const char* const* names,
                                                             const int64_t* values, size_t count,
                                                             const tokamak_prepare_options* options);

/* What a program's call is given for an input: a tensor, or a number. */
typedef enum tokamak_argument_kind {
  TOKAMAK_ARGUMENT_TENSOR = 1,
  TOKAMAK_ARGUMENT_INTEGER = 2,
  TOKAMAK_ARGUMENT_FLOAT = 3,
  TOKAMAK_ARGUMENT_BOOL = 4, /* .integer, 0 or 1 */
  TOKAMAK_ARGUMENT_ANY = 0x7fffffff
} tokamak_argument_kind;

typedef struct tokamak_argument {
  const char* name; /* null: by position; those come first */
  tokamak_argument_kind kind;
  union {
    const tokamak_tensor* tensor;
    int64_t integer;
    double floating;
  } of;
} tokamak_argument;

/* `given` (may be null) are tensors that outputs are written to, one for each output, null where the call is to make
 * one. `results` (may be null if all outputs are given) takes one tensor for each output, to be freed by the caller;
 * those that were given are new handles of the same memory. With a stream the work is enqueued there, and what was
 * given may be freed at once, but memory that was wrapped stays until the work is done. Without one the call returns
 * when it is done. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_program_run(tokamak_program* program, const tokamak_argument* inputs,
                                                    size_t input_count, const tokamak_tensor* const* given,
                                                    tokamak_stream* stream, tokamak_tensor** results);
/* The same; `options` (may be null) are for a call that has to prepare first. Errors: CANCELLED, too, before anything
 * of the call runs. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_program_run_with(tokamak_program* program, const tokamak_argument* inputs,
                                                         size_t input_count, const tokamak_tensor* const* given,
                                                         tokamak_stream* stream, const tokamak_prepare_options* options,
                                                         tokamak_tensor** results);
TOKAMAK_C_EXPORT void tokamak_program_free(tokamak_program* program);

/* --- exported programs --- */

/* The sizes of an extent that a program is exported for. */
typedef struct tokamak_export_size {
  const char* name;
  const int64_t* sizes; /* each a constant of its kernels; of a range its two ends, for which one kernel is made */
  size_t count;
  int32_t is_range;
  int32_t reserved; /* 0 */
} tokamak_export_size;

typedef struct tokamak_export_options {
  size_t struct_size;
  const char* const* processors; /* native, x86-64-v3, ...: what the code is for; null: native */
  size_t processor_count;
  int64_t threads;      /* that kernels are cut for; 0: as many as processors here */
  int32_t copies_views; /* as in tokamak_compile_options */
  int32_t row_major;
  const char* const* gpus; /* sm_90a, ...: GPUs that the code is for; alone, there is none for processors */
  size_t gpu_count;
} tokamak_export_options;

/* Compiles a program for all these sizes into a file, which runs where nothing compiles (docs/exported_programs.md).
 * `options` may be null. Errors: BIND for an extent without sizes; USAGE for sizes that are none; UNSUPPORTED where an
 * extent has to be a constant and is a range, or without a compiler; IO. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_export(const tokamak_fusion* fusion, const tokamak_export_size* sizes,
                                               size_t size_count, const tokamak_export_options* options,
                                               const char* path);

typedef struct tokamak_load_options {
  size_t struct_size;
  const tokamak_compile_options* run; /* of these only what concerns calls; may be null */
  int32_t trusts_any_owner;           /* 1: the file may belong to others, and be written by them. It is code. */
  int32_t compiles; /* 1: what the file has no kernel for is compiled; else that is an error (BIND) of the call */
} tokamak_load_options;

/* A program from its file, which may change, and go. Nothing is compiled. `options` may be null. Errors: IO for a file
 * that cannot be read, is damaged, or belongs to others; UNSUPPORTED for a file of a later version, or without code for
 * the device. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_program_load(tokamak_device* device, const char* path,
                                                     const tokamak_load_options* options, tokamak_program** program);
/* The same for the bytes of a file; `name` in messages. They may go. */
TOKAMAK_C_EXPORT tokamak_error* tokamak_program_load_bytes(tokamak_device* device, const void* bytes, size_t size,
                                                           const char* name, const tokamak_load_options* options,
                                                           tokamak_program** program);

#ifdef __cplusplus
}
#endif

#endif /* TOKAMAK_C_H */
