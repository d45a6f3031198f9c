// Mistakes of those who make agents and read their runs: each is named at once, with the way out.
import { join } from 'node:path';

import { createAgent, createMCPClient, createModelRuntime, tool } from 'millrace';

import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';
import { loopback } from '../support/server';

const models: ScriptedModel[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(models.splice(0).map((one) => one.close()));
});

async function agentOf(turns: Turn[], options: object = {}) {
  const model = await startModel(turns);
  models.push(model);
  const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
  return { model, agent: createAgent({ model: 'openai:m', provider, ...options }) };
}

const demo =
  (options: object): (() => unknown) =>
  () =>
    createAgent({ model: 'demo:demo', ...options });

const sendMail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: { type: 'object', properties: { to: { type: 'string' } } },
  approval: true,
  run: () => 'sent',
});

describe('tools that are none', () => {
  class Box {
    readonly look = sendMail;
  }

  it.each<[string, () => unknown, string]>([
    ['a promise', () => Promise.resolve([sendMail]), '`tools` is a promise: await it'],
    ['a promise in a list', () => [Promise.resolve([])], 'is a promise: await it and spread it'],
    ['a list in a list', () => [[sendMail]], 'is a list: spread it'],
    ['an instance', () => new Box(), '`tools` is an instance of Box'],
  ])('are refused: %s', (_name, tools, sentence) => {
    expect(demo({ tools: tools() })).toThrow(sentence);
  });

  it('are refused where they are an MCP client', async () => {
    const client = await createMCPClient({
      command: process.execPath,
      args: [join(__dirname, '../fixtures/mcp-server.cjs'), 'good'],
    });
    try {
      expect(demo({ tools: client })).toThrow('give `await client.tools()`');
      expect(demo({ tools: [client] })).toThrow('give `...(await client.tools())`');
      expect(demo({ tools: client.tools() })).toThrow('`tools: await client.tools()`');
      expect(demo({ tools: await client.tools() })).not.toThrow();
    } finally {
      await client.close();
    }
  });
});

describe('the text of a run that waits for a person', () => {
  const mail: Turn = { calls: [{ id: 'c1', name: 'send_mail', args: { to: 'Ada' } }] };

  it('is refused by the name of the tool', async () => {
    const { agent } = await agentOf([mail, { text: 'Sent.' }], { tools: [sendMail] });
    const run = agent.run('Mail Ada.');
    await expect(run.text()).rejects.toMatchObject({
      code: 'run_interrupted',
      message: expect.stringContaining('send_mail is waiting for approval') as string,
    });
    expect(await (await run.resume(true)).text()).toBe('Sent.');
  });

  it.each([{ aproved: true }, { approve: true }])(
    'is not reached by the answer %j, which says what is needed',
    async (answer) => {
      const { agent } = await agentOf([mail], { tools: [sendMail] });
      const run = agent.run('Mail Ada.');
      await expect(run.resume(answer as never)).rejects.toThrow(
        'The answer to an approval needs `approved`: true or false',
      );
    },
  );
});

describe('an option of another name', () => {
  it.each<[object, string]>([
    [{ tols: [] }, "Did you mean 'tools'?"],
    [{ limits: { maxStep: 3 } }, "Did you mean 'maxSteps'?"],
    [{ tools: ['calculater'] }, "Did you mean 'calculator'?"],
    [{ provider: { apikey: 'x' } }, "createAgent(): provider: there is no option 'apikey'"],
    [{ parameters: { temprature: 1 } }, "Did you mean 'temperature'?"],
  ])('is refused: %j', (options, sentence) => {
    expect(demo(options)).toThrow(sentence);
  });

  it('is let through where a vendor alone may know it', () => {
    expect(demo({ parameters: { top_a: 0.1, min_p: 0.1, safety_settings: [] } })).not.toThrow();
  });

  it('of a provider is told with the one that was meant', () => {
    expect(() => createModelRuntime('opnai')).toThrow('Did you mean "openai"?');
    expect(() => createModelRuntime('opnai')).not.toThrow(/anthropic.*zhipu/);
    expect(() => createModelRuntime('nobody')).toThrow('with `baseURL`: openai for most');
  });
});

