// MpiFunctions: all that Tokamak asks of MPI, as a table of C functions that libtokamak_mpi.so fills.
#pragma once

#include <cstdint>

/// The binary interface of an MPI belongs to that MPI, so that only libtokamak_mpi.so (library/mpi_library.cpp), which
/// is built with one, includes mpi.h. Messages are bytes between processes of one communicator of all processes; no
/// function waits, but for start() and finish(), which all processes call.
/// Each function gives 0, or a number for describe(). A request is 0 once it is over.
/// Thread safety: one call at a time, from any thread.
struct MpiFunctions {
  static constexpr int64_t kVersion = 1;
  static constexpr const char* kEntry = "tokamak_mpi_functions";  ///< gives a pointer to the table

  struct World {
    int64_t rank;
    int64_t size;
    int64_t largest_tag;
    int64_t has_all_threads;  ///< MPI_THREAD_MULTIPLE; 0: it was started with less
    const char* name;         ///< "Open MPI v4.1.4, ..."; lives as long as the library
  };
  /// A message that has arrived, taken from those that anybody may look at.
  struct Message {
    int64_t is_found;
    int64_t source;
    int64_t bytes;
    uint64_t handle;
  };

  int64_t version;
  void* context;  ///< the first argument of each
  /// Starts MPI where nobody has done it.
  int32_t (*start)(void* context, World* world);
  /// Ends MPI where start() began it, and nobody has ended it.
  int32_t (*finish)(void* context);
  /// `bytes`: at most kMostBytes. The memory is MPI's until the request is over.
  int32_t (*send)(void* context, const void* data, int64_t bytes, int64_t rank, int64_t tag, uint64_t* request);
  int32_t (*receive)(void* context, void* data, int64_t bytes, int64_t rank, int64_t tag, uint64_t* request);
  /// The next message of this tag, of whatever process; those of one process in the order in which it sent them.
  int32_t (*probe)(void* context, int64_t tag, Message* message);
  int32_t (*receive_message)(void* context, uint64_t handle, void* data, int64_t bytes, uint64_t* request);
  /// Makes progress, of all requests.
  int32_t (*test)(void* context, uint64_t* request);
  /// Of a receive: when it is over, nothing is written any more. One that a message has come for goes on.
  int32_t (*cancel)(void* context, uint64_t* request);
  /// Ends all processes; does not return.
  void (*end_job)(void* context, int32_t code);
  void (*describe)(void* context, int32_t error, char* text, int64_t capacity);

  static constexpr int64_t kMostBytes = int64_t{1} << 30U;  ///< of one message; counts of MPI are int
};
