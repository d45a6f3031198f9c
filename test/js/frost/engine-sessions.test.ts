// The scripts are plain data of many shapes, as JavaScript callers give them.
/* eslint-disable @typescript-eslint/no-explicit-any */
import { Dispatcher, Engine, SessionManager, engineText, inProcessAdapter } from 'millrace';

import { scripted, toolCall } from '../../support/scripted-provider';

const tool = (name: string, execute: any) => ({ name, description: name, parameters: {}, execute });

describe('Engine', () => {
  it('answers a prompt with tools in model order, sorted by name for the provider', async () => {
    const order: string[] = [];
    const provider = scripted(
      { tool_calls: [toolCall('b', '{"n":1}'), toolCall('a', '{"n":2}')] },
      { content: 'done' },
    );
    const engine = new Engine({
      provider,
      systemPrompt: 'S',
      tools: ['b', 'a'].map((name) =>
        tool(name, ({ n }: any) => (order.push(name), `${name}${n}`)),
      ),
    });
    const result = await engine.run('hi');
    expect(result).toMatchObject({
      status: 'completed',
      text: 'done',
      usage: { prompt: 4, completion: 2, total: 6 },
    });
    expect(order).toEqual(['b', 'a']);
    expect(provider.asked[0].tools.map((entry: any) => entry.function.name)).toEqual(['a', 'b']);
    expect(provider.asked[1].messages.slice(0, 2)).toEqual([
      { role: 'system', content: 'S' },
      { role: 'user', content: 'hi' },
    ]);
    expect(provider.asked[1].messages.slice(3)).toEqual([
      { role: 'tool', content: 'b1', tool_call_id: 'b' },
      { role: 'tool', content: 'a2', tool_call_id: 'a' },
    ]);
    expect(engine.totalMessagesProcessed).toBe(2);
    expect(engine.counters).toMatchObject({ runs: 1, iterations: 2, toolCalls: 2 });
  });

  it('gives typed results, and FrostAgent’s texts for them', async () => {
    const looping = new Engine({
      maxIterations: 2,
      provider: scripted(
        { tool_calls: [toolCall('x')] },
        { tool_calls: [toolCall('x', '{}', 'y')] },
      ),
    });
    const limit = await looping.run('hi');
    expect(limit.status).toBe('max_iterations');
    expect(engineText(limit)).toBe('FrostAgent错误：达到最大迭代次数，未能得出最终答案');
    expect(limit.messages.at(-1)).toMatchObject({ content: 'FrostAgent错误：工具未找到' });
    const failed = await new Engine({ provider: scripted(new Error('down')) }).run('hi');
    expect(failed).toMatchObject({ status: 'error', error: { message: 'down' } });
    expect(engineText(failed)).toBe('FrostAgent错误：LLM调用失败: down');
    const controller = new AbortController();
    const hanging = new Engine({ provider: { chat: () => new Promise(() => undefined) } });
    const run = hanging.run('hi', { signal: controller.signal });
    controller.abort();
    expect((await run).status).toBe('cancelled');
    expect(() => new Engine({ maxIterations: 0 })).toThrow('maxIterations');
  });

  it('tells the model when a tool fails, and cuts long results', async () => {
    const provider = scripted({ tool_calls: [toolCall('bad'), toolCall('long')] });
    const tools = [
      tool('bad', () => Promise.reject(new Error('disk'))),
      tool('long', () => '长'.repeat(30_000)),
    ];
    const { messages } = await new Engine({ provider, tools }).run('hi');
    expect(messages[3]?.content).toBe('FrostAgent错误：工具执行失败: disk');
    expect(messages[4]?.content).toMatch(/^长{21845}\n\.\.\.\(工具输出过长，已截断\)$/);
  });

  it('delivers messages of each run to its own hook, and tells the model the truth', async () => {
    const say = (text: string) =>
      toolCall('send_message', JSON.stringify({ messages: [{ type: 'plain', text }] }), text);
    const engine = new Engine({ provider: scripted({ tool_calls: [say('one'), say('two')] }) });
    engine.registerMessageTools();
    const got: any[] = [];
    const { messages } = await engine.run('hi', {
      onMessage: (message, { runId }) => {
        got.push([message.messages[0]?.text, typeof runId]);
        return message.messages[0]?.text === 'one'
          ? { delivered: true }
          : { delivered: false, error: 'closed' };
      },
    });
    expect(got).toEqual([
      ['one', 'string'],
      ['two', 'string'],
    ]);
    expect(messages[3]?.content).toBe('消息已发送');
    expect(messages[4]?.content).toContain('消息发送失败: closed');
  });

  it('stays silent alone, but not beside other calls', async () => {
    const engine = new Engine({ provider: scripted({ tool_calls: [toolCall('stay_silent')] }) });
    engine.registerMessageTools();
    expect(await engine.run('hi')).toMatchObject({ status: 'completed', text: '', silent: true });
    const ran = jest.fn();
    const both = new Engine({
      provider: scripted({ tool_calls: [toolCall('stay_silent'), toolCall('x')] }),
      tools: [tool('x', ran)],
    });
    both.registerMessageTools();
    expect(await both.run('hi')).toMatchObject({ text: 'end' });
    expect(ran).not.toHaveBeenCalled();
  });

  it('keeps sessions: the reply is stored, prompts wait for each other', async () => {
    const provider = scripted({ content: 'one' }, { content: 'two' });
    const engine = new Engine({ provider, systemPrompt: 'S' });
    const key = SessionManager.key('private', '7');
    const [first, second] = await Promise.all([
      engine.runWithSession(key, 'a'),
      engine.runWithSession(key, 'b'),
    ]);
    expect([first.text, second.text]).toEqual(['one', 'two']);
    expect(engine.sessionManager.snapshot(key).map(({ content }) => content)).toEqual([
      'S',
      'a',
      'one',
      'b',
      'two',
    ]);
    expect(provider.asked[1].messages).toHaveLength(4);
  });

  it('stores nothing of a prompt that failed', async () => {
    const engine = new Engine({ provider: scripted(new Error('down')) });
    await engine.runWithSession('group:1', 'a');
    expect(engine.sessionManager.snapshot('group:1')).toEqual([]);
  });
});

