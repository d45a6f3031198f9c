// millrace/testing: programs that end right after a record, and what they find when they run again.
import { join } from 'node:path';

import { crashAfter, type CrashOptions, type RecordKind } from '../../../dist/cjs/entry/testing';
import { cleanUp, makeStore } from '../support/durable-child';

afterEach(cleanUp);

const program = join(__dirname, '../fixtures/crash-program.cjs');

async function crash(kind: RecordKind, what: 'job' | 'agent', more: Partial<CrashOptions> = {}) {
  const { store, log, logged } = makeStore();
  const report = await crashAfter(kind, { program, args: [store, log, what], ...more });
  const last = report.recovered.stdout.trim().split('\n').at(-1) ?? '{}';
  return { ...report, end: JSON.parse(last) as object, logged: logged() };
}

describe('crashAfter()', () => {
  it.each<[RecordKind, Partial<CrashOptions>, string[]]>([
    ['accepted', {}, ['first', 'second']],
    // A step whose result is stored is not done again.
    ['job_step', {}, ['first', 'second']],
    ['job_step', { nth: 2 }, ['first', 'second']],
    ['job_step', { name: 'second' }, ['first', 'second']],
    ['terminal', {}, ['first', 'second']],
  ])('ends a job behind %s %p', async (kind, more, names) => {
    const { crashed, end, logged } = await crash(kind, 'job', more);
    expect(crashed.stdout).toBe('');
    expect(end).toMatchObject({ status: 'completed' });
    expect(end).not.toHaveProperty('point');
    expect(logged).toEqual(names);
  });

  it.each<[RecordKind, number]>([
    ['model_requested', 1],
    ['tool_result', 1],
    ['text_delta', 1],
    // It has begun as far as the store knows, and must not begin twice; both are one commit.
    ['tool_intent', 0],
    ['tool_started', 0],
  ])('ends an agent behind %s', async (kind, times) => {
    const { end, logged } = await crash(kind, 'agent');
    expect(end).toMatchObject({ status: 'completed' });
    expect(logged).toEqual(Array<string>(times).fill('look'));
  });

  it('rejects programs without such a record, late and failed ones, and wrong options', async () => {
    const failed = { code: 'invalid_state' };
    await expect(crash('slept', 'job')).rejects.toMatchObject({
      ...failed,
      message: expect.stringMatching(/without the record slept number 1.*\n.*completed/s) as string,
    });
    await expect(crash('job_step', 'job', { timeoutMs: 1 })).rejects.toMatchObject({
      code: 'timeout',
    });
    const execArgv = ['-e', 'process.exit(137)'];
    await expect(crash('slept', 'job', { execArgv })).rejects.toMatchObject({
      ...failed,
      message: expect.stringMatching(/failed after the crash \(exit code 137\)/) as string,
    });
    await expect(crash('tool' as never, 'job')).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(crashAfter('slept', {} as never)).rejects.toMatchObject({
      code: 'invalid_option',
    });
    await expect(crash('slept', 'job', { nth: 0 })).rejects.toMatchObject({
      code: 'invalid_option',
    });
  });
});
