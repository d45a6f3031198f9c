// The layering check refuses what it says it refuses, and lets through what the engine writes.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const script = pathToFileURL(join(__dirname, '../../../scripts/check-layers.mjs')).href;

function violations(...files: [path: string, text: string][]): string[] {
  const program = `
    import { violationsIn } from ${JSON.stringify(script)};
    console.log(JSON.stringify(violationsIn(${JSON.stringify(files)})));`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program]);
  return JSON.parse(String(printed)) as string[];
}

describe('check-layers', () => {
  it.each([
    ['lib/base/a.cpp', '#include "event/event.hpp"', /'base' must not include 'event'/],
    ['lib/adapter/a.cpp', '#include "net/transfer.hpp"', /'adapter' must not include 'net'/],
    ['lib/base/a.cpp', '#include "native/a.hpp"', /must not include native/],
    ['lib/cellar/a.cpp', '', /no row/],
    ['lib/event/a.cpp', '#include <rapidjson/reader.h>', /belongs in lib\/base\/json/],
    ['lib/net/a.cpp', '#include <napi.h>', /belongs in native/],
    ['lib/net/a.cpp', '#include <sys/epoll.h>', /belongs in lib\/os\/linux\//],
    ['lib/os/portable/a.cpp', '#include <linux/futex.h>', /belongs in lib\/os\/linux\//],
    ['lib/net/a.cpp', 'void f() { co_await g(Options{}); }', /a\.cpp:1: a brace/],
    ['lib/net/a.cpp', 'x;\nco_return co_await g({1, 2});', /a\.cpp:2: a brace/],
    ['lib/net/a.cpp', 'auto f() { h(T{1}, co_await g()); }', /a brace/],
    ['lib/net/a.cpp', 'auto f() { auto x = T{co_await g()}; }', /a brace/],
    ['native/a.cpp', 'Napi::Function::New(env, work);', /without guard/],
    ['lib/base/a.cpp', 'char f(char c) {\n  return std::tolower(c);\n}', /a\.cpp:2: tolower asks/],
    ['native/a.cpp', 'double f(const char* s) { return strtod (s, nullptr); }', /strtod asks/],
    ['lib/store/a.cpp', 'return ::fsync(file) == 0;', /a\.cpp:1: fsync belongs in lib\/os/],
    ['lib/api/a.cpp', 'if (fdatasync (file)) {}', /fdatasync belongs/],
    ['native/a.cpp', '::flock(file, LOCK_EX);', /flock belongs/],
    ['lib/api/a.cpp', 'utsname names{}; uname(&names);', /a\.cpp:1: uname belongs/],
    ['lib/app/a.cpp', '::fcntl(file, F_OFD_SETLK, &lock);', /F_OFD_SETLK belongs/],
    ['lib/tool/a.cpp', 'const pid_t child = ::fork();', /fork belongs/],
    [
      'lib/os/a.cpp',
      'const int fd = open(path, O_TMPFILE | O_RDWR);',
      /O_TMPFILE is Linux's alone/,
    ],
    ['lib/os/portable/a.cpp', 'fdatasync(file);', /fdatasync is Linux's alone/],
    ['lib/os/portable/a.cpp', 'x;\n::pipe2(ends, 0);', /a\.cpp:2: pipe2 is Linux's alone/],
    ['lib/http/a.cpp', 'send(fd, data, size, MSG_NOSIGNAL);', /MSG_NOSIGNAL is Linux's alone/],
    ['native/a.cpp', '#include <malloc.h>', /<malloc.h> belongs in lib\/os\/linux/],
    ['lib/api/a.cpp', 'x;\n#ifdef __APPLE__\n#endif', /a\.cpp:2: only lib\/os asks/],
    ['lib/api/a.cpp', 'return found.st_mtim.tv_sec;', /macOS has no st_mtim/],
    ['lib/net/a.hpp', '#if !defined(__linux__)\n#endif', /only lib\/os asks/],
    ['lib/app/a.cpp', 'f({event::Foreign{type, json}});', /of our own is Foreign/],
    ['lib/encoder/ag_ui.cpp', 'json::Document document;', /the encoder parses JSON/],
    ['js/errors.ts', "import { a } from './transport/a';", /'base' must not import 'transport'/],
    ['js/tool/a.ts', "import {\n  a,\n} from '../agent/a';", /'tool' must not import 'agent'/],
    ['js/model/a.ts', "import type { A } from '../channels/a';", /must not import 'channels'/],
    ['js/agent/a.ts', "export * from './frost/a';", /'agent' must not import 'agent\/frost'/],
    ['js/runs/a.ts', "let a: import('../model/a').A;", /'runs' must not import 'model'/],
    ['js/runs/a.ts', "import '../cli/main';", /'runs' must not import 'cli'/],
    ['js/cellar/a.ts', '', /its folder has no row/],
    [
      'js/model/a.ts',
      "import type { A } from './a';",
      /a\.ts -> js\/model\/a\.ts: imports in a circle/,
    ],
  ])('refuses %s: %s', (path, text, expected) => {
    expect(violations([path, text])).toEqual([expect.stringMatching(expected)]);
  });

  it.each([
    ['lib/adapter/a.cpp', '#include "base/result.hpp"\n#include "adapter/b.hpp"'],
    ['lib/app/a.cpp', '#include "http/server.hpp"\n#include "encoder/ag_ui.hpp"'],
    ['lib/os/linux/a.cpp', '#include <sys/epoll.h>'],
    ['lib/net/a.cpp', 'auto f() { T t{1}; co_await g(std::move(t)); }'],
    ['lib/net/a.cpp', 'auto f() { co_await g([&](int a) mutable { return T{a}; }, use[1]); }'],
    ['lib/net/a.cpp', 'auto f() { if (x) { y(); } co_await g(); }'],
    ['lib/net/a.cpp', 'auto f() -> awaitable<void> { co_await g(); }'],
    ['lib/net/a.cpp', 'auto f() { while (co_await g()) { h(); } }'],
    ['lib/net/a.cpp', '// co_await g({1});\nauto s = "co_await g({1})";'],
    ['native/a.cpp', 'Napi::Function::New(env, guard<work>, "work");'],
    ['lib/base/a.cpp', 'char f(char c) { return to_lower(c); }  // not std::tolower(c)'],
    ['lib/os/sync.cpp', 'return ::fsync(file) == 0;'],
    ['lib/os/system_name.cpp', 'uname(&names);'],
    [
      'lib/os/linux/a.cpp',
      '#include <malloc.h>\n::pipe2(ends, O_CLOEXEC); prctl(PR_SET_NAME, name);',
    ],
    ['lib/os/portable/a.cpp', '#ifdef __APPLE__\n#endif'],
    ['lib/http/a.cpp', '#if defined(__SSE2__)\n#endif\nout.splice(at, other); reader->tee(out);'],
    ['lib/api/a.cpp', 'requests->fork(id);\nRunRequests::fork(id);\nstore.kill(run); f(F_SETFD);'],
    ['lib/adapter/a.cpp', 'parts.pass(event::Foreign{type, json});'],
    ['lib/encoder/ag_ui_downgrade.cpp', 'json::Document document;'],
    ['js/agent/frost/a.ts', "import { a } from '../a';\nimport { b } from '../../../tool/b';"],
    ['js/index.ts', "export * from './entry/agent';"],
    [
      'js/model/a.ts',
      "import type { A } from '../../../types/agent';\nimport { b } from 'node:fs';",
    ],
    ['js/tool/a.ts', "// import { a } from '../agent/a';\n/* import '../agent/b'; */"],
  ])('lets through %s: %s', (path, text) => {
    expect(violations([path, text])).toEqual([]);
  });

  it('refuses imports in a circle, of types as well, once for each knot', () => {
    const found = violations(
      ['js/model/c.ts', "import { a } from './a';"],
      ['js/model/a.ts', "import { b } from './b';"],
      ['js/model/b.ts', "import type { C } from './c';"],
      ['js/model/outside.ts', "import { a } from './a';"],
      ['js/mcp/d.ts', "import type { E } from './e';"],
      ['js/mcp/e.ts', "export { d } from './d';"],
    );
    expect(found).toEqual([
      expect.stringMatching(
        /^js\/mcp\/d\.ts -> js\/mcp\/e\.ts -> js\/mcp\/d\.ts: imports in a circle/,
      ),
      expect.stringMatching(
        /^js\/model\/a\.ts -> .*b\.ts -> .*c\.ts -> .*a\.ts: imports in a circle/,
      ),
    ]);
  });

  it('keeps a private third-party header from leaking through headers of its room', () => {
    const handle: [string, string] = ['lib/net/handle.hpp', '#include <curl/curl.h>'];
    const transfer: [string, string] = ['lib/net/transfer.hpp', '#include "net/handle.hpp"'];
    const inside: [string, string] = ['lib/net/a.cpp', '#include "net/transfer.hpp"'];
    const outside: [string, string] = ['lib/model/a.cpp', '#include "net/transfer.hpp"'];
    expect(violations(handle, transfer, inside)).toEqual([]);
    expect(violations(handle, transfer, outside)).toEqual([
      expect.stringMatching(/lib\/model\/a\.cpp: "net\/transfer\.hpp" brings/),
    ]);
  });
});
