// Finds and loads the native addon: which file, and how its symbols are bound.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join, normalize, resolve } from 'node:path';

import { MillraceError } from './errors';
import { messageOf } from './thrown';

/** Gives the path of an addon; throws where there is none. */
type Place = () => string;

/** Opens the addon of this platform. */
export function openAddonFile(): unknown {
  const tried = new Set<string>();
  let found = false;
  for (const place of places()) {
    let path: string;
    try {
      path = normalize(place());
    } catch (error) {
      tried.add(firstLine(error));
      continue;
    }
    found = true;
    try {
      bindSymbolsDeeply(path);
      return createRequire(path)(path) as unknown;
    } catch (error) {
      const line = firstLine(error);
      const reason = mismatch(line);
      if (reason !== undefined) {
        throw new MillraceError('addon_load_failed', `The native addon ${path} ${reason}.`);
      }
      tried.add(`${path}: ${line}`);
    }
  }
  const platform = `${process.platform}-${process.arch}`;
  const fix =
    "Install the package for this platform, build it with 'npm run build' in a checkout, or set " +
    'MILLRACE_BINARY to the path of a millrace.node. Where a bundler made the program, have it leave the package ' +
    'out (`--external:millrace` of esbuild, `externals` of webpack, `serverExternalPackages` of Next.js), or put ' +
    'millrace.node beside the program.';
  throw new MillraceError(
    found ? 'addon_load_failed' : 'addon_not_found',
    `The native addon for ${platform} ` +
      `${found ? 'cannot be loaded' : 'was not found'}. ${fix}\nTried:\n  ${[...tried].join('\n  ')}`,
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
  [
    /(loading addons is disabled)/,
    () => "cannot be loaded under Node's permission model: start Node with --allow-addons",
  ],
];
const buildHere =
  "build it here with 'npm run build' in a checkout, or take one that was built on Debian 12";

function mismatch(line: string): string | undefined {
  for (const [pattern, sentenceFor] of mismatches) {
    const name = pattern.exec(line)?.[1];
    if (name !== undefined) return sentenceFor(name);
  }
  return undefined;
}

// A checkout's own build comes before its prebuilds/, which a past `npm pack` may have left behind; a packed package has
// no build/. What is beside the program, and what is installed there, is for a bundler's output that has this file in it.
function places(): Place[] {
  const given = process.env['MILLRACE_BINARY'];
  if (given) return [() => existing(resolve(given))];
  const platform = `${process.platform}-${process.arch}-${libc()}`;
  return [
    () => existing(join(__dirname, '../..', 'build/release/millrace.node')),
    ...(prebuilds[platform] ?? []),
    () => existing(join(dirname(process.argv[1] ?? ''), 'millrace.node')),
    () => existing(join(installedPackage(), 'prebuilds', platform, 'millrace.node')),
  ];
}

// Tools that copy what a program needs (Next.js with Turbopack or webpack, Vercel's, ncc) see these files: a template of
// `__dirname` or the working folder and a literal, given to `existsSync`, and returned. They see a literal `require` as
// well, but a bundler cannot resolve one of a file that is missing or that it has no loader for.
const prebuilds: Partial<Record<string, readonly Place[]>> = {
  'linux-x64-glibc': [
    function () {
      const path = `${__dirname}/../../prebuilds/linux-x64-glibc/millrace.node`;
      return existsSync(path) ? path : missing(path);
    },
    function () {
      const path = `${process.cwd()}/node_modules/millrace/prebuilds/linux-x64-glibc/millrace.node`;
      return existsSync(path) ? path : missing(path);
    },
  ],
  'linux-arm64-glibc': [
    function () {
      const path = `${__dirname}/../../prebuilds/linux-arm64-glibc/millrace.node`;
      return existsSync(path) ? path : missing(path);
    },
    function () {
      const path = `${process.cwd()}/node_modules/millrace/prebuilds/linux-arm64-glibc/millrace.node`;
      return existsSync(path) ? path : missing(path);
    },
  ],
};

function existing(path: string): string {
  return existsSync(path) ? path : missing(path);
}

function missing(path: string): never {
  throw new Error(`${normalize(path)}: no such file`);
}

// The folder of the package that programs of the working folder get.
function installedPackage(): string {
  return dirname(
    createRequire(join(process.cwd(), 'package.json')).resolve('millrace/package.json'),
  );
}

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
