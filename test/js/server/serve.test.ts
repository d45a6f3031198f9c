// `millrace serve` from outside: the real process, a loopback provider, plain HTTP.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { bareEnvironment } from '../../support/environment';
import type { Event } from '../../support/events';
import { contentOf, readEvents } from '../../support/events';
import {
  framed,
  haveRecordings,
  randomPieces,
  recordings,
  records,
} from '../../support/recordings';
import { reference } from '../../support/reference';
import { startServer } from '../../../dist/cjs/server';
import type { Provider } from '../../support/provider';
import { startProvider, stream } from '../../support/provider';
import { testSeed } from '../support/seed';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const children: ChildProcess[] = [];

interface Ready {
  readonly url: string;
  readonly model: string;
  readonly child: ChildProcess;
}

async function serve(args: string[], env: Record<string, string> = {}): Promise<Ready> {
  const child = spawn(process.execPath, [cli, 'serve', '--port', '0', '--json', ...args], {
    env: { ...bareEnvironment, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { ...(JSON.parse(line) as { url: string; model: string }), child };
}

async function run(url: string, body: unknown, query = ''): Promise<Event[]> {
  const response = await fetch(`${url}/agent${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  return readEvents(await response.text());
}

const hello = {
  threadId: 't',
  runId: 'r',
  messages: [{ id: 'm', role: 'user', content: 'Hello' }],
};

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

describe('millrace serve with a provider', () => {
  let provider: Provider;
  let server: Ready;

  beforeAll(async () => {
    provider = await startProvider();
    server = await serve(['--model', 'openai:test-model'], {
      OPENAI_BASE_URL: `${provider.url}/v1`,
      OPENAI_API_KEY: 'plain.secret-key-123456',
    });
  });
  afterAll(async () => {
    await provider.close();
  });

  const answer = [
    'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}\n\n',
    'data: {"choices":[{"index":0,"delta":{"content":" there"}}]}\n\n',
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
    'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}\n\n',
    'data: [DONE]\n\n',
  ];

  it('streams AG-UI and sends the model what it needs', async () => {
    provider.answer = stream(answer);
    const list = await run(server.url, {
      ...hello,
      tools: [{ name: 'look', description: 'Looks.', parameters: { type: 'object' } }],
      state: null,
    });
    expect(list.map((event) => event.type)).toEqual([
      'RUN_STARTED',
      'STEP_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'STEP_FINISHED',
      'RUN_FINISHED',
    ]);
    expect(list[0]).toMatchObject({ threadId: 't', runId: 'r', protocolVersion: '1.0' });
    const call = provider.calls.at(-1);
    expect(call).toMatchObject({ method: 'POST', url: '/v1/chat/completions' });
    expect(call?.headers['authorization']).toBe('Bearer plain.secret-key-123456');
    expect(JSON.parse(call?.body ?? '')).toMatchObject({
      model: 'test-model',
      stream: true,
      messages: [{ role: 'user', content: 'Hello' }],
      tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
    });
  });

  it.each([
    ['canonical', [{ id: 'u', role: 'user', content: 'Hello' }]],
    ['openai', [{ role: 'user', content: 'Hello' }]],
    [
      'openai-conversation',
      [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
    ],
    ['langgraph', [{ type: 'human', content: 'Hello' }]],
    ['anthropic', [{ role: 'user', content: 'Hello' }]],
  ])('reads messages in the format %s', async (format, messages) => {
    provider.answer = stream(answer);
    await run(server.url, { threadId: 't', messages }, `?format=${format}`);
    const { messages: sent } = JSON.parse(provider.calls.at(-1)?.body ?? '') as {
      messages: unknown;
    };
    expect(sent).toEqual([{ role: 'user', content: 'Hello' }]);
  });

  it.each([
    ['text that is not JSON', 'nonsense', 'invalid_json'],
    ['an array', '[]', 'invalid_body'],
    ['no messages', '{"threadId":"t"}', 'invalid_body'],
    ['messages that are no list', '{"threadId":"t","messages":"x"}', 'invalid_body'],
    ['empty messages', '{"threadId":"t","messages":[]}', 'invalid_body'],
    ['a thread id that is a number', '{"threadId":1,"messages":[]}', 'invalid_body'],
    ['a message without role', '{"threadId":"t","messages":[{"id":"1"}]}', 'invalid_messages'],
    [
      'tools that are no list',
      '{"threadId":"t","messages":[{"id":"1","role":"user","content":"x"}],"tools":{}}',
      'invalid_body',
    ],
    [
      'an answer to an interrupt without its id',
      '{"threadId":"t","messages":[{"id":"1","role":"user","content":"x"}],"resume":[{}]}',
      'invalid_body',
    ],
  ])('refuses %s before the stream', async (_what, body, code) => {
    const response = await fetch(`${server.url}/agent`, { method: 'POST', body });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect(error.code).toBe(code);
    expect(error.message.length).toBeGreaterThan(10);
  });

  it('refuses to change the request to the provider', async () => {
    const body = JSON.stringify({ ...hello, body: { store: true } });
    const response = await fetch(`${server.url}/agent`, { method: 'POST', body });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect(error.code).toBe('invalid_body');
    expect(error.message).toContain('`body`');
  });

  it('refuses an unknown format by naming the known ones', async () => {
    const response = await fetch(`${server.url}/agent?format=x`, {
      method: 'POST',
      body: JSON.stringify(hello),
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('openai-conversation');
  });

  it('ends in RUN_ERROR with a code when the provider refuses, and never shows the key', async () => {
    provider.answer = (response) => {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end('{"error":{"message":"Incorrect API key provided: plain.secret-key-123456"}}');
    };
    const list = await run(server.url, hello);
    expect(list.map((event) => event.type)).toEqual([
      'RUN_STARTED',
      'STEP_STARTED',
      'STEP_FINISHED',
      'RUN_ERROR',
    ]);
    expect(list[3]).toMatchObject({ code: 'authentication_failed' });
    expect(JSON.stringify(list)).not.toContain('secret-key');
    provider.answer = stream([
      'data: {"error":{"message":"key plain.secret-key-123456 is used up"}}\n\n',
    ]);
    const inBand = await run(server.url, hello);
    expect(inBand.at(-1)).toMatchObject({
      type: 'RUN_ERROR',
      message: 'key [redacted] is used up',
    });
  });

  it('ends in RUN_ERROR when the stream is cut, after the events before it', async () => {
    provider.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(answer[0]);
      setTimeout(() => response.destroy(), 50);
    };
    const list = await run(server.url, hello);
    expect(list.map((event) => event.type)).toEqual([
      'RUN_STARTED',
      'STEP_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'STEP_FINISHED',
      'RUN_ERROR',
    ]);
    expect(list.at(-1)).toMatchObject({ code: 'connection_lost' });
  });

  it.each([
    ['an empty body', '', 'stream_empty'],
    ['an HTML page', '<html>gateway</html>', 'not_a_stream'],
    ['a stream without its end', answer[0], 'stream_truncated'],
    ['an error under status 200', '{"error":{"message":"no","code":"x"}}', 'provider_error'],
  ])('tells %s apart', async (_what, body, code) => {
    provider.answer = stream([body ?? '']);
    const list = await run(server.url, hello);
    expect(list.at(-1)).toMatchObject({ type: 'RUN_ERROR', code });
  });

  it('stops the model call when the reader goes away', async () => {
    const started = new Promise<void>((resolve) => {
      provider.answer = (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(answer[0]);
        resolve();
      };
    });
    const client = request(`${server.url}/agent`, { method: 'POST' }, (response) =>
      response.resume(),
    );
    client.on('error', () => undefined);
    client.end(JSON.stringify(hello));
    await started;
    client.destroy();
    await provider.calls.at(-1)?.closed;
  });

  it('answers /health', async () => {
    const body = (await (await fetch(`${server.url}/health`)).json()) as Record<string, unknown>;
    expect(body).toMatchObject({ ok: true, service: 'millrace' });
    expect(body['timestamp']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
  });

  it('refuses a foreign Host and a foreign Origin', async () => {
    const status = (headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        request(`${server.url}/health`, { headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end();
      });
    expect(await status({ host: 'evil.example' })).toBe(403);
    expect(await status({ origin: 'https://evil.example' })).toBe(403);
    expect(await status({})).toBe(200);
  });
});

const described = haveRecordings ? describe : describe.skip;
described(
  'millrace serve on recorded streams (skipped when the recordings are not beside the repository)',
  () => {
    let provider: Provider;
    let chat: Ready;
    let anthropic: Ready;

    beforeAll(async () => {
      provider = await startProvider();
      chat = await serve(['--model', 'openai:m', '--base-url', provider.url]);
      anthropic = await serve(['--model', 'anthropic:m', '--base-url', provider.url]);
    });
    afterAll(async () => {
      await provider.close();
    });

    const rows = recordings().filter(({ wire }) => wire === 'openai_chat' || wire === 'anthropic');
    it.each(rows.map((recording) => [recording.name, recording] as const))(
      '%s',
      async (_name, recording) => {
        const bytes = framed(recording);
        const seed = testSeed();
        const ways: Record<string, Iterable<Uint8Array>> = {
          whole: [bytes],
          [`random splits, seed ${seed}`]: randomPieces(bytes, seed),
        };
        if (bytes.length < 20_000)
          ways['byte by byte'] = Array.from(bytes, (byte) => Uint8Array.of(byte));
        for (const [way, pieces] of Object.entries(ways)) {
          provider.answer = stream(pieces);
          const list = await run((recording.wire === 'anthropic' ? anthropic : chat).url, hello);
          const expected = reference(recording.wire ?? '', records(recording.lines));
          const actual = contentOf(list);
          const functions = actual.calls.filter((call) =>
            expected.calls.some(({ id }) => id === call.id),
          );
          expect({ way, ...actual, calls: functions }).toEqual({ way, ...expected });
          expect(['RUN_FINISHED', 'RUN_ERROR']).toContain(list.at(-1)?.type);
        }
      },
    );
  },
);

describe('millrace serve without a model', () => {
  it('answers with the demo: text, reasoning, a tool call, a failure', async () => {
    const server = await serve([]);
    expect(server.model).toBe('demo:demo');
    const sendRequest = (text: string): Promise<Event[]> =>
      run(server.url, { threadId: 't', messages: [{ id: 'm', role: 'user', content: text }] });
    const began = Date.now();
    const [plain, reasoned, tool, failed] = await Promise.all(
      ['Hello', 'please reason', 'use a tool', 'fail now'].map(sendRequest),
    );
    expect(Date.now() - began).toBeGreaterThanOrEqual(1000);
    expect(contentOf(plain ?? []).text).toMatch(/^\[demo\] /);
    expect(contentOf(reasoned ?? []).reasoning).not.toBe('');
    expect(contentOf(tool ?? []).calls).toMatchObject([
      { name: 'look_up_weather', args: '{"city":"Paris"}' },
    ]);
    const results = tool?.filter(({ type }) => type === 'TOOL_CALL_RESULT');
    expect(results).toMatchObject([{ content: 'It is sunny in Paris' }]);
    expect(contentOf(tool ?? []).text).toContain('The tool answered: It is sunny in Paris');
    expect(failed?.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'provider_error' });
  }, 30_000);

  it('stops cleanly on SIGTERM and lets an answer end', async () => {
    const server = await serve([]);
    const answering = run(server.url, hello);
    await new Promise((resolve) => setTimeout(resolve, 200));
    server.child.kill('SIGTERM');
    expect((await answering).at(-1)?.type).toBe('RUN_FINISHED');
    const code = server.child.exitCode ?? ((await once(server.child, 'exit')) as [number])[0];
    expect(code).toBe(0);
  });

  it('ends answers with an error when their time is over, at once after a second signal', async () => {
    const provider = await startProvider((response) => {
      const chunk = { choices: [{ index: 0, delta: { content: 'Hello' } }] };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    });
    const model = ['--model', 'openai:m', '--base-url', provider.url];
    const server = await serve(model, { OPENAI_API_KEY: 'k' });
    const answering = [run(server.url, hello), run(server.url, hello)];
    while (provider.calls.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    const exit = once(server.child, 'exit');
    server.child.kill('SIGINT');
    await new Promise((resolve) => setTimeout(resolve, 200));
    const again = Date.now();
    server.child.kill('SIGINT');
    for (const events of await Promise.all(answering)) {
      expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'cancelled' });
    }
    expect((await exit)[0]).toBe(130);
    expect(Date.now() - again).toBeLessThan(4000);
    const own = startServer({
      model: 'openai:m',
      baseURL: `${provider.url}/v1`,
      apiKey: 'k',
      port: 0,
      drainMs: 100,
    });
    const last = run(`http://127.0.0.1:${own.port}`, hello);
    while (provider.calls.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
    await own.stop();
    expect((await last).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'cancelled' });
    await provider.close();
  }, 20_000);

  it('answers others while it reads a large body', async () => {
    const chunk = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] };
    const provider = await startProvider(stream([`data: ${JSON.stringify(chunk)}\n\n`]));
    const model = ['--model', 'openai:m', '--base-url', provider.url];
    const server = await serve(model, { OPENAI_API_KEY: 'k' });
    const messages = Array.from({ length: 9_990 }, (_, i) => ({
      id: `m${i}`,
      role: i % 2 === 0 ? 'user' : 'assistant',
      content: `Hello for the time ${i}`.padEnd(150, '.'),
    }));
    messages.push({ id: 'last', role: 'user', content: 'Hello' });
    const order: string[] = [];
    const large = request(`${server.url}/agent`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    const events = new Promise<Event[]>((resolve) => {
      large.on('response', (response) => {
        order.push('large');
        let text = '';
        response.on('data', (piece: Buffer) => (text += piece.toString()));
        response.on('end', () => resolve(readEvents(text)));
      });
    });
    await new Promise<void>((resolve) => {
      large.end(JSON.stringify({ threadId: 't', messages }), resolve);
    });
    await fetch(`${server.url}/health`).then((response) => response.text());
    order.push('health');
    expect((await events).at(-1)?.type).toBe('RUN_FINISHED');
    expect(order).toEqual(['health', 'large']);
    const wrong = await fetch(`${server.url}/agent`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"messages":[${'1,'.repeat(200_000)}`,
    });
    expect(wrong.status).toBe(400);
    await provider.close();
  }, 60_000);

  it('names the fix when the port is taken and when an option is wrong', async () => {
    const server = await serve([]);
    const port = new URL(server.url).port;
    const outcome = async (args: string[]): Promise<{ code: number; text: string }> => {
      const child = spawn(process.execPath, [cli, 'serve', ...args], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let text = '';
      child.stderr.on('data', (chunk) => (text += String(chunk)));
      const [code] = (await once(child, 'close')) as [number];
      return { code, text };
    };
    expect(await outcome(['--port', port])).toMatchObject({
      code: 1,
      text: expect.stringContaining('address_in_use') as string,
    });
    expect(await outcome(['--port', 'x'])).toMatchObject({
      code: 2,
      text: expect.stringContaining('--port') as string,
    });
    expect(await outcome(['--model', 'nobody:x'])).toMatchObject({
      code: 2,
      text: expect.stringContaining('unknown_provider') as string,
    });
  }, 30_000);
});
