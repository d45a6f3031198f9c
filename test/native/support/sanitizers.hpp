// What the program is compiled with, which g++ and clang say in ways of their own.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define MILLRACE_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define MILLRACE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MILLRACE_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define MILLRACE_THREAD_SANITIZER 1
#endif
#endif

namespace millrace::test {

#if defined(MILLRACE_ADDRESS_SANITIZER)
inline constexpr bool has_address_sanitizer = true;
#else
inline constexpr bool has_address_sanitizer = false;
#endif

#if defined(MILLRACE_THREAD_SANITIZER)
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

}  // namespace millrace::test
