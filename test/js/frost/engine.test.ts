// What the document of FrostAgent's Engine says, sentence by sentence, and what it leaves open.
/* eslint-disable @typescript-eslint/no-explicit-any */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Dispatcher, Engine, SessionManager, engineText, inProcessAdapter } from 'millrace';

import { resultsOf, scripted, toolCall } from '../../support/scripted-provider';

const tool = (name: string, execute: any, rest = {}) => ({
  name,
  description: name,
  parameters: {},
  execute,
  ...rest,
});

// Answers POST /v1/chat/completions with what `answer` gives, on a free port.
const upstream = async (answer: (body: any) => [number, string] | undefined) => {
  const seen: any[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      seen.push({ url: request.url, headers: request.headers, body: JSON.parse(text) });
      const given = answer(seen.at(-1).body);
      if (given) response.writeHead(given[0]).end(given[1]);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = () => (server.closeAllConnections(), server.close());
  return { seen, baseURL: `http://127.0.0.1:${port}/v1/`, close };
};

describe('the fields of an Engine', () => {
  it('have the defaults of the document', () => {
    const before = Date.now();
    const engine = new Engine();
    expect(engine.maxIterations).toBe(5);
    expect(engine.totalMessagesProcessed).toBe(0);
    expect(engine.startedAt.getTime()).toBeGreaterThanOrEqual(before);
    expect(engine.version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(engine.sessionManager).toBeInstanceOf(SessionManager);
    expect(engine.sessionManager.maxHistory).toBe(20);
    expect(engine.dispatcher).toBeInstanceOf(Dispatcher);
    expect(engine.toolRegistry.size).toBe(0);
  });

  it.each([0, -1, 1.5, NaN, '3' as any])('refuse %p iterations', (maxIterations) => {
    expect(() => new Engine({ maxIterations })).toThrow('at least 1');
  });

  it('hold what was given, and show the key to nobody who lists them', () => {
    const provider = scripted();
    const engine = new Engine({ provider, baseURL: 'http://x', apiKey: 'sk-secret', model: 'm' });
    expect(engine).toMatchObject({ provider, baseURL: 'http://x', model: 'm' });
    expect(engine.apiKey).toBe('sk-secret');
    expect(JSON.stringify(engine)).not.toContain('sk-secret');
  });

  it('give each run the tools of its beginning, sorted by name', async () => {
    const provider = scripted({ tool_calls: [toolCall('b')] });
    const engine = new Engine({ provider, tools: [tool('b', () => engine.registerTool(late))] });
    const late = tool('a', () => '');
    await engine.run('x');
    expect(provider.asked[1].tools.map((entry: any) => entry.function.name)).toEqual(['b']);
    expect([...engine.toolRegistry.keys()]).toEqual(['a', 'b']);
    expect(engine.unregisterTool('a')).toBe(true);
    expect([...engine.toolRegistry.keys()]).toEqual(['b']);
  });
});

describe('the environment', () => {
  const names = ['UPSTREAM_ENDPOINT', 'UPSTREAM_API_KEY', 'MODEL_NAME', 'SYSTEM_PROMPT'] as const;
  const saved = names.map((name) => [name, process.env[name]] as const);
  afterEach(() => {
    for (const [name, value] of saved) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  it('says where to ask, with which key, model and prompt', async () => {
    const { seen, baseURL, close } = await upstream(() => [
      200,
      '{"choices":[{"message":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}',
    ]);
    process.env.UPSTREAM_ENDPOINT = baseURL;
    process.env.UPSTREAM_API_KEY = 'sk-1';
    process.env.MODEL_NAME = 'small';
    process.env.SYSTEM_PROMPT = 'Be kind.';
    try {
      const engine = Engine.fromEnv({ maxTokens: 9, temperature: 0.5, toolChoice: 'auto' });
      const { status, text, usage } = await engine.run('hello');
      expect({ status, text, usage }).toEqual({
        status: 'completed',
        text: 'hi',
        usage: { prompt: 3, completion: 4, total: 7 },
      });
      expect(seen[0].url).toBe('/v1/chat/completions');
      expect(seen[0].headers.authorization).toBe('Bearer sk-1');
      expect(seen[0].body).toEqual({
        stream: false,
        model: 'small',
        messages: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'hello' },
        ],
        max_tokens: 9,
        temperature: 0.5,
      });
      delete process.env.UPSTREAM_API_KEY;
      expect(await Engine.fromEnv({ model: 'own' }).run('x')).toMatchObject({ text: 'hi' });
      expect(seen[1].headers).not.toHaveProperty('authorization');
      expect(seen[1].body.model).toBe('own');
    } finally {
      close();
    }
  });
});

const silent = 'The answer of the provider has neither a text nor a valid tool call.';
const unreadable =
  "The `content` of the provider's answer must be a string or a list of parts, not 5.";

describe('an answer without words', () => {
  it.each([
    '{"message":{"content":""},"finish_reason":"stop"}',
    '{"message":{"content":""}}',
    '{"message":{"content":null},"finish_reason":"stop"}',
    '{"message":{"content":null,"reasoning_content":"Hm."}}',
  ])('is one: %s', async (choice) => {
    const { baseURL, close } = await upstream(() => [200, `{"choices":[${choice}]}`]);
    const result = await new Engine({ baseURL, model: 'm' }).run('x');
    close();
    expect(result).toMatchObject({ status: 'completed', text: '' });
  });
});

describe('a provider that fails', () => {
  it.each([
    [[500, 'busy'], 'API error (status 500): busy', true],
    [[400, 'bad'], 'API error (status 400): bad', false],
    [[502, '<html><title>Bad Gateway</title>nginx</html>'], 'API error (status 502): an HTML page titled "Bad Gateway"', true], // prettier-ignore
    [[200, '{"error":{"message":"quota"}}'], 'API returned error: quota', true],
    [[200, '{"error":{"message":"slow","code":"rate_limit_exceeded"}}'], 'API returned error: slow', true], // prettier-ignore
    [[200, '{"error":{"message":"slow","code":"rate_limited"}}'], 'API returned error: slow', true],
    [[200, '{"error":{"message":"wrong key","code":"invalid_api_key"}}'], 'API returned error: wrong key', false], // prettier-ignore
    [[200, '{"choices":[]}'], 'no choices in response', true],
    [[200, '{"choices":[{"message":{}}]}'], `API returned error: ${silent}`, true],
    [[200, '{"choices":[{"message":{"content":null,"tool_calls":[{}]}}]}'], `API returned error: ${silent}`, true], // prettier-ignore
    [[200, '{"choices":[{"message":{"content":5},"finish_reason":"stop"}]}'], `API returned error: ${unreadable}`, true], // prettier-ignore
    [[200, '<html>'], 'The answer of the provider is not JSON.', false],
    [[200, '{}'], 'no choices in response', false],
    [[200, '{"id":"c1"}'], 'no choices in response', false],
    [[200, ' null\n'], 'no choices in response', false],
  ] as [[number, string], string, boolean][])('with %j', async (answer, message, retryable) => {
    const { baseURL, close } = await upstream(() => answer);
    const result = await new Engine({ baseURL, model: 'm' }).run('x');
    close();
    expect(result).toMatchObject({ status: 'error', error: { message, retryable } });
    expect(result).not.toHaveProperty('text');
    expect(engineText(result)).toBe(`FrostAgent错误：LLM调用失败: ${message}`);
  });

  it('by repeating the key, which nobody is told', async () => {
    const { baseURL, close } = await upstream(() => [401, 'Bearer sk-secret-1 is wrong']);
    const { error } = await new Engine({ baseURL, apiKey: 'sk-secret-1', model: 'm' }).run('x');
    close();
    expect(error?.message).toBe('API error (status 401): Bearer [redacted] is wrong');
  });

  it('is asked again, as other providers are, and its refusal is told in the same words', async () => {
    const whole = '{"choices":[{"message":{"role":"assistant","content":"hi"}}]}';
    const answers: [number, string][] = [[503, 'busy'], [200, whole], [400, 'bad'], [401, 'sk-secret-1 is wrong'], [200, '<html>']]; // prettier-ignore
    const { seen, baseURL, close } = await upstream(() => answers.shift());
    const tools = [tool('t', () => 'r')];
    const options = { baseURL, model: 'm', apiKey: 'sk-secret-1', toolChoice: 'auto', tools };
    const engine = new Engine(options);
    expect(await engine.run('x')).toMatchObject({ status: 'completed', text: 'hi' });
    expect(seen).toHaveLength(2);
    expect(seen[1].body).toMatchObject({ tool_choice: 'auto', stream: false });
    expect(await engine.run('x')).toMatchObject({
      status: 'error',
      error: { message: 'API error (status 400): bad', retryable: false },
    });
    const rejected = await engine.run('x');
    expect(rejected.error).toMatchObject({ code: 'authentication_failed', retryable: false });
    expect(rejected.error?.message).toMatch(/^API error \(status 401\): /);
    expect(JSON.stringify(rejected)).not.toContain('sk-secret-1');
    expect((await engine.run('x')).error?.message).toBe('The answer of the provider is not JSON.');
    close();
  });

  it('by silence or by not being there', async () => {
    const { baseURL, close } = await upstream(() => undefined);
    const silent = await new Engine({ baseURL, model: 'm', requestTimeoutMs: 30 }).run('x');
    close();
    expect(silent.error).toMatchObject({ code: 'total_timeout', retryable: true });
    const gone = await new Engine({ baseURL, model: 'm' }).run('x');
    expect(gone.error).toMatchObject({ code: 'connect_failed', retryable: true });
  });

  it.each([
    [{}, /baseURL.*UPSTREAM_ENDPOINT/],
    [{ baseURL: 'http://127.0.0.1:1' }, /model.*MODEL_NAME/],
  ])('by being %j, which no request could be made of', async (options, message) => {
    const { status, error } = await new Engine(options).run('x');
    expect({ status, error }).toMatchObject({ status: 'error', error: { code: 'invalid_option' } });
    expect(error?.message).toMatch(message);
  });

  it('by counts that take back what others used', async () => {
    const of = async (usage: object) => {
      const message = { role: 'assistant', content: 'hi' };
      const chat = () => Promise.resolve({ message, usage });
      return (await new Engine({ model: 'm', provider: { chat } }).run('x')).usage;
    };
    const counted = { prompt: 0, completion: 3, total: 3 };
    expect(await of({ prompt_tokens: -5, completion_tokens: 3, total_tokens: -2 })).toEqual(
      counted,
    );
    expect(await of({ prompt_tokens: 9e18, completion_tokens: 3 })).toEqual(counted);
  });

  it('by saying nothing of its usage, which is no zero', async () => {
    const chat = { message: { role: 'assistant', content: 'hi' } };
    const reported = { ...chat, usage: { prompt_tokens: 2, completion_tokens: 1 } };
    const silent = await new Engine({ provider: { chat: () => chat } }).run('x');
    expect(silent.usage).toEqual({ prompt: 0, completion: 0, total: 0, source: 'unknown' });
    const counted = await new Engine({ provider: { chat: () => reported } }).run('x');
    expect(counted.usage).toEqual({ prompt: 2, completion: 1, total: 3 });
    const { baseURL, close } = await upstream(() => [200, JSON.stringify({ choices: [chat] })]);
    const { usage } = await new Engine({ baseURL, model: 'm' }).run('x');
    close();
    expect(usage.source).toBe('estimated');
    expect(usage.total).toBeGreaterThan(0);
  });

  it.each([undefined, null, 7, {}, { message: null }])('by answering %p', async (answer) => {
    const provider = { chat: () => answer as any };
    expect(await new Engine({ provider }).run('x')).toMatchObject({
      status: 'error',
      error: { code: 'provider_error' },
    });
  });
});

describe('the loop', () => {
  it('puts the system prompt in front of messages that have none, and changes no list', async () => {
    const provider = scripted();
    const engine = new Engine({ provider, systemPrompt: 'S' });
    const given = [{ role: 'user', content: 'x' }];
    await engine.runMessages(given);
    expect(given).toHaveLength(1);
    await engine.runMessages([{ role: 'system', content: 'own' }, ...given]);
    await engine.runMessages([]);
    const heads = provider.asked.map(({ messages }) => messages.map(({ content }: any) => content));
    expect(heads).toEqual([['S', 'x'], ['own', 'x'], ['S']]);
  });

  it('asks nothing where there is nothing to ask, or no conversation', async () => {
    const provider = scripted();
    const engine = new Engine({ provider });
    const wrong: [string, any][] = [
      ['invalid_argument', engine.run(5 as any)],
      ['invalid_argument', engine.run(undefined as any)],
      ['invalid_argument', engine.runWithSession('s', { text: 'x' } as any)],
      ['invalid_messages', engine.runMessages('x' as any)],
      ['invalid_messages', engine.runMessages([null, { role: 'user', content: 'x' }] as any)],
      ['invalid_messages', engine.runMessages([])],
    ];
    for (const [code, run] of wrong) {
      expect(await run).toMatchObject({ status: 'error', error: { code }, messages: [] });
    }
    expect(provider.asked).toEqual([]);
    expect(engine.sessionManager.snapshot('s')).toEqual([]);
  });

  it('never sends a conversation that an assistant begins, as trimming may leave one', async () => {
    const provider = scripted();
    const engine = new Engine({
      provider,
      systemPrompt: 'S',
      sessionManager: new SessionManager({ maxHistory: 2 }),
    });
    for (const prompt of ['one', 'two', 'three']) await engine.runWithSession('s', prompt);
    const roles = provider.asked.map(({ messages }) => messages.map(({ role }: any) => role));
    expect(roles.map(([first, second]) => [first, second])).toEqual([
      ['system', 'user'],
      ['system', 'user'],
      ['system', 'user'],
    ]);
    expect(provider.asked.at(-1).messages.at(-1).content).toBe('three');
    expect(JSON.stringify(engine.sessionManager.snapshot('s'))).not.toContain('is missing');
  });

  it('runs calls one after the other, or some at a time when asked', async () => {
    for (const [parallelTools, most] of [
      [undefined, 1],
      [true, 4],
      [2, 2],
    ] as const) {
      let running = 0;
      let peak = 0;
      const slow = async ({ n }: any) => {
        peak = Math.max(peak, ++running);
        await new Promise((resolve) => setTimeout(resolve, n === 1 ? 20 : 2));
        running -= 1;
        return String(n);
      };
      const calls = [1, 2, 3, 4].map((n) => toolCall('t', `{"n":${n}}`, String(n)));
      const engine = new Engine({
        provider: scripted({ tool_calls: calls }),
        tools: [tool('t', slow)],
        ...(parallelTools !== undefined && { parallelTools }),
      });
      expect(resultsOf(await engine.run('x'))).toEqual(['1', '2', '3', '4']);
      expect(peak).toBe(most);
    }
  });

  it('keeps the transcript when the rounds are used up', async () => {
    const engine = new Engine({
      maxIterations: 1,
      provider: scripted({ content: 'wait', tool_calls: [toolCall('t')] }),
      tools: [tool('t', () => 'found')],
    });
    const result = await engine.run('x');
    expect(result.status).toBe('max_iterations');
    expect(result.messages.slice(2).map(({ content }) => content)).toEqual(['wait', 'found']);
  });

  it('reads answers in parts', async () => {
    const content = [{ type: 'text', text: 'a' }, null, { type: 'image_url' }, { text: 'b' }];
    expect((await new Engine({ provider: scripted({ content }) }).run('x')).text).toBe('ab');
  });

  it('ends before a call that is too long for the model', async () => {
    const provider = scripted();
    const result = await new Engine({ provider, maxContextTokens: 50 }).run('word '.repeat(100));
    expect(result).toMatchObject({
      status: 'error',
      error: { code: 'context_window_exceeded', retryable: false },
    });
    expect(provider.asked).toHaveLength(0);
    expect(engineText(result)).toBe('FrostAgent错误：对话上下文过长，超出模型处理上限。');
  });

  it('is cancelled in the middle of a tool', async () => {
    const controller = new AbortController();
    const never = jest.fn();
    const engine = new Engine({
      provider: scripted({ tool_calls: [toolCall('hang'), toolCall('never')] }),
      tools: [
        tool('hang', () => {
          setTimeout(() => controller.abort(), 1);
          return new Promise(() => undefined);
        }),
        tool('never', never),
      ],
    });
    const { status, messages } = await engine.run('x', { signal: controller.signal });
    expect(status).toBe('cancelled');
    expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(2);
    expect(never).not.toHaveBeenCalled();
  });
});

describe('the engine behind the loop', () => {
  it('runs user code where the run was started', async () => {
    const { AsyncLocalStorage } = await import('node:async_hooks');
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const script = scripted({ tool_calls: [toolCall('t')] });
    const provider = { chat: (request: any) => (seen.push(storage.getStore()), script.chat(request)) }; // prettier-ignore
    const engine = new Engine({ provider, tools: [tool('t', () => void seen.push(storage.getStore()))] }); // prettier-ignore
    await storage.run('mine', () => engine.run('x'));
    expect(seen).toEqual(['mine', 'mine', 'mine']);
  });

  it('aborts what is under way with the reason of the run, and takes no late answer', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    let signal: AbortSignal | undefined;
    const provider = {
      chat: (_request: any, options: any) => {
        ({ signal } = options);
        setTimeout(() => controller.abort(reason), 1);
        return new Promise<any>((resolve) => options.signal.addEventListener('abort', () => resolve({ message: { content: 'late' } }))); // prettier-ignore
      },
    };
    const result = await new Engine({ provider }).run('x', { signal: controller.signal });
    expect(result).toMatchObject({ status: 'cancelled', messages: [{}, { content: 'x' }] });
    expect(signal?.reason).toBe(reason);
  });

  it('does not take the late answer of one call for that of another', async () => {
    let late: (text: string) => void = () => undefined;
    const tools = [
      tool('slow', () => new Promise((resolve) => (late = resolve)), { timeoutMs: 5 }),
      tool('next', () => (late('late'), new Promise((resolve) => setTimeout(resolve, 10, 'own')))),
    ];
    const provider = scripted(
      { tool_calls: [toolCall('slow')] },
      { tool_calls: [toolCall('next')] },
    );
    const [timedOut, own] = resultsOf(await new Engine({ provider, tools }).run('x'));
    expect(timedOut).toMatch(/within 5 ms/);
    expect(own).toBe('own');
  });

  it('gives back what the provider said beside the text, and what it threw', async () => {
    const provider = scripted({ content: 'wait', refusal: null, note: { a: 1 }, tool_calls: [{ ...toolCall('t'), extra: 7 }] }); // prettier-ignore
    const engine = new Engine({ provider, tools: [tool('t', () => 'r')] });
    const given = [{ role: 'user', content: 'x', name: 'ada' }];
    const { messages } = await engine.runMessages(given);
    const row = { role: 'assistant', content: 'wait', note: { a: 1 }, tool_calls: [{ extra: 7 }] };
    expect(provider.asked[1].messages.slice(1)).toMatchObject([given[0], row, { role: 'tool' }]);
    expect(messages[2]).toMatchObject(row);
    expect(messages[2]).not.toHaveProperty('id');
    const failing = { chat: () => Promise.reject(Object.assign(new Error('no'), { code: 'ODD' })) };
    expect(await new Engine({ provider: failing }).run('x')).toMatchObject({
      status: 'error',
      error: { code: 'provider_error', message: 'no', retryable: false },
    });
    const cyclic: any = { message: { content: 'x' } };
    cyclic.message.self = cyclic;
    expect(await new Engine({ provider: { chat: () => cyclic } }).run('x')).toMatchObject({
      error: { code: 'state_not_serializable' },
    });
  });

  it('ends a model that repeats itself', async () => {
    const calls = Array.from({ length: 30 }, (_, round) => ({ tool_calls: [toolCall('t', '{}', `c${round}`)] })); // prettier-ignore
    const engine = new Engine({
      provider: scripted(...calls),
      maxIterations: 30,
      tools: [tool('t', () => 'r')],
    });
    const result = await engine.run('x');
    const message = 'Stopped: the tool t was called 20 times in a row with the same arguments.';
    expect(result).toMatchObject({
      status: 'error',
      error: { code: 'tool_call_repeat_limit', message, retryable: false },
    });
    expect(result).not.toHaveProperty('text');
    expect(engineText(result)).toBe(`FrostAgent错误：${message}`);
    expect(engine.counters).toMatchObject({ iterations: 20, toolCalls: 19 });
  });
});

describe('calls and tools that misbehave', () => {
  it('never break the history', async () => {
    const odd = [
      toolCall('t', '{}', 'same'),
      toolCall('t', '{}', 'same'),
      { ...toolCall('t'), id: '' },
      { id: 5, function: { name: 't', arguments: { a: 1 } } },
      null,
      { id: 'x' },
    ];
    const provider = scripted({ content: null, tool_calls: odd });
    const execute = jest.fn((args: object) => JSON.stringify(args));
    await new Engine({ provider, tools: [tool('t', execute)] }).run('x');
    const [, , row, ...results] = provider.asked[1].messages;
    const ids = row.tool_calls.map(({ id }: any) => id);
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(4);
    expect(results.map(({ tool_call_id }: any) => tool_call_id)).toEqual(ids);
    expect(execute.mock.calls.at(-1)?.[0]).toEqual({ a: 1 });
    for (const tool_calls of [{}, 'x', 7, [null]]) {
      const plain = new Engine({ provider: scripted({ content: 'ok', tool_calls }) });
      expect(await plain.run('x')).toMatchObject({ status: 'completed', text: 'ok' });
    }
  });

  it.each([
    [{}, /neither a text nor a valid tool call/],
    [{ content: 5 }, /`content` of the provider.s answer must be a string/],
    [{ content: { text: 'x' } }, /`content` of the provider.s answer must be a string/],
    [{ content: '', tool_calls: [null] }, /neither a text nor a valid tool call/],
    [{ content: null, tool_calls: [{ id: 'x' }] }, /neither a text nor a valid tool call/],
  ])('end the run with an error where an answer is %j', async (message, reported) => {
    const chat = async (): Promise<never> => ({ message }) as never;
    expect(await new Engine({ provider: { chat } }).run('x')).toMatchObject({
      status: 'error',
      error: { code: 'provider_error', message: expect.stringMatching(reported) },
    });
  });

  it.each([
    [{ content: '' }, ''],
    [{ content: null }, ''],
    [{ content: [{ type: 'text', text: 'a part' }] }, 'a part'],
    [{ refusal: 'No.' }, 'No.'],
  ])('are none where an answer is %j', async (message, text) => {
    const engine = new Engine({ provider: { chat: async () => ({ message }) as never } });
    expect(await engine.run('x')).toMatchObject({ status: 'completed', text });
  });

  it.each([
    ['{"path":"/tmp/abc', 2],
    ['rm all', 2],
    ['{"path":"/tmp"}{"path":"/"}', 2],
    ['[1]', 2],
    ['null', 2],
  ])('do not run with %s', async (args, refusals) => {
    const parameters = { properties: { path: { type: 'string' } } };
    const ran = jest.fn(() => 'ran');
    const tools = [tool('strict', ran, { parameters }), tool('free', ran)];
    const provider = scripted({ tool_calls: [toolCall('strict', args), toolCall('free', args)] });
    const results = resultsOf(await new Engine({ provider, tools }).run('x')) as string[];
    const wrong = results.filter((text) =>
      /^FrostAgent错误：工具执行失败: Invalid arguments: they (are not valid JSON|must be a)/.test(
        text,
      ),
    );
    expect(wrong).toHaveLength(refusals);
    expect(wrong[0]).toBe(results[0]);
    expect(ran).toHaveBeenCalledTimes(2 - refusals);
  });

  it('are told to the model', async () => {
    // Words, of which the model takes more than of letters without any.
    const text = (length: number): string => 'word '.repeat(length / 5 + 1).slice(0, length);
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    };
    const ran = jest.fn();
    const tools = [
      tool('strict', ran, { parameters }),
      tool('json', (args: object) => args),
      tool('null', () => {
        throw null;
      }),
      tool('slow', () => new Promise(() => undefined), { timeoutMs: 5 }),
      tool('object', () => ({ a: 1 })),
      tool('nothing', () => undefined),
      tool('huge', () => text(100_000_000)),
      tool('wide', () => `${text(65_535)}😀`),
    ];
    const calls = [
      toolCall('strict', '{"city":7}'),
      toolCall('json', '{oops'),
      ...['null', 'slow', 'object', 'nothing', 'huge', 'wide', 'unknown'].map((n) => toolCall(n)),
    ];
    const engine = new Engine({ provider: scripted({ tool_calls: calls }), tools });
    const results = resultsOf(await engine.run('x')) as string[];
    const failed = 'FrostAgent错误：工具执行失败: ';
    expect(results[0]).toMatch(new RegExp(`^${failed}Invalid arguments: .*city`));
    expect(results[1]).toContain(failed);
    expect(results[2]).toBe(`${failed}null`);
    expect(results[3]).toBe(`${failed}The tool slow did not answer within 5 ms.`);
    expect(results.slice(4, 6)).toEqual(['{"a":1}', '']);
    const cut = '\n...(工具输出过长，已截断)';
    expect(results[6]).toBe(text(65_536) + cut);
    expect(results[7]).toBe(text(65_535) + cut);
    expect(results[8]).toBe('FrostAgent错误：工具未找到');
    expect(ran).not.toHaveBeenCalled();
    expect(engine.counters).toMatchObject({ toolCalls: 9, iterations: 2, messagesSent: 0 });
  });
});

