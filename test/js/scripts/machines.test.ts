// What decides which rows `npm run test:machines` runs and what it tells of them, without a machine.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { callScript, repository, startableFolder } from '../support/script';

const rows = ['debian12-node20', 'debian12-node24', 'debian13-node24', 'debian13-g++-13'].map(
  (name) => ({ name, title: `title of ${name}` }),
);

const namesOf = (list: unknown) => (list as { name: string }[]).map((row) => row.name);

describe('the rows of test:machines', () => {
  const select = (...calls: string[][]) =>
    callScript('machines/table.mjs', 'selectRows', ...calls.map((words) => [rows, words]));

  it('are all without --only, else those that a word begins, in their own order', () => {
    const [all, some] = select([], ['debian13-node', 'debian12']);
    expect(all).toHaveLength(4);
    expect(namesOf(some)).toEqual(['debian12-node20', 'debian12-node24', 'debian13-node24']);
  });

  it('are none of a word that no row has, which is told', () => {
    expect(() => select(['debian12', 'debian14'])).toThrow(/there is no row 'debian14'/);
  });

  it('are run until they passed with the present tree', () => {
    const results = {
      'debian12-node20': { ok: true, tree: 'now' },
      'debian12-node24': { ok: true, tree: 'before' },
      'debian13-node24': { ok: false, tree: 'now' },
    };
    const [open] = callScript('machines/table.mjs', 'openRows', [rows, results, 'now']);
    expect(namesOf(open)).toEqual(['debian12-node24', 'debian13-node24', 'debian13-g++-13']);
  });

  it('have names of their own, and those of a system stand beside each other', () => {
    const real = callScript('machines/rows.mjs', 'allRows', []).flat() as {
      name: string;
      suite: string;
    }[];
    expect(real.length).toBeGreaterThan(20);
    expect(new Set(real.map((row) => row.name)).size).toBe(real.length);
    const changes = real.filter((row, index) => row.suite !== real[index - 1]?.suite);
    expect(changes.map((row) => row.suite)).toEqual(['bookworm', 'trixie', 'testing']);
  });
});

describe('the table of test:machines', () => {
  const results = {
    'debian12-node20': {
      ok: true,
      detail: 'npm start answers and stops, 3000 tests pass',
      versions: 'Node 20.20.2, g++ 12.2.0',
      date: '2026-01-31',
    },
    'debian12-node24': { ok: false, detail: 'npm test: a | b\nfailed', date: '2026-01-31' },
  };
  const call = (name: string, ...calls: unknown[][]) =>
    callScript('machines/table.mjs', name, ...calls);

  it('says what passed, with versions and the day, what failed, and claims nothing of the rest', () => {
    const lines = String(call('tableOf', [rows, results])[0]).split('\n');
    expect(lines.slice(2, 5)).toEqual([
      '| debian12-node20 | title of debian12-node20 | Node 20.20.2, g++ 12.2.0 | passes: npm start answers ' +
        'and stops, 3000 tests pass | 2026-01-31 |',
      '| debian12-node24 | title of debian12-node24 |  | **fails**: npm test: a \\| b failed | 2026-01-31 |',
      '| debian13-node24 | title of debian13-node24 |  | not run |  |',
    ]);
  });

  it('keeps what the page says of rows that were tried elsewhere', () => {
    const [table] = call('tableOf', [rows, results]) as string[];
    const [found] = call('resultsOfPage', [`above\n\n${table}\n\nbelow | it\n`]);
    expect(found).toEqual({
      'debian12-node20': results['debian12-node20'],
      'debian12-node24': {
        ...results['debian12-node24'],
        detail: 'npm test: a | b failed',
        versions: '',
      },
    });
  });

  it('replaces the one of the page and nothing else', () => {
    const begin = '<!-- machines: written by npm run test:machines -- --write -->';
    const page = `above\n${begin}\n| old |\n<!-- machines: end -->\nbelow\n`;
    const real = readFileSync(join(repository, 'docs/compatibility.md'), 'utf8');
    const [written, page2] = call('withTable', [page, '| new |'], [real, '| new |']);
    expect(written).toBe(`above\n${begin}\n\n| new |\n\n<!-- machines: end -->\nbelow\n`);
    expect(page2).toContain(`${begin}\n\n| new |\n\n<!-- machines: end -->`);
    expect(() => call('withTable', ['none', ''])).toThrow(/lacks the markers/);
  });
});

