// The CUSTOM events of the engine are those of the table in docs/events.md, no more and no fewer.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const main = join(__dirname, '../../..');

const sourcesIn = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(main, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => readFileSync(join(main, folder, name), 'utf8'));

const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, name]) => name ?? '');

// The events of our own in the codec, which writes `millrace.` and the name.
function namesOfCodec(): string[] {
  const codec = readFileSync(join(main, 'lib/event/codec.cpp'), 'utf8');
  // What is foreign keeps the name that it came with.
  return all(codec, /\{"", "([a-z_]+)"[,}]/g).filter((name) => name !== 'foreign');
}

// Names that stand in the sources as they are, but for files and a symbol of another kind.
function namesOfSources(): string[] {
  const sources = [...sourcesIn('lib', /\.[ch]pp$/), ...sourcesIn('js', /\.ts$/)];
  const names = sources.flatMap((text) => all(text, /["']millrace\.([a-z_]+)["']/g));
  return names.filter((name) => !['node', 'error', 'toml'].includes(name));
}

it('documents each CUSTOM event', () => {
  const codec = namesOfCodec();
  expect(codec).toEqual(expect.arrayContaining(['warning', 'reset', 'finish', 'run_usage']));
  const sources = namesOfSources();
  expect(sources).toEqual(expect.arrayContaining(['tool_error']));
  const page = readFileSync(join(main, 'docs/events.md'), 'utf8');
  const documented = all(page, /^\| `millrace\.([a-z_]+)` \|/gm);
  expect(documented.sort()).toEqual([...new Set([...codec, ...sources])].sort());
});