describe('messages of a run', () => {
  const say = (text: string) =>
    toolCall('send_message', JSON.stringify({ messages: [{ type: 'plain', text }] }), text);
  const speaking = (...answers: any[]) => {
    const provider = scripted(...answers);
    const engine = new Engine({ provider, parallelTools: true });
    engine.registerMessageTools();
    return { provider, engine };
  };

  it('go to the hook of their own run', async () => {
    const { engine } = speaking({ tool_calls: [say('one')] }, { tool_calls: [say('two')] });
    const heard: string[] = [];
    const hook = (who: string) => async (message: any) => {
      await new Promise((resolve) => setTimeout(resolve, who === 'a' ? 10 : 1));
      heard.push(`${who}:${message.messages[0].text}`);
    };
    await Promise.all([
      engine.run('x', { onMessage: hook('a') }),
      engine.run('x', { onMessage: hook('b') }),
    ]);
    expect(heard.sort()).toEqual(['a:one', 'b:two']);
    expect(engine.counters).toMatchObject({ runs: 2, messagesSent: 2 });
  });

  it('are confirmed after they were delivered, and counted then', async () => {
    const { engine, provider } = speaking(
      { tool_calls: [say('x')] },
      {},
      { tool_calls: [say('y')] },
    );
    let delivered = false;
    const result = await engine.run('x', {
      onMessage: async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        expect(provider.asked).toHaveLength(1);
        delivered = true;
      },
    });
    expect(delivered).toBe(true);
    expect(resultsOf(result)).toEqual(['消息已发送']);
    const failed = await engine.run('x', { onMessage: () => Promise.reject(new Error('offline')) });
    expect(resultsOf(failed)).toEqual(['FrostAgent错误：工具执行失败: offline']);
    expect(engine.counters.messagesSent).toBe(1);
    const unheard = speaking({ tool_calls: [say('z')] });
    expect(resultsOf(await unheard.engine.run('x'))).toEqual([
      '{"messages":[{"type":"plain","text":"z"}]}',
    ]);
    expect(unheard.engine.counters.messagesSent).toBe(0);
  });

  it('are not delivered when the run is over', async () => {
    let late: any;
    const engine = new Engine({
      provider: scripted({ tool_calls: [toolCall('keep')] }),
      tools: [tool('keep', (_args: object, context: any) => ((late = context.onMessage), 'kept'))],
    });
    const onMessage = jest.fn();
    await engine.run('x', { onMessage });
    expect(await late({ messages: [] }, {})).toMatchObject({ delivered: false });
    expect(onMessage).not.toHaveBeenCalled();
  });

  it.each([
    ['{', 'send_message 参数不是合法 JSON: '],
    ['{"messages":[]}', 'send_message 至少需要一条 messages'],
    ['{"messages":[{"type":"plain"}]}', 'messages[0].text 不能为空'],
    ['{"messages":[{"type":"plain","text":" \\n"}]}', 'messages[0].text 不能为空'],
    ['{"messages":[{"type":"image","path":" ","url":""}]}', 'messages[0] 需要 path 或 url'],
    ['{"messages":[{"type":"mention_user"}]}', 'messages[0].mention_user_id 不能为空'],
    ['{"messages":[{"type":"quote"}]}', 'messages[0].message_id 不能为空'],
    ['{"messages":[{"type":"plain","text":"a"},{"type":"file"}]}', 'messages[1] 需要 path 或 url'],
    ['{"messages":[{"type":"dance"}]}', 'messages[0].type 不支持: dance'],
    ['{"messages":[null]}', 'messages[0].type 不支持: undefined'],
    ['{"messages":[{"type":"toString"}]}', 'messages[0].type 不支持: toString'],
    ['{"messages":[{"type":"constructor"}]}', 'messages[0].type 不支持: constructor'],
    ['{"messages":[{"type":"plain","text":5}]}', 'messages[0].text 不能为空'],
    ['{"messages":[{"type":"image","url":{}}]}', 'messages[0] 需要 path 或 url'],
  ])('are refused when they are %s', async (args, message) => {
    const { engine } = speaking({ tool_calls: [toolCall('send_message', args)] });
    const onMessage = jest.fn();
    const [reported] = resultsOf(await engine.run('x', { onMessage })) as string[];
    expect(reported).toContain(`FrostAgent错误：工具执行失败: ${message}`);
    expect(onMessage).not.toHaveBeenCalled();
  });

  it('may be left out by staying silent without arguments', async () => {
    const { engine } = speaking(
      { tool_calls: [toolCall('stay_silent', '{"a":1}')] },
      { tool_calls: [toolCall('stay_silent', '{')] },
      { tool_calls: [toolCall('stay_silent', '')] },
    );
    const result = await engine.run('x');
    const [first, second, third] = resultsOf(result) as string[];
    expect(first).toContain('stay_silent 不接受参数');
    expect(second).toContain('stay_silent 参数不是合法 JSON: ');
    expect(third).toBe('已选择保持沉默');
    expect(result).toMatchObject({ status: 'completed', silent: true, text: '' });
    expect(engineText(result)).toBe('');
  });
});

