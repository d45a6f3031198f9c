// docs/journal.md says how records and tables are stored, and agrees with the code.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const page = read('docs/journal.md');
const rows = page.split('\n').filter((line) => line.startsWith('|'));
const cells = rows.map((line) => line.split('|').map((cell) => cell.trim()));

const shapes = read('lib/journal/shapes.hpp');
const records = [...shapes.matchAll(/^MILLRACE_RECORD\(([\w:]+), (\d+)\) \{(.*?)\}$/gms)].map(
  ([, name = '', kind = '', body = '']) => ({
    name: name.replace('event::', ''),
    kind,
    fields: [...body.matchAll(/\((\d+), value\.(\w+)/g)].map(([, tag, field]) => `${tag} ${field}`),
  }),
);

const schema = read('lib/store/sqlite/schema.cpp');
const tables = [...schema.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name]) => name);

it('finds the kinds of records and the tables', () => {
  expect(records.length).toBeGreaterThan(60);
  expect(tables.length).toBeGreaterThan(10);
});

it.each(records)('describes the fields of $name, kind $kind', ({ name, kind, fields }) => {
  const row = cells.filter(([, number, word]) => number === kind && word === `\`${name}\``);
  expect(row.map((cell) => cell[3])).toEqual([fields.join(', ') || '-']);
});

it('gives records as JSON by the same names', () => {
  const table = read('lib/journal/record_json.cpp').replace(/"\s+"/g, '');
  const named = [...table.matchAll(/\{(\d+), "(\w+)",\s*"([^"]*)"\}/g)].map(
    ([, kind, name, names = '']) => ({ kind, name, names }),
  );
  const written = records.map(({ kind, name, fields }) => ({
    ...{ kind, name },
    names: fields.map((field) => field.split(' ')[1]).join(' '),
  }));
  expect(named).toEqual(written);
});

it.each(tables)('describes the table %s', (name) => {
  expect(cells.filter(([, word]) => word === `\`${name}\``)).toHaveLength(1);
});

it('names the version of SQLite that set-up fetches, as does the build', () => {
  const script = read('scripts/setup/sqlite.mjs');
  const [, version = '?'] = /^ {2}version: '(.*)'/m.exec(script) ?? [];
  const [, carrier = '?'] = /^ {2}packageVersion: '(.*)'/m.exec(script) ?? [];
  expect(read('docs/decisions/sqlite.md')).toContain(
    `Its amalgamation ${version} is compiled into the addon`,
  );
  expect(read('docs/decisions/sqlite.md')).toContain(`better-sqlite3@${carrier}`);
  expect(read('cmake/sqlite.cmake')).toContain(`build/sqlite/${version})`);
});
