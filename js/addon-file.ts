// Finds and loads the native addon: which file, and how its symbols are bound.
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';

import { MillraceError } from './errors';
import { messageOf } from './thrown';

/** One place where an addon may be; `load` holds the path as a literal, so that bundlers see it. */
interface Place {
  path: () => string;
  load: () => unknown;
}

/** Opens the addon of this platform. */
export function openAddonFile(): unknown {
  const tried: string[] = [];
  let found = false;
  for (const place of places()) {
    let path: string;
    try {
      path = place.path();
    } catch (error) {
      tried.push(firstLine(error));
      continue;
    }
    found = true;
    try {
      bindSymbolsDeeply(path);
      return place.load();
    } catch (error) {
      const line = firstLine(error);
      const reason = mismatch(line);
      if (reason !== undefined) {
        throw new MillraceError('addon_load_failed', `The native addon ${path} ${reason}.`);
      }
      tried.push(`${path}: ${line}`);
    }
  }
  const platform = `${process.platform}-${process.arch}`;
  const fix =
    "Install the package for this platform, build it with 'npm run build' in a checkout, or set " +
    'MILLRACE_BINARY to the path of a millrace.node. Where a bundler made the program, it has to leave the package ' +
    'out: `--external:millrace` of esbuild, `externals` of webpack, `serverExternalPackages` of Next.js.';
  throw new MillraceError(
    found ? 'addon_load_failed' : 'addon_not_found',
    `The native addon for ${platform} ` +
      `${found ? 'cannot be loaded' : 'was not found'}. ${fix}\nTried:\n  ${tried.join('\n  ')}`,
  );
}

function firstLine(error: unknown): string {
  const text = messageOf(error);
  return text.split('\n', 1)[0] ?? text;
}

// What the dynamic loader says of an addon that was built elsewhere, and what to do about it.
const mismatches: readonly (readonly [RegExp, (name: string) => string])[] = [
  [
    /version [`'"]([\w.]+)['"] not found/,
    (name) => `was built on a newer system than this one, which lacks ${name}: ${buildHere}`,
  ],
  [
    /undefined symbol: ((?:curl|SSL|EVP|OPENSSL)_\w+)/,
    (name) => `was built on a newer system than this one, which lacks ${name}: ${buildHere}`,
  ],
  [
    /(lib[\w+.-]+\.so[\d.]*): cannot open shared object file/,
    (name) =>
      `needs ${name}, which is not installed here: install its package (libcurl4 for libcurl)`,
  ],
];
const buildHere =
  "build it here with 'npm run build' in a checkout, or take one that was built on Debian 12";

function mismatch(line: string): string | undefined {
  for (const [pattern, say] of mismatches) {
    const name = pattern.exec(line)?.[1];
    if (name !== undefined) return say(name);
  }
  return undefined;
}

// A checkout's own build comes before its prebuilds/, which a past `npm pack` may have left behind;
// a packed package has no build/.
function places(): Place[] {
  const given = process.env['MILLRACE_BINARY'];
  if (given) {
    return [{ path: () => require.resolve(given), load: () => require(given) as unknown }];
  }
  const build: Place = {
    path: () => require.resolve('../../build/release/millrace.node'),
    load: () => require('../../build/release/millrace.node') as unknown,
  };
  const prebuild = prebuilds[`${process.platform}-${process.arch}-${libc()}`];
  return prebuild ? [build, prebuild] : [build];
}

const prebuilds: Partial<Record<string, Place>> = {
  'linux-x64-glibc': {
    path: () => require.resolve('../../prebuilds/linux-x64-glibc/millrace.node'),
    load: () => require('../../prebuilds/linux-x64-glibc/millrace.node') as unknown,
  },
  'linux-arm64-glibc': {
    path: () => require.resolve('../../prebuilds/linux-arm64-glibc/millrace.node'),
    load: () => require('../../prebuilds/linux-arm64-glibc/millrace.node') as unknown,
  },
};

function libc(): 'glibc' | 'musl' {
  return mappedFiles().includes('/ld-musl-') ? 'musl' : 'glibc';
}

let maps: string | undefined;

function mappedFiles(): string {
  if (maps === undefined) {
    try {
      maps = readFileSync('/proc/self/maps', 'latin1');
    } catch {
      maps = '';
    }
  }
  return maps;
}

// Node exports OpenSSL, zlib and nghttp2 symbols of its own, to which the references of the system's
// libcurl would be bound. A first mapping with RTLD_DEEPBIND keeps them apart; the later require
// takes the same mapping. It also keeps the addon from what a preloaded library puts before the C
// library: of two allocators one would free what the other gave, of two clocks certificates would be
// judged by the one and made by the other. There plain loading is the lesser risk.
const replacers = /\/lib(asan|tsan|ubsan|jemalloc|tcmalloc|mimalloc|faketime)[^/]*\.so/;

function bindSymbolsDeeply(path: string): void {
  const { RTLD_LAZY, RTLD_DEEPBIND } = constants.dlopen;
  if (process.platform !== 'linux' || !RTLD_DEEPBIND || libc() === 'musl') return;
  if (replacers.test(mappedFiles())) return;
  process.dlopen({ exports: {} }, path, RTLD_LAZY | RTLD_DEEPBIND);
}