describe('sessions', () => {
  it('are of a user or of a whole group', () => {
    expect(SessionManager.key('private', '7')).toBe('private:7');
    expect(SessionManager.key('group', '7')).toBe('group:7');
  });

  it('answer in order while others look, and nothing waits for a model but its own prompts', async () => {
    const order: string[] = [];
    let release: () => void = () => undefined;
    const provider = {
      chat: async ({ messages }: any) => {
        const received = messages.at(-1).content as string;
        order.push(received);
        if (received === 'slow') await new Promise<void>((resolve) => (release = resolve));
        return { message: { role: 'assistant', content: `re: ${received}` } };
      },
    };
    const engine = new Engine({ provider });
    const slow = engine.runWithSession('group:1', 'slow');
    const next = engine.runWithSession('group:1', 'next');
    expect((await engine.runWithSession('private:2', 'other')).text).toBe('re: other');
    const { sessionManager } = engine;
    expect(sessionManager.snapshot('group:1')).toEqual([]);
    expect(sessionManager.cleanup()).toBe(0);
    expect(sessionManager.listSessions()).toHaveLength(2);
    expect(order).toEqual(['slow', 'other']);
    release();
    expect([(await slow).text, (await next).text]).toEqual(['re: slow', 're: next']);
    const stored = sessionManager.snapshot('group:1');
    expect(stored.slice(1).map(({ content }) => content)).toEqual([
      'slow',
      're: slow',
      'next',
      're: next',
    ]);
    stored.length = 0;
    expect(sessionManager.snapshot('group:1')).toHaveLength(5);
  });

  it('keep the system row and the newest rows, and whole chains of tools', async () => {
    const answers = Array.from({ length: 12 }, (_, round) => [
      { tool_calls: [toolCall('t', '{}', `c${round}`)] },
      { content: `a${round}` },
    ]).flat();
    const provider = scripted(...answers);
    const engine = new Engine({ provider, systemPrompt: 'S', tools: [tool('t', () => 'r')] });
    for (let round = 0; round < 12; ++round) await engine.runWithSession('s', `q${round}`);
    const rows = engine.sessionManager.snapshot('s');
    expect(rows[0]).toEqual({ role: 'system', content: 'S' });
    expect(rows.length).toBeLessThanOrEqual(21);
    for (const { messages } of provider.asked) {
      const calls = new Set(
        messages.flatMap((row: any) => row.tool_calls ?? []).map((c: any) => c.id),
      );
      for (const row of messages) {
        if (row.role === 'tool') expect(calls.has(row.tool_call_id)).toBe(true);
      }
    }
  });

  it('that are idle are forgotten by themselves, until the manager is closed', async () => {
    jest.useFakeTimers();
    try {
      const sessions = new SessionManager({ ttlMs: 1000, cleanupIntervalMs: 100 });
      sessions.addMessage('a', { role: 'user', content: 'x' });
      jest.advanceTimersByTime(900);
      expect(sessions.listSessions()).toHaveLength(1);
      jest.advanceTimersByTime(200);
      expect(sessions.listSessions()).toHaveLength(0);
      expect(jest.getTimerCount()).toBe(0);
      sessions.addMessage('b', { role: 'user', content: 'x' });
      sessions.close();
      expect(jest.getTimerCount()).toBe(0);
      await expect(sessions.run('b', async () => ({ value: 1 }))).rejects.toThrow('closed');
    } finally {
      jest.useRealTimers();
    }
  });

  it('let go of a prompt that is cancelled while it waits, and keep the others in order', async () => {
    let release: () => void = () => undefined;
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const provider = {
      chat: async ({ messages }: any) => {
        const { content } = messages.at(-1);
        begin();
        if (content === 'a') await new Promise<void>((resolve) => (release = resolve));
        return { message: { role: 'assistant', content: `re: ${content}` } };
      },
    };
    const engine = new Engine({ provider });
    const controller = new AbortController();
    const { signal } = controller;
    const first = engine.runWithSession('s', 'a');
    const second = engine.runWithSession('s', 'b', { signal });
    const third = engine.runWithSession('s', 'c');
    await begun;
    controller.abort();
    expect(await second).toMatchObject({ status: 'cancelled', usage: { total: 0 } });
    expect(await engine.runWithSession('s', 'd', { signal })).toMatchObject({
      status: 'cancelled',
    });
    expect(engine.counters.iterations).toBe(1);
    release();
    expect((await first).text).toBe('re: a');
    const { messages } = await third;
    expect(messages.slice(1).map(({ content }) => content)).toEqual(['a', 're: a', 'c', 're: c']);
  });
});

