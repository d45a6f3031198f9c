// Whether each C++ file includes the standard headers it uses: clang-tidy 19's misc-include-cleaner, whose
// findings are kept where they can break a build with another standard library.
//   missing: a standard or system header that neither the file nor a header of ours below it includes, so
//            that it came with another header of the library by chance
//   unused:  a standard header of which the file names nothing
// Headers of ours may come through another one (base/json.hpp is meant so), Boost's through its own.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { widthFor } from '../setup/capacity.mjs';
import { capture } from './capture.mjs';

const standard = /^<([a-z_\d]+(\.h)?|(sys|net|netinet|arpa)\/[a-z_\d]+\.h)>$/;
const ownFolders = ['lib', 'native', 'test/native', 'bench/native'];

// The names between the brackets or quotes of a file's #include lines, with them.
const includesOf = (text) =>
  [...text.matchAll(/^\s*#\s*include\s+(<[^>]+>|"[^"]+")/gm)].map((match) => match[1]);

// What a file includes, and what the headers of ours that it includes include.
function guaranteed(root, file, seen = new Set()) {
  for (const name of includesOf(readFileSync(file, 'utf8'))) {
    if (seen.has(name)) continue;
    seen.add(name);
    const places = [dirname(file), ...ownFolders.map((folder) => join(root, folder))];
    const own = places.map((place) => join(place, name.slice(1, -1))).find(existsSync);
    if (name.startsWith('"') && own) guaranteed(root, own, seen);
  }
  return seen;
}

// The findings of an exported file of fixes: { message, offset, header } with the header to add or take.
export function findings(fixes) {
  return fixes
    .split(/^ {2}- DiagnosticName:/m)
    .slice(1)
    .map((text) => {
      const message = /^ +Message: +'?(.*?)'?$/m.exec(text)?.[1] ?? '';
      const unused = /^included header (\S+) is not used/.exec(message)?.[1];
      const missing = /ReplacementText:\s+"#include (<[^>]+>|\\"[^"]+\\")/.exec(text)?.[1];
      return { message, offset: Number(/FileOffset:\s+(\d+)/.exec(text)?.[1]), unused, missing };
    });
}

// Of all findings of a file those that matter, in words.
export function problems(root, file, fixes) {
  const text = readFileSync(file, 'utf8');
  const known = guaranteed(root, file);
  const added = new Set();
  return findings(fixes).flatMap(({ message, offset, unused, missing }) => {
    const line = text.slice(0, offset).split('\n').length;
    if (missing && standard.test(missing) && !known.has(missing) && !added.has(missing)) {
      added.add(missing);
      return [{ line, add: missing, message: `${message}: #include ${missing}` }];
    }
    const taken = text.split('\n')[line - 1]?.match(/#\s*include\s+(<[^>]+>)/)?.[1];
    return unused && taken && standard.test(taken) ? [{ line, take: taken, message }] : [];
  });
}

// A compile command for each file; a header is compiled as a file of its own, with the command of a
// source of its folder or of the folders above.
function writeDatabase(root, database, folder, files) {
  const commands = JSON.parse(readFileSync(join(database, 'compile_commands.json'), 'utf8'));
  const entries = files.map((file) => {
    const path = join(root, file);
    let like = commands.find((entry) => entry.file === path);
    for (let place = dirname(path); !like && place !== root; place = dirname(place)) {
      like = commands.find((entry) => entry.file.startsWith(`${place}/`));
    }
    if (!like) return undefined;
    const command = like.command.replaceAll(like.file, `-x c++ ${path}`);
    return { directory: like.directory, file: path, command };
  });
  writeFileSync(join(folder, 'compile_commands.json'), JSON.stringify(entries.filter(Boolean)));
}

// Adds what is missing behind the last standard include, where clang-format sorts it, and takes what is
// unused away.
function mend(file, found) {
  const lines = readFileSync(file, 'utf8').split('\n');
  for (const { take } of found) {
    if (take)
      lines.splice(
        lines.findIndex((line) => line.includes(`#include ${take}`)),
        1,
      );
  }
  const added = found.filter(({ add }) => add).map(({ add }) => `#include ${add}`);
  const last = lines.findLastIndex((line) => /^#include <[a-z_\d]+>/.test(line));
  const first = lines.findIndex((line) => line.startsWith('#include') || line === '#pragma once');
  if (last >= 0) lines.splice(last + 1, 0, ...added);
  else if (added.length > 0) lines.splice(first + 1, 0, '', ...added);
  writeFileSync(file, lines.join('\n'));
}

// Checks `files` (paths from the root); with `fix`, mends them. Run clang-format afterwards.
export async function checkIncludes(root, { command, database, files, fix = false }) {
  const folder = join(root, 'build/includes');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeDatabase(root, database, folder, files);
  const queue = [...files];
  let clean = true;
  const worker = async () => {
    for (let file = queue.shift(); file; file = queue.shift()) {
      const fixes = join(folder, `${file.replaceAll('/', '-')}.yaml`);
      const { code, text } = await capture(root, command, [
        ...['--quiet', '--checks=-*,misc-include-cleaner', `--export-fixes=${fixes}`, '-p', folder],
        ...[
          '--extra-arg=-Wno-unknown-warning-option',
          '--extra-arg=-Wno-pragma-once-outside-header',
        ],
        file,
      ]);
      const broken = /error: .*\[clang-diagnostic-error\]/.test(text);
      const found = existsSync(fixes)
        ? problems(root, join(root, file), readFileSync(fixes, 'utf8'))
        : [];
      if (broken || (code !== 0 && !existsSync(fixes))) console.error(text);
      for (const { line, message } of found) console.error(`${file}:${line}: ${message}`);
      if (fix) mend(join(root, file), found);
      clean &&= !broken && found.length === 0;
    }
  };
  await Promise.all(Array.from({ length: widthFor('compile') }, worker));
  console.log(`includes: ${files.length} files, ${clean ? 'clean' : 'with findings'}`);
  return clean;
}