describe('a key that is missing', () => {
  const warnings = (make: () => unknown): string[] => {
    const emit = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    make();
    return emit.mock.calls.map(([text]) => String(text));
  };
  const keys = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY'];
  const before = keys.map((name) => process.env[name]);
  beforeEach(() => keys.forEach((name) => delete process.env[name]));
  afterAll(() => {
    keys.forEach((name, index) => {
      if (before[index] !== undefined) process.env[name] = before[index];
    });
  });

  it('is warned of when the agent is made', () => {
    expect(warnings(() => createAgent({ model: 'openai:gpt-5' }))).toEqual([
      'createAgent(): The provider openai needs an API key. Set OPENAI_API_KEY or give `apiKey`.',
    ]);
  });

  it('of a fallback is warned of, too', () => {
    const fallback = ['anthropic:claude-sonnet-4-5'];
    const provider = { apiKey: 'k' };
    expect(warnings(() => createAgent({ model: 'openai:gpt-5', provider, fallback }))).toEqual([
      expect.stringContaining(
        'Its fallback cannot be asked: The provider anthropic needs',
      ) as string,
    ]);
  });

  it('is no matter where none is needed', () => {
    const provider = { baseURL: 'http://127.0.0.1:1' };
    expect(warnings(() => createAgent({ model: 'openai:m', provider }))).toEqual([]);
    expect(warnings(demo({}))).toEqual([]);
  });
});

describe('an error of a run', () => {
  it('says who failed, where, and with which words', async () => {
    const server = await loopback((_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end('{"error":{"message":"no such setting","code":"bad"}}');
    });
    const provider = { baseURL: `${server.url}/v1`, apiKey: 'k', maxRetries: 0 };
    const { error } = await createAgent({ model: 'openai:m', provider }).run('x').result;
    await server.close();
    expect(error).toMatchObject({
      code: 'provider_bad_request',
      provider: 'openai',
      endpoint: expect.stringContaining('/chat/completions') as string,
      error: { error: { message: 'no such setting' } },
      status: 400,
    });
  });

  it('of a fallback tells how the first one failed', async () => {
    const rejected = { baseURL: 'http://127.0.0.1:1', apiKey: 'k', maxRetries: 0 };
    const agent = createAgent({
      model: 'openai:m',
      provider: rejected,
      fallback: [{ provider: 'deepseek', model: 'n', ...rejected }],
    });
    const { error } = await agent.run('x').result;
    expect(error).toMatchObject({ provider: 'deepseek', cause: { provider: 'openai' } });
  });

  it('is told of a body without messages, whatever the instructions', async () => {
    for (const instructions of [undefined, 'You help.']) {
      const { agent, model } = await agentOf([{ text: 'paid' }], { instructions });
      expect(() => agent.run({})).toThrow('`messages` is empty');
      expect(model.asked).toHaveLength(0);
    }
  });
});