describe('a machine', () => {
  it('takes its packages where this one does', () => {
    const mirrors = callScript(
      'machines/roots.mjs',
      'mirrorsOf',
      [''],
      [
        'URIs: https://mirror.test/debian/\n\nTypes: deb\nURIs: https://mirror.test/debian-security\n',
      ],
      [
        '# deb http://old.test/debian bookworm main\n' +
          'deb [signed-by=/a.gpg] http://mirror.test/debian bookworm main\n' +
          'deb http://node.test/node_20.x nodistro main',
      ],
    );
    const ours = 'http://deb.debian.org/debian';
    expect(mirrors).toEqual([
      { main: ours, security: `${ours}-security` },
      { main: 'https://mirror.test/debian', security: 'https://mirror.test/debian-security' },
      { main: 'http://mirror.test/debian', security: `${ours}-security` },
    ]);
  });

  it('tells the versions that its build took', () => {
    const macros = [
      'v24.1.0',
      '#define LIBCURL_VERSION "8.14.1"',
      '#define OPENSSL_VERSION_STR "3.5.4"',
      '#define BOOST_LIB_VERSION "1_83"',
      '#define __VERSION__ "14.2.0"',
    ].join('\n');
    const clang = '#define __clang__ 1\n#define __VERSION__ "Debian Clang 19.1.7 (3)"';
    const calls = [
      [macros, { node: 24 }],
      [clang, {}],
    ];
    expect(callScript('machines/roots.mjs', 'versionsIn', ...calls)).toEqual([
      'Node 24.1.0, g++ 14.2.0, libcurl 8.14.1, OpenSSL 3.5.4, Boost 1.83',
      'clang 19.1.7',
    ]);
  });

  it("asks its server with the README's own curl", () => {
    const readme = readFileSync(join(repository, 'README.md'), 'utf8');
    const [curl] = callScript('machines/newcomer.mjs', 'curlOf', [readme]);
    expect(curl).toMatch(/^curl -sN http:\/\/127\.0\.0\.1:8788\/agent /);
  });

  it('takes npm test as passed when code and sum say so', () => {
    const outcomes = callScript(
      'machines/newcomer.mjs',
      'testOutcome',
      [0, '12 passed, 0 failed\n'],
      [1, 'failed: A.B\n  text\nfailed: c\n10 passed, 2 failed\n'],
      [1, '12 passed, 0 failed\n'],
      [1, 'millrace: set-up stopped.\n'],
    );
    expect(outcomes).toEqual([
      { ok: true, detail: '12 tests pass' },
      { ok: false, detail: 'npm test: 10 passed, 2 failed: A.B; c' },
      { ok: false, detail: 'npm test: 12 passed, 0 failed, ended with code 1' },
      { ok: false, detail: 'npm test ended with code 1 before its tests' },
    ]);
  });
});

describe('the stage of machines where no root can be made', () => {
  const folder = startableFolder();
  afterAll(() => rmSync(folder, { recursive: true }));

  // `.ci/run` in a folder of its own, with an `npm` that says what the stage would say.
  const ci = (received: string, stages: string[]) => {
    mkdirSync(join(folder, '.ci'), { recursive: true });
    mkdirSync(join(folder, 'bin'), { recursive: true });
    copyFileSync(join(repository, '.ci/run'), join(folder, '.ci/run'));
    writeFileSync(join(folder, 'package.json'), '{ "scripts": {} }');
    writeFileSync(join(folder, 'bin/npm'), `#!/bin/sh\n${received}\n`, { mode: 0o755 });
    return spawnSync('bash', [join(folder, '.ci/run'), ...stages], {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` },
    });
  };

  it('is skipped, which the summary says with the reason', () => {
    const why = 'skip machines: no root can be made here (it takes root rights)';
    const { status, stdout } = ci(`echo "${why}"`, ['machines']);
    expect(stdout.trimEnd().split('\n').slice(-4)).toEqual([
      why,
      expect.stringMatching(/^all stages: /),
      'skipped stages: 1 (nothing of them was tried; why stands above)',
      '0 passed, 0 failed',
    ]);
    expect(status).toBe(0);
  });

  it('fails as before where it fails, and where no stage is called so', () => {
    expect(ci('echo "1 passed, 1 failed"; exit 1', ['machines']).status).toBe(1);
    expect(ci('true', ['no-such-stage']).status).toBe(1);
  });
});
