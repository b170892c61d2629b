// libtokamak_mpi.so: MpiFunctions over the MPI that this file is compiled with.
#include <cstring>
#include <string>

#include <mpi.h>

#include "dist/mpi/mpi_functions.h"

namespace {

static_assert(sizeof(MPI_Request) <= sizeof(uint64_t) && sizeof(MPI_Message) <= sizeof(uint64_t));

MPI_Comm all_processes = MPI_COMM_NULL;
bool is_ours_to_end = false;

// Handles are pointers to structures of the MPI's own, or numbers.
template <class Handle>
uint64_t bitsOf(Handle handle) {
  static_assert(sizeof(Handle) <= sizeof(uint64_t));  // NOLINT(bugprone-sizeof-expression): of a pointer
  union {
    uint64_t bits;
    Handle handle;
  } both = {.bits = 0};
  both.handle = handle;
  return both.bits;
}

template <class Handle>
Handle handleOf(uint64_t bits) {
  union {
    uint64_t bits;
    Handle handle;
  } both = {.bits = bits};
  return both.handle;
}

int32_t startMpi(int& threads) {
  int is_started = 0;
  if (const int error = MPI_Initialized(&is_started); error != MPI_SUCCESS) return error;
  if (is_started != 0) return MPI_Query_thread(&threads);
  is_ours_to_end = true;
  return MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads);
}

int32_t start(void* /*context*/, MpiFunctions::World* world) {
  int threads = 0;
  int rank = 0;
  int size = 0;
  if (const int error = startMpi(threads); error != MPI_SUCCESS) return error;
  if (const int error = MPI_Comm_dup(MPI_COMM_WORLD, &all_processes); error != MPI_SUCCESS) return error;
  MPI_Comm_set_errhandler(all_processes, MPI_ERRORS_RETURN);
  MPI_Comm_rank(all_processes, &rank);
  MPI_Comm_size(all_processes, &size);
  void* largest = nullptr;
  int has_largest = 0;
  MPI_Comm_get_attr(all_processes, MPI_TAG_UB, static_cast<void*>(&largest), &has_largest);
  static char name[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(name, &length);
  *world = {.rank = rank,
            .size = size,
            .largest_tag = has_largest != 0 ? *static_cast<const int*>(largest) : 32767,
            .has_all_threads = threads == MPI_THREAD_MULTIPLE ? 1 : 0,
            .name = name};
  return MPI_SUCCESS;
}

int32_t finish(void* /*context*/) {
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (is_over != 0 || !is_ours_to_end) return MPI_SUCCESS;
  return MPI_Finalize();
}

int32_t send(void* /*context*/, const void* data, int64_t bytes, int64_t rank, int64_t tag, uint64_t* request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int error = MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(rank), static_cast<int>(tag),
                              all_processes, &made);
  *request = made == MPI_REQUEST_NULL ? 0 : bitsOf(made);
  return error;
}

int32_t receive(void* /*context*/, void* data, int64_t bytes, int64_t rank, int64_t tag, uint64_t* request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int error = MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(rank), static_cast<int>(tag),
                              all_processes, &made);
  *request = made == MPI_REQUEST_NULL ? 0 : bitsOf(made);
  return error;
}

int32_t probe(void* /*context*/, int64_t tag, MpiFunctions::Message* message) {
  int is_found = 0;
  MPI_Message handle = MPI_MESSAGE_NULL;
  MPI_Status status;
  *message = {};
  const int error = MPI_Improbe(MPI_ANY_SOURCE, static_cast<int>(tag), all_processes, &is_found, &handle, &status);
  if (error != MPI_SUCCESS || is_found == 0) return error;
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  *message = {.is_found = 1, .source = status.MPI_SOURCE, .bytes = bytes, .handle = bitsOf(handle)};
  return MPI_SUCCESS;
}

int32_t receiveMessage(void* /*context*/, uint64_t handle, void* data, int64_t bytes, uint64_t* request) {
  auto message = handleOf<MPI_Message>(handle);
  MPI_Request made = MPI_REQUEST_NULL;
  const int error = MPI_Imrecv(data, static_cast<int>(bytes), MPI_BYTE, &message, &made);
  *request = made == MPI_REQUEST_NULL ? 0 : bitsOf(made);
  return error;
}

int32_t test(void* /*context*/, uint64_t* request) {
  if (*request == 0) return MPI_SUCCESS;
  auto handle = handleOf<MPI_Request>(*request);
  int is_over = 0;
  const int error = MPI_Test(&handle, &is_over, MPI_STATUS_IGNORE);
  *request = is_over != 0 || handle == MPI_REQUEST_NULL ? 0 : bitsOf(handle);
  return error;
}

int32_t cancel(void* context, uint64_t* request) {
  if (*request == 0) return MPI_SUCCESS;
  auto handle = handleOf<MPI_Request>(*request);
  if (const int error = MPI_Cancel(&handle); error != MPI_SUCCESS) return error;
  return test(context, request);
}

void endJob(void* /*context*/, int32_t code) { MPI_Abort(all_processes, code); }

void describe(void* /*context*/, int32_t error, char* text, int64_t capacity) {
  char known[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(error, known, &length) != MPI_SUCCESS) length = 0;
  std::strncpy(text, known, static_cast<size_t>(capacity));
  text[capacity - 1] = '\0';
}

constexpr MpiFunctions kFunctions = {.version = MpiFunctions::kVersion,
                                     .context = nullptr,
                                     .start = start,
                                     .finish = finish,
                                     .send = send,
                                     .receive = receive,
                                     .probe = probe,
                                     .receive_message = receiveMessage,
                                     .test = test,
                                     .cancel = cancel,
                                     .end_job = endJob,
                                     .describe = describe};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): a name of C
extern "C" __attribute__((visibility("default"))) const MpiFunctions* tokamak_mpi_functions() { return &kFunctions; }