describe('the dispatcher', () => {
  it('finds the adapter of a platform', async () => {
    const dispatcher = new Dispatcher();
    const got: any[] = [];
    dispatcher.registerAdapter(inProcessAdapter('b', () => undefined));
    dispatcher.registerAdapter(inProcessAdapter('a', () => ({ delivered: false })));
    dispatcher.registerAdapter(
      inProcessAdapter('a', (message) => {
        got.push(message);
        return { delivered: true, messageIds: ['1'] };
      }),
    );
    expect(dispatcher.listAdapters()).toEqual(['a', 'b']);
    expect(await dispatcher.dispatch('a', { target_id: '7', content: 'x' })).toEqual({
      delivered: true,
      messageIds: ['1'],
    });
    expect(got).toEqual([{ platform: 'a', target_id: '7', content: 'x' }]);
    expect(await dispatcher.dispatch('b', { target_id: '7' })).toEqual({ delivered: true });
    expect(dispatcher.getAdapter('b')?.id).toBe('b');
    expect(dispatcher.unregisterAdapter('b')).toBe(true);
    expect(dispatcher.unregisterAdapter('b')).toBe(false);
    await expect(dispatcher.dispatch('b', { target_id: '7' })).rejects.toThrow(
      '未找到平台适配器: b',
    );
    dispatcher.registerAdapter({ id: 'c', send: () => Promise.reject(new Error('no way')) });
    await expect(dispatcher.dispatch('c', { target_id: '7' })).rejects.toThrow('no way');
  });
});