describe('what a tool throws', () => {
  const failing = (run: () => unknown) => tool({ name: 'look_up', description: 'Looks up.', run });
  const lookUp: Turn[] = [{ calls: [{ id: 'c1', name: 'look_up' }] }, { text: 'So it is.' }];

  it('is in the log of the server, with its stack', async () => {
    const log = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const thrown = new Error('the database is down');
    const tools = [
      failing(() => {
        throw thrown;
      }),
    ];
    const { agent } = await agentOf(lookUp, { tools });
    await agent.run('Look it up.').result;
    expect(log.mock.calls).toEqual([['millrace: the tool look_up failed:', thrown]]);
  });

  it.each<[string, unknown, RegExp, RegExp]>([
    ['credentials', new Error('401 for Bearer abcdefgh123'), /Bearer \[redacted\]/, /abcdefgh/],
    ['what clears a screen', new Error('bad \u001b[2J name'), /bad \ufffd\[2J name/, /bad \[/],
    ['megabytes', new Error('e'.repeat(1 << 20)), /more characters\)$/, /e{70000}/],
    [
      'cause that cannot be shown',
      { [Symbol.for('nodejs.util.inspect.custom')]: () => JSON.parse('no') as unknown },
      /cannot be shown/,
      /JSON/,
    ],
  ])('logs of a tool that fails no %s', async (_what, thrown, wanted, unwanted) => {
    const log = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const tools = [
      failing(() => {
        throw thrown;
      }),
    ];
    const { agent } = await agentOf(lookUp, { tools });
    expect((await agent.run('Look it up.').result).status).toBe('completed');
    const text = String(log.mock.calls[0]?.[1]);
    expect(text).not.toContain('\u001b');
    expect(text).toMatch(wanted);
    expect(text).not.toMatch(unwanted);
  });

  it('names the tool where its result is no JSON', async () => {
    jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const { agent, model } = await agentOf(lookUp, { tools: [failing(() => ({ n: 1n }))] });
    await agent.run('Look it up.').result;
    expect(model.asked[1]?.messages.at(-1)?.content).toMatch(
      /The tool look_up returned a value that JSON cannot represent: .*BigInt/,
    );
  });
});

describe('an address without an API', () => {
  it('is asked about before the model is', async () => {
    const server = await loopback((_request, response) => {
      response.writeHead(404, { 'content-type': 'text/html' });
      response.end('<!doctype html><title>Not here</title>');
    });
    const runtime = createModelRuntime('openai', { baseURL: server.url, maxRetries: 0 });
    const failure: unknown = await runtime
      .stream({ model: 'm', messages: [{ role: 'user', content: 'x' }] })
      .text()
      .catch((error: unknown) => error);
    await server.close();
    expect(failure).toMatchObject({ code: 'model_not_found' });
    expect((failure as Error).message).toMatch(/HTML page titled "Not here"\. Check `baseURL`/);
  });
});

describe('a schema that is none', () => {
  it('is told by the place in the schema that was given', async () => {
    const runtime = createModelRuntime('demo');
    const request = { model: 'demo', messages: [{ role: 'user' as const, content: 'x' }] };
    const failure = runtime.generateObject({ ...request, schema: { type: 'objct' } });
    await expect(failure).rejects.toMatchObject({
      code: 'invalid_schema',
      message: expect.not.stringContaining('/properties/value') as string,
    });
  });
});

describe('an option of the wrong type', () => {
  it.each([undefined, null, 5])('may be all of them: %j', (options) => {
    expect(() => createAgent(options as never)).toThrow(
      expect.objectContaining({ code: 'invalid_option' }),
    );
  });

  it.each<[string, unknown]>([
    ['limits', 5],
    ['limits', 'x'],
    ['limits', true],
    ['limits', []],
    ['parameters', 'hot'],
    ['parameters', []],
    ['compression', 'x'],
    ['compression', 0],
    ['retryAfterFirstToken', 'no'],
  ])('of an agent is named: %s %j', (name, value) => {
    expect(demo({ [name]: value })).toThrow(
      expect.objectContaining({
        code: 'invalid_option',
        message: expect.stringContaining(name) as string,
      }),
    );
  });

  it.each<[string, unknown]>([
    ['retries', -1],
    ['retries', 'x'],
    ['description', 5],
  ])('of a tool is named: %s %j', (name, value) => {
    expect(() => tool({ name: 'look', run: () => 1, [name]: value } as never)).toThrow(
      expect.objectContaining({
        code: 'invalid_option',
        message: expect.stringContaining(name) as string,
      }),
    );
  });

  it('of a client tool is answered with 400', async () => {
    const { agent, model } = await agentOf([{ text: 'never' }]);
    const wrong = [
      { name: 'look', description: 5 },
      { name: 'look', description: { a: 1 } },
      { name: 'look', parameters: 'x' },
      { name: 'look', parameters: [1] },
    ];
    for (const one of wrong) {
      const messages = [{ id: 'u', role: 'user', content: 'Go.' }];
      const body = JSON.stringify({ threadId: 't', runId: 'r', messages, tools: [one] });
      const response = await agent.handler(
        new Request('http://127.0.0.1/agent', { method: 'POST', body }),
      );
      expect(response.status).toBe(400);
      expect(await response.text()).toContain(Object.keys(one)[1]);
    }
    expect(model.chatBodies).toEqual([]);
  });
});
