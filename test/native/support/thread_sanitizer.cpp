// What ThreadSanitizer reports of libraries that are not compiled with it.

// libcurl 7.88 closes the socket of a connection that was not made yet and only then has its
// number removed from the set of watched ones. In between another thread's accept may be given the
// number; the kernel then refuses the removal, for the file behind the number is not in the set.
extern "C" const char* __tsan_default_suppressions() {  // NOLINT: the name is ThreadSanitizer's
  return "race:millrace::os::SocketSet::remove\n";
}