describe('SessionManager', () => {
  it('trims by whole turns', () => {
    const sessions = new SessionManager({ maxHistory: 5 });
    const rows = [
      { role: 'system', content: 's' },
      { role: 'user', content: 'old' },
      { role: 'assistant', content: '', tool_calls: [toolCall('a'), toolCall('b')] },
      { role: 'tool', content: '1', tool_call_id: 'a' },
      { role: 'tool', content: '2', tool_call_id: 'b' },
      { role: 'assistant', content: 'x' },
      { role: 'user', content: 'new' },
    ];
    expect(sessions.trim(rows as any).map(({ content }) => content)).toEqual(['s', 'new']);
    expect(sessions.trim(rows.slice(0, 6) as any)).toHaveLength(6);
    expect(sessions.trim(rows.slice(0, 3) as any)).toHaveLength(3);
  });

  it('forgets idle sessions and clears for good', async () => {
    let now = 0;
    const sessions = new SessionManager({ ttlMs: 10, now: () => now });
    sessions.addMessage('a', { role: 'user', content: 'x' });
    now = 5;
    sessions.addMessage('b', { role: 'user', content: 'y' });
    expect(sessions.listSessions().map(({ id }) => id)).toEqual(['b', 'a']);
    const running = sessions.run('b', async (history) => {
      sessions.clear('b');
      return { messages: history, value: 1 };
    });
    await running;
    expect(sessions.snapshot('b')).toEqual([]);
    now = 14;
    expect(sessions.cleanup()).toBe(1);
    expect(sessions.listSessions(0, 5)).toHaveLength(1);
  });
});

it('Dispatcher sends through the adapter of a platform', async () => {
  const dispatcher = new Dispatcher();
  const sent: any[] = [];
  dispatcher.registerAdapter(inProcessAdapter('test', (message) => void sent.push(message)));
  expect(dispatcher.listAdapters()).toEqual(['test']);
  expect(await dispatcher.dispatch('test', { target_id: '1', content: 'hi' })).toEqual({
    delivered: true,
  });
  expect(sent).toEqual([{ platform: 'test', target_id: '1', content: 'hi' }]);
  await expect(dispatcher.dispatch('none', { target_id: '1' })).rejects.toThrow(
    '未找到平台适配器: none',
  );
});
