// Names of our functions that are also names of functions of std. An unqualified call with an argument of
// a type of std finds both, and which of std's headers are there differs between versions of the library:
// the call is then ambiguous on another machine, or silently std's.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { capture } from './capture.mjs';

// A definition or declaration of a free function, which stands in the first column. Methods for
// JavaScript are handed over by address and never called.
const free =
  /^(?!Napi::Value|inline Napi::Value|return\b)[A-Za-z_][\w:<>,&*\s[\]]*?[\s&*](\w+)\(/gm;

// std::launch is a type, and std::get is never called without the argument of its template.
const harmless = new Set(['launch', 'get', 'main', 'operator']);

export function freeFunctions(text) {
  return [...text.matchAll(free)].map((match) => match[1]).filter((name) => !harmless.has(name));
}

// A declaration beside the name that std has fails for what is no function and for what std has not.
const probe = (names) =>
  ['#include <algorithm>', '#include <bits/stdc++.h>', 'struct Probe;']
    .concat(
      names.map(
        (name, at) => `namespace probe_${at} { using std::${name}; void ${name}(Probe*); }`,
      ),
    )
    .join('\n');

// Sentences about the functions of `files` (paths from the root) that a function of std could win.
export async function stdNames(root, files, compiler = process.env.CXX || 'c++') {
  const places = new Map();
  for (const file of files) {
    for (const name of freeFunctions(readFileSync(join(root, file), 'utf8'))) {
      if (!places.has(name)) places.set(name, file);
    }
  }
  const names = [...places.keys()];
  const folder = join(root, 'build/lint');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'std-names.cpp'), probe(names));
  const version = (await capture(root, compiler, ['--version'])).text;
  const every = /clang/.test(version) ? '-ferror-limit=0' : '-fmax-errors=0';
  const flags = ['-std=c++20', '-fsyntax-only', every];
  const { text } = await capture(folder, compiler, [...flags, 'std-names.cpp']);
  const lines = [...text.matchAll(/^std-names\.cpp:(\d+):\d+: (?:fatal )?error/gm)];
  const rejected = new Set(lines.map((match) => Number(match[1])));
  if (rejected.size === 0) return [`the probe of std's names said nothing:\n${text}`];
  return names
    .filter((name, at) => !rejected.has(at + 4))
    .map(
      (name) => `${places.get(name)}: a function of std is called ${name}, too; take another name`,
    );
}
