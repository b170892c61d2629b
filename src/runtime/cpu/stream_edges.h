// Annotations for ThreadSanitizer: exactly the edges of the stream model. The queues' own synchronisation is hidden, as
// it orders more than the model promises and would hide missing waits. Other builds have none of this.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define TK_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TK_THREAD_SANITIZER 1
#endif
#endif

#ifdef TK_THREAD_SANITIZER
extern "C" {
void __tsan_acquire(void* address);  // NOLINT(bugprone-reserved-identifier)
void __tsan_release(void* address);  // NOLINT(bugprone-reserved-identifier)
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace tokamak {

#ifdef TK_THREAD_SANITIZER

inline constexpr bool kThreadSanitizer = true;

/// What this thread did so far happens before what follows a receiveEdge of the same address.
inline void sendEdge(const void* address) { __tsan_release(const_cast<void*>(address)); }
inline void receiveEdge(const void* address) { __tsan_acquire(const_cast<void*>(address)); }

/// While it lives, ThreadSanitizer neither checks nor learns from what this thread does.
class HideFromSanitizer {
 public:
  HideFromSanitizer() {
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  HideFromSanitizer(const HideFromSanitizer&) = delete;
  HideFromSanitizer& operator=(const HideFromSanitizer&) = delete;
  ~HideFromSanitizer() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  }
};

#else

inline constexpr bool kThreadSanitizer = false;
inline void sendEdge(const void* /*address*/) {}
inline void receiveEdge(const void* /*address*/) {}
class HideFromSanitizer {
 public:
  HideFromSanitizer() {}  // user-provided, so that an unused object is no warning
};

#endif

}  // namespace tokamak
