// The engine as it is on systems without epoll, eventfd, memfd, accept4, pipe2 and a subreaper: built and tested on
// Linux without them. `run` is for bash in a clone at $CLONE.
const buildTests = `
import { buildEngine } from './scripts/setup/engine.mjs';
await buildEngine(process.cwd(), { preset: 'portable', tests: true, targets: ['io_tests'] });
`;

// Asio's own bodies use what their system has.
const linuxCalls =
  'epoll_create1|epoll_ctl|epoll_wait|eventfd|memfd_create|accept4|pipe2|prctl|syscall';

export const rows = [
  {
    name: 'portable',
    title: 'Debian 13, without what only Linux has',
    suite: 'trixie',
    packages: [],
    run: `set -euo pipefail
cd "$CLONE"
node scripts/setup.mjs test
node --input-type=module -e "${buildTests}"
calls=$(nm -A --undefined-only build/portable/libmillrace_io.a | grep -v 'boost_src' | grep -E ' U (${linuxCalls})(@|$)' || true)
if [ -n "$calls" ]; then echo "calls of Linux alone: $calls"; exit 1; fi
node scripts/testing/gtest.mjs portable io_tests
`,
  },
];
