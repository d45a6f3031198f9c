// Values of a wrong type, as programs without types give them: nothing wider than what was asked for comes of one.
import { createRuntime, type Runtime } from 'millrace';

const runtimes: Runtime[] = [];
afterEach(() => Promise.all(runtimes.splice(0).map((runtime) => runtime.close())));

function runtimeOf(): Runtime {
  const runtime = createRuntime({ storage: 'memory' });
  runtimes.push(runtime);
  return runtime;
}

async function openApproval(runtime: Runtime, run: string): Promise<string> {
  for (;;) {
    const [open] = await runtime.approvals.list({ run });
    if (open) return open.id;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const principals: readonly unknown[] = [42, true, ['ada'], {}, Promise.resolve('ada'), Number.NaN];

describe('a principal that is no string', () => {
  it.each(principals)('gives nothing of others: %p', async (principal) => {
    const runtime = runtimeOf();
    runtime.job('ask', (job) => job.approve('Ship?'));
    const { id } = await runtime.start('ask', 1, { principal: 'ada' });
    await openApproval(runtime, id);
    const options = { principal } as { principal: string };
    const rejected = { code: 'invalid_option' };
    await expect(runtime.list(options)).rejects.toMatchObject(rejected);
    await expect(runtime.approvals.list(options)).rejects.toMatchObject(rejected);
    await expect(runtime.replay(id, options)).rejects.toMatchObject(rejected);
    await expect(runtime.fork(id, { at: 1, ...options })).rejects.toMatchObject(rejected);
    const pieces = async () => {
      for await (const piece of runtime.export(id, options)) return piece;
      return undefined;
    };
    await expect(pieces()).rejects.toMatchObject(rejected);
  });
});

const answers: readonly unknown[] = [
  ...[{}, [], { aproved: true }, { approved: 'yes' }, { approved: 1 }, { approved: null }],
  Promise.resolve(true),
];

describe("an answer to a job's approval that says neither yes nor no", () => {
  it.each(answers)('is rejected, and the approval stays open: %p', async (answer) => {
    const runtime = runtimeOf();
    runtime.job('ask', (job) => job.approve('Ship?'));
    const { id } = await runtime.start('ask', 1);
    const approval = await openApproval(runtime, id);
    await expect(runtime.approvals.decide(approval, answer as boolean)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    expect(await openApproval(runtime, id)).toBe(approval);
    await runtime.approvals.decide(approval, { approved: true });
    expect((await runtime.attach(id).result).value).toBe(true);
  });
});

describe('a job that is rejected', () => {
  it('leaves the runtime as it was', async () => {
    const runtime = runtimeOf();
    const wrong = { version: 42 } as unknown as { version: string };
    expect(() => runtime.job('bad', () => 1, wrong)).toThrow(/version must be a string/);
    runtime.job('good', () => 2);
    const { id } = await runtime.start('good', 1);
    expect((await runtime.attach(id).result).value).toBe(2);
  });

  it('takes null as no version', async () => {
    const runtime = runtimeOf();
    runtime.job('plain', () => 1, { version: null } as unknown as { version: string });
    const { id } = await runtime.start('plain', 1);
    expect((await runtime.attach(id).result).value).toBe(1);
  });
});
