// What is left of an Engine's turn that did not end well: its text, its rows in the session, its place in the queue.
/* eslint-disable @typescript-eslint/no-explicit-any */
import { Engine, type EngineRetry, SessionManager, engineText, tool } from 'millrace';

import { startProvider } from '../../support/provider';
import { resultsOf, scripted, toolCall } from '../../support/scripted-provider';

const withTool = (provider: any, rest = {}) =>
  new Engine({
    provider,
    tools: [{ name: 't', description: 't', parameters: {}, execute: () => 'found' }],
    ...rest,
  });

describe('an answer that was cut at the limit of its tokens', () => {
  it.each(['half an', ''])('keeps its text %j beside the status', async (content) => {
    const choice = { message: { role: 'assistant', content }, finish_reason: 'length' };
    const provider = await startProvider(
      (response) => void response.end(JSON.stringify({ choices: [choice] })),
    );
    const result = await new Engine({ baseURL: provider.url, model: 'm' }).run('x');
    await provider.close();
    expect(result).toMatchObject({
      status: 'error',
      error: { code: 'output_limit_reached', retryable: false },
    });
    expect(result.text).toBe(content === '' ? undefined : content);
    const reported = engineText(result);
    if (content === '') expect(reported).toMatch(/^FrostAgent错误：LLM调用失败: /);
    else expect(reported).toBe(content);
  });

  it('stays in the history of its session', async () => {
    const choice = { message: { role: 'assistant', content: 'half' }, finish_reason: 'length' };
    const provider = await startProvider(
      (response) => void response.end(JSON.stringify({ choices: [choice] })),
    );
    const engine = new Engine({ baseURL: provider.url, model: 'm' });
    await engine.runWithSession('s', 'x');
    await provider.close();
    const rows = engine.sessionManager.snapshot('s').map(({ content }) => content);
    expect(rows).toEqual(['', 'x', 'half']);
  });
});

describe('the session of a turn that has no answer', () => {
  const roles = (engine: Engine) =>
    engine.sessionManager.snapshot('s').map(({ role, content }) => `${role}: ${String(content)}`);

  it('keeps what its tools gave before it failed', async () => {
    const provider = scripted({ content: '', tool_calls: [toolCall('t')] }, new Error('down'), {
      content: 'done',
    });
    const engine = withTool(provider);
    expect(await engine.runWithSession('s', 'one')).toMatchObject({ status: 'error' });
    expect(roles(engine)).toEqual(['system: ', 'user: one', 'assistant: ', 'tool: found']);
    expect(engine.sessionManager.listSessions()[0]).toMatchObject({
      messages: 4,
      unfinished: 'error',
    });
    expect(await engine.runWithSession('s', 'two')).toMatchObject({ text: 'done' });
    expect(resultsOf({ messages: provider.asked[2].messages })).toEqual(['found']);
    expect(roles(engine).slice(4)).toEqual(['user: two', 'assistant: done']);
    expect(engine.sessionManager.listSessions()[0]).not.toHaveProperty('unfinished');
  });

  it('keeps it before it was cancelled, each call with a result', async () => {
    const controller = new AbortController();
    const calls = [toolCall('t'), toolCall('hang')];
    const engine = withTool(scripted({ content: '', tool_calls: calls }), {
      tools: [
        { name: 't', description: 't', parameters: {}, execute: () => 'found' },
        {
          name: 'hang',
          description: 'hang',
          parameters: {},
          execute: () => (controller.abort(), new Promise(() => undefined)),
        },
      ],
    });
    const { signal } = controller;
    expect(await engine.runWithSession('s', 'one', { signal })).toMatchObject({
      status: 'cancelled',
    });
    expect(roles(engine)).toHaveLength(5);
    expect(roles(engine)[3]).toBe('tool: found');
    expect(engine.sessionManager.listSessions()[0]).toMatchObject({ unfinished: 'cancelled' });
    engine.sessionManager.clear('s');
    expect(engine.sessionManager.listSessions()[0]).not.toHaveProperty('unfinished');
  });

  it('keeps nothing that would make each later prompt too long', async () => {
    const engine = new Engine({
      provider: scripted({ content: '', tool_calls: [toolCall('t')] }),
      maxContextTokens: 300,
      tools: [{ name: 't', description: 't', parameters: {}, execute: () => 'word '.repeat(1000) }],
    });
    expect(await engine.runWithSession('s', 'one')).toMatchObject({
      error: { code: 'context_window_exceeded' },
    });
    expect(roles(engine)).toEqual([]);
    expect(await engine.runWithSession('s', 'two')).toMatchObject({ status: 'completed' });
  });
});

describe('the queue of a session', () => {
  const held = () => {
    const releases: (() => void)[] = [];
    const chat = async ({ messages }: any) => {
      await new Promise<void>((resolve) => releases.push(resolve));
      return { message: { role: 'assistant', content: `re: ${messages.at(-1).content}` } };
    };
    const release = async () => {
      while (releases.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      releases.shift()?.();
    };
    return { chat, release };
  };

  it.each([0, 2])('takes %i prompts besides the one that is answered', async (maxQueued) => {
    const { chat, release } = held();
    const sessionManager = new SessionManager({ maxQueued });
    const engine = new Engine({ provider: { chat }, sessionManager });
    const runs = Array.from({ length: maxQueued + 1 }, (_, n) =>
      engine.runWithSession('s', String(n)),
    );
    const rejected = await engine.runWithSession('s', 'late');
    expect(rejected).toMatchObject({
      status: 'error',
      error: { code: 'too_much_work', retryable: true },
    });
    expect(rejected.error?.message).toContain(`is full (maxQueued ${maxQueued})`);
    for (const run of runs) {
      await release();
      expect(await run).toMatchObject({ status: 'completed' });
    }
    const again = engine.runWithSession('s', 'again');
    await release();
    expect(await again).toMatchObject({ text: 're: again' });
  });
});

describe('the arguments of a tool', () => {
  it('are an object for each kind of tool', async () => {
    const seen: unknown[] = [];
    const parameters = { type: 'object', properties: { n: { type: 'number' } } };
    const own = { name: 'own', description: 'o', parameters, execute: (args: object) => (seen.push(args), '') }; // prettier-ignore
    const hosts = tool({ name: 'hosts', input: parameters, run: (args: any) => void seen.push(args) }); // prettier-ignore
    const calls = [toolCall('own', '{"n":1}'), toolCall('hosts', '{"n":2}'), toolCall('own', '', 'x')]; // prettier-ignore
    await new Engine({ provider: scripted({ tool_calls: calls }), tools: [own, hosts] }).run('x');
    expect(seen).toEqual([{ n: 1 }, { n: 2 }, {}]);
  });
});

describe('a provider that is asked again', () => {
  it('is reported, each attempt that failed', async () => {
    const provider = await startProvider(
      (response) => void response.end('{"error":{"message":"quota"}}'),
    );
    const retries: EngineRetry[] = [];
    const engine = new Engine({ baseURL: provider.url, model: 'm' });
    const result = await engine.run('x', { onRetry: (retry) => void retries.push(retry) });
    await provider.close();
    expect(result.error?.message).toBe('API returned error: quota');
    expect(provider.calls).toHaveLength(3);
    const waitMs = expect.any(Number) as number;
    expect(retries).toEqual(
      [1, 2].map((attempt) => ({ attempt, waitMs, code: 'provider_error', message: 'quota' })),
    );
    expect(await engine.run('x', { onRetry: 5 as never })).toMatchObject({
      error: {
        code: 'invalid_option',
        message: expect.stringMatching(/^`onRetry` must be a function, not /) as string,
      },
    });
  });
});
