// Of how many random programs a build looks at one: sanitizers make the judges slow; a tenth of the programs shows them
// as much.
#pragma once

#include <cstdint>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TK_TEST_IS_SANITIZED
#endif
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TK_TEST_IS_SANITIZED
#endif

namespace tokamak {

#ifdef TK_TEST_IS_SANITIZED
constexpr int64_t kShare = 10;
#else
constexpr int64_t kShare = 1;
#endif

}  // namespace tokamak
