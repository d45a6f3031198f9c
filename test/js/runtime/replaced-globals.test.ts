// A runtime in programs that replace the globals of Node: frameworks, instrumentation, fake timers of tests.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { createAgent, type Runtime } from 'millrace';

import { startModel } from '../../support/agents';
import { makeStore } from '../support/durable-child';
import { runtimeOf } from '../support/runtimes';

const own = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = own;
  delete process.env['NEXT_PHASE'];
  jest.restoreAllMocks();
});

async function answerOf(runtime: Runtime): Promise<string> {
  const model = await startModel([{ text: 'from the engine' }]);
  const provider = { baseURL: model.url, apiKey: 'k' };
  return createAgent({ model: 'openai:m', provider, runtime, name: 'a' }).run('Hi').text();
}

describe('a global fetch that was replaced', () => {
  const mock = () => jest.fn(() => Promise.reject(new Error('not to be called')));

  it('of Next.js counts as Node’s own', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const patched = Object.assign(mock(), { __nextPatched: true });
    globalThis.fetch = patched as never;
    expect(await answerOf(runtimeOf())).toBe('from the engine');
    const model = await startModel([{ text: 'without a runtime' }]);
    const agent = createAgent({ model: 'openai:m', provider: { baseURL: model.url, apiKey: 'k' } });
    expect(await agent.run('Hi').text()).toBe('without a runtime');
    expect(patched).not.toHaveBeenCalled();
    expect(warned).not.toHaveBeenCalled();
  });

  it('is not used, and a warning says so', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const replaced = mock();
    globalThis.fetch = replaced as never;
    expect(await answerOf(runtimeOf())).toBe('from the engine');
    expect(replaced).not.toHaveBeenCalled();
    const code = 'MILLRACE_FETCH_NOT_USED';
    expect(warned).toHaveBeenCalledWith(expect.stringContaining('global fetch'), { code });
  });

  it('is an error where the options choose it', () => {
    const provider = { apiKey: 'k', fetch: mock() as never };
    const options = { model: 'openai:m', provider, runtime: runtimeOf(), name: 'a' };
    expect(() => createAgent(options)).toThrow('leave out `fetch` and `transport`');
  });
});

it('opens no store while Next.js builds pages, but for what is asked of it', async () => {
  process.env['NEXT_PHASE'] = 'phase-production-build';
  const { store } = makeStore();
  const runtime = runtimeOf({ storage: `file:${store}` });
  createAgent({ model: 'demo:demo', runtime, name: 'a' });
  runtime.job('j', () => 1);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(existsSync(store)).toBe(false);
  expect(await runtime.run('a', 'Hi').text()).not.toBe('');
  expect(existsSync(store)).toBe(true);
});

it('works under timers that never fire, which a test put in place after the import', async () => {
  const script = join(__dirname, '../fixtures/frozen-timers.cjs');
  const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 20_000 });
  expect(JSON.parse(stdout)).toEqual({ run: true, job: 'done', large: true, closed: true });
});
