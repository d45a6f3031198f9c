// The engine as it is on systems without epoll, eventfd, memfd, accept4, pipe2 and a subreaper, and on arm64, where char
// has no sign: one build of the engine tests on Linux for both. `run` is for bash in a clone at $CLONE.

// Asio's own bodies use what their system has.
const linuxCalls = [
  'epoll_create1|epoll_ctl|epoll_wait|eventfd|memfd_create|accept4|pipe2|dup3|prctl|syscall|signalfd|timerfd_[a-z]+',
  'inotify_[a-z_0-9]+|mkostemps?|fdatasync|sync_file_range|syncfs|fallocate|copy_file_range|splice|sendfile|statx',
  'statfs|renameat2|getrandom|gettid|prlimit|mallinfo2?|malloc_trim|pthread_setname_np',
].join('|');

export const rows = [
  {
    name: 'portable',
    title: 'Debian 13, engine tests without what only Linux has, char without a sign',
    suite: 'trixie',
    packages: [],
    run: `set -euo pipefail
cd "$CLONE"
cmake --preset portable -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-funsigned-char
ninja -C build/portable -j "$(nproc)" core_tests io_tests
calls=$(nm -A --undefined-only build/portable/libmillrace_io.a | grep -v 'boost_src' | grep -E ' U (${linuxCalls})(64)?(@|$)' || true)
if [ -n "$calls" ]; then echo "calls of Linux alone: $calls"; exit 1; fi
node scripts/testing/gtest.mjs portable
`,
  },
];
