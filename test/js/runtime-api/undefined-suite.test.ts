// The black-box cases of the Undefined Runtime API, where their folder is present: each case has a server of its own.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { hosts } from './kit';

const root = join(__dirname, '../../..');
const folder = process.env['MILLRACE_SUITES'] ?? join(root, '../shared/suites');
const cases = join(folder, 'undefined/cases.json');

interface Report {
  passed: number;
  failed: number;
  cases: {
    id: string;
    area: string;
    ok: boolean;
    optional?: boolean;
    step?: number;
    what?: string;
  }[];
}

// Services that this server does not have, and two cases that look for one of them on the way.
const absent = ['schedules', 'memes', 'cognitive', 'naga'];
const needAbsent = ['OAPI-07', 'PROBE-01'];

const suite = existsSync(cases) ? test : test.skip;

suite.each(hosts)(
  'every case of a service that is there passes (%s)',
  (host) => {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [
        join(folder, 'undefined/run-cases.mjs'),
        cases,
        join(__dirname, '../fixtures/undefined-harness.mjs'),
        '--json',
        '--concurrency',
        '4',
      ],
      {
        ...{ encoding: 'utf8', cwd: root, maxBuffer: 1 << 26 },
        env: { ...process.env, MILLRACE_HOST: host },
      },
    );
    if (stdout === '') throw new Error(stderr);
    const report = JSON.parse(stdout) as Report;
    const failures = report.cases.filter(
      ({ id, area, ok, optional }) =>
        !ok && !optional && !absent.includes(area) && !needAbsent.includes(id),
    );
    expect(failures.map(({ id, step, what }) => `${id} step ${step}: ${what}`)).toEqual([]);
    expect(report.cases.length).toBeGreaterThan(50);
  },
  240_000,
);

if (!existsSync(cases)) {
  console.warn(
    `The cases of the Undefined Runtime API are not at ${cases}: their test is skipped.`,
  );
}
