// Every code of lib/base/errors.def is provoked: its message has the wrong value, or the name of the thing, and it
// has a fix. A new code needs a row.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { MillraceError } from 'millrace';
import type { ErrorCode } from 'millrace';

import { bareEnvironment } from '../../support/environment';
import { kindOf, shown } from '../../../dist/cjs/shown';
import { shown as shownInPages } from '../../../js/client/shown';

import { callerRows } from './callers';
import { dataRows } from './data';
import { closeAll } from './kit';
import { packageRows } from './package';
import { providerRows } from './providers';
import { failureOf, type Native, type Provoked, type Row } from './row';
import { serverRows, stopServer } from './server';
import { storeRows } from './store';
import { transportRows } from './transport';

const root = join(__dirname, '../../..');
const table = readFileSync(join(root, 'lib/base/errors.def'), 'utf8');
const codes = [...table.matchAll(/^MILLRACE_ERROR\((\w+),/gm)].map(([, code]) => code as ErrorCode);

const rooms = [
  callerRows,
  dataRows,
  transportRows,
  providerRows,
  serverRows,
  storeRows,
  packageRows,
];
const rows = rooms.flatMap((room) => Object.entries(room) as [ErrorCode, Row][]);
const provoked = rows.filter((row): row is [ErrorCode, Provoked] => 'provoke' in row[1]);
const native = rows.filter((row): row is [ErrorCode, Native] => 'native' in row[1]);

afterAll(async () => {
  await closeAll();
  await stopServer();
});

it('has one row for each code', () => {
  expect(rows.map(([code]) => code).sort()).toEqual([...codes].sort());
});

it.each(provoked)('%s names what was wrong, and has a fix', async (code, { provoke, says }) => {
  const failure = await failureOf(provoke);
  expect(failure.code).toBe(code);
  expect(failure.message).toMatch(says);
  const { fix } = new MillraceError(code, '');
  expect(fix).toMatch(/^[A-Z].{10,}\.$/s);
  // Events and records of tools have no fix; everything else has the one of its code.
  expect(failure.fix ?? fix).toBe(fix);
});

it.each(native)('%s is provoked by a test of the engine', (code, { native: [file, test] }) => {
  const path = join(root, 'test/native', file);
  expect(existsSync(path)).toBe(true);
  const [suite, name] = test.split('.');
  const body = readFileSync(path, 'utf8').split(
    new RegExp(`TEST(?:_F|_P)?\\(${suite}, ${name}\\)`),
  )[1];
  expect(body?.split(/^}/m)[0]).toContain(code);
  expect(new MillraceError(code, '').fix).toMatch(/^[A-Z].{10,}\.$/s);
});

it('prints the fix below the message on the command line, and gives it in JSON', () => {
  const cli = join(root, 'dist/cjs/cli/main.js');
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [cli, 'chat', '--model', 'nobody:m', ...args, 'Hi'], {
      encoding: 'utf8',
      env: { ...bareEnvironment },
    });
  const { fix } = new MillraceError('unknown_provider', '');
  expect(run().stderr).toMatch(/^millrace: .*nobody.* \(unknown_provider\)\n {2}Fix: /);
  expect(run().stderr).toContain(`  Fix: ${fix}\n`);
  expect(JSON.parse(run('--json').stdout)).toMatchObject({
    error: { code: 'unknown_provider', fix },
  });
});

it('is a member of each error, and of what is logged of it', () => {
  const error = new MillraceError('invalid_option', 'x');
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({
    code: 'invalid_option',
    fix: error.fix,
  });
});

describe('a value in a message', () => {
  it.each<[unknown, string]>([
    ['morse', "'morse'"],
    ['x'.repeat(200), `'${'x'.repeat(80)}...'`],
    ['a\u001b[2J', "'a [2J'"],
    [17, '17'],
    [17n, '17n'],
    [null, 'null'],
    [undefined, 'undefined'],
    [[1], 'a list'],
    [{}, 'an object'],
    [() => 0, 'a function'],
    ['Bearer abcdefghijkl', "'Bearer [redacted]'"],
    ['my sk-abcdefghijkl', "'my sk-[redacted]'"],
  ])('%p is %s', (value, text) => expect(shown(value)).toBe(text));

  it.each<[unknown, string]>([
    ['morse', "'morse'"],
    ['x'.repeat(200), 'a string'],
    [17, "'17'"],
    [null, 'null'],
    [[1], 'a list'],
    [{}, 'an object'],
    [() => 0, 'a function'],
  ])('in a page, %p is %s', (value, text) => {
    expect(shownInPages(value)).toBe(text);
    expect(shownInPages(value, 'apiKey')).toBe(kindOf(value));
  });

  it.each(['apiKey', 'accessToken', 'clientSecret', 'headers', 'passphrase'])(
    'of the option %s is its kind alone',
    (name) => {
      expect(shown('hunter2', name)).toBe('a string');
      expect(shown(4711, name)).toBe(kindOf(4711));
    },
  );
});
