// millrace chat, models and providers, as processes.
import { spawn } from 'node:child_process';
import { join } from 'node:path';

import type { Provider } from '../../support/provider';
import { startProvider, stream } from '../../support/provider';
import { sse } from '../support/responses';

const main = join(__dirname, '../../../dist/cjs/cli/main.js');

interface Outcome {
  code: number | null;
  out: string;
  err: string;
}

function millrace(
  args: string[],
  {
    env = {},
    input = '',
    onOutput,
  }: {
    env?: Record<string, string>;
    input?: string;
    onOutput?: (text: string, interrupt: () => void) => void;
  } = {},
): Promise<Outcome> {
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/_API_KEY|_BASE_URL|_MODEL$/.test(name)),
  );
  const child = spawn(process.execPath, [main, ...args], { env: { ...clean, ...env } });
  const outcome: Outcome = { code: null, out: '', err: '' };
  let interrupted = false;
  child.stdout.on('data', (chunk: Buffer) => {
    outcome.out += chunk.toString();
    if (onOutput && !interrupted) {
      onOutput(outcome.out, () => {
        interrupted = true;
        child.kill('SIGINT');
      });
    }
  });
  child.stderr.on('data', (chunk: Buffer) => (outcome.err += chunk.toString()));
  child.stdin.end(input);
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...outcome, code })));
}

const piece = (delta: object, finish: string | null = null) => ({
  id: 'c',
  model: 'gpt-4o-2024-08-06',
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const answer = `${sse(
  piece({ reasoning_content: 'Hm.' }),
  piece({ content: 'Hello ' }),
  piece({ content: 'there' }),
  piece({}, 'stop'),
  {
    id: 'c',
    model: 'gpt-4o-2024-08-06',
    choices: [],
    usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
  },
)}data: [DONE]\n\n`;

let provider: Provider;
beforeEach(async () => {
  provider = await startProvider(stream([answer]));
});
afterEach(() => provider.close());
const requesting = () => ['--model', 'openai:gpt-4o', '--base-url', provider.url];
const key = { OPENAI_API_KEY: 'sk-secret-1234567890' };

describe('millrace chat', () => {
  it('streams the answer, and tells usage and cost beside it', async () => {
    const { code, out, err } = await millrace(
      [
        'chat',
        'Hi?',
        ...requesting(),
        '--system',
        'Be brief',
        '--max-tokens',
        '50',
        '--temperature',
        '0',
      ],
      { env: key },
    );
    expect([code, out]).toEqual([0, 'Hello there\n']);
    expect(err).toContain('Hm.');
    expect(err).toContain('1000 tokens in, 100 tokens out, $0.003500');
    expect(JSON.parse(provider.calls[0]?.body ?? '')).toMatchObject({
      model: 'gpt-4o',
      messages: [
        { role: expect.stringMatching(/system|developer/) as string, content: 'Be brief' },
        { role: 'user', content: 'Hi?' },
      ],
    });
  });

  it('takes the provider whose key is set when no model is named', async () => {
    const { code } = await millrace(['chat', 'Hi?', '--base-url', provider.url], {
      env: { GROQ_API_KEY: 'gsk-1' },
    });
    expect(code).toBe(0);
    expect(provider.calls[0]?.headers.authorization).toBe('Bearer gsk-1');
  });

  it('gives one JSON object with --json, and reads standard input', async () => {
    const { code, out, err } = await millrace(['chat', '-', ...requesting(), '--json'], {
      env: key,
      input: 'From a pipe',
    });
    expect([code, err]).toEqual([0, '']);
    expect(JSON.parse(out)).toMatchObject({
      provider: 'openai',
      text: 'Hello there',
      finishReason: 'stop',
      usage: { totalInputTokens: 1000, totalOutputTokens: 100, source: 'reported' },
      cost: 0.0035,
      stopped: false,
    });
    expect(provider.calls[0]?.body).toContain('From a pipe');
  });

  it('asks the demo model, which needs no key', async () => {
    const [{ code, out, err }, reported] = await Promise.all([
      millrace(['chat', 'Hi?', '--model', 'demo:demo']),
      millrace(['chat', 'Hi?', '--json'], { env: { MILLRACE_MODEL: 'demo:demo' } }),
    ]);
    expect([code, err]).toEqual([0, expect.stringContaining('demo:demo')]);
    expect(out.length).toBeGreaterThan(20);
    expect(JSON.parse(reported.out)).toMatchObject({ provider: 'demo', text: out.trimEnd() });
  }, 30_000);

  it('ends in good order on Ctrl-C, and books what was used', async () => {
    provider.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(sse(piece({ content: 'Half an answer' })));
    };
    const { code, out, err } = await millrace(['chat', 'Hi?', ...requesting()], {
      env: key,
      onOutput: (text, interrupt) => {
        if (text.includes('answer')) interrupt();
      },
    });
    expect([code, out]).toEqual([130, 'Half an answer\n']);
    expect(err).toMatch(/about \d+ tokens out/);
    await provider.calls[0]?.closed;
  });

  it('lets no answer command a terminal, and keeps the bytes for a pipe', async () => {
    const received = 'a\u001b]0;title\u0007b\u009b2J\tc\u202ed\n';
    const call = { index: 0, id: 'c', function: { name: received, arguments: '{}' } };
    const records = [piece({ reasoning_content: received }), piece({ content: received })];
    provider.answer = stream([sse(...records, piece({ tool_calls: [call] }, 'tool_calls'))]);
    const tty = 'process.stdout.isTTY=process.stderr.isTTY=true';
    const env = { ...key, NODE_OPTIONS: `--import=data:text/javascript,${tty}` };
    const shown = await millrace(['chat', 'Hi?', ...requesting()], { env });
    expect([shown.code, shown.out]).toEqual([0, 'a]0;titleb2J\tcd\n']);
    expect(shown.err).toContain('\u001b[2ma]0;titleb2J\tcd\n\u001b[22m');
    expect(shown.err).toContain('(calls a]0;titleb2J\tcd');
    for (const bad of ['\u0007', '\u009b', '\u202e', '\u001b]'])
      expect(shown.err).not.toContain(bad);
    const piped = await millrace(['chat', 'Hi?', ...requesting()], { env: key });
    expect([piped.out, piped.err]).toEqual([received, expect.stringContaining(received) as string]);
  });

  it('tells that an answer is cut at its limit', async () => {
    provider.answer = stream([sse(piece({ content: 'Half' }, 'length'))]);
    const shown = await millrace(['chat', 'Hi?', ...requesting(), '--quiet'], { env: key });
    expect([shown.code, shown.out]).toEqual([1, 'Half\n']);
    expect(shown.err).toMatch(/cut off .*\(output_limit_reached\)\n {2}Fix: .+\n$/);
    const reported = await millrace(['chat', 'Hi?', ...requesting(), '--json'], { env: key });
    expect([reported.code, JSON.parse(reported.out)]).toMatchObject([
      1,
      { text: 'Half', finishReason: 'length', error: { code: 'output_limit_reached' } },
    ]);
  });

  it('tells programs which tools the model calls', async () => {
    const call = { index: 0, id: 'c', function: { name: 'f', arguments: '{"a":1}' } };
    provider.answer = stream([sse(piece({ tool_calls: [call] }, 'tool_calls'))]);
    const { code, out } = await millrace(['chat', 'Hi?', ...requesting(), '--json'], { env: key });
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      { text: '', toolCalls: [{ id: 'c', function: { name: 'f', arguments: '{"a":1}' } }] },
    ]);
  });

  it('tells why it failed, without the key', async () => {
    provider.answer = (response) =>
      void response
        .writeHead(401, { 'content-type': 'application/json' })
        .end('{"error":{"message":"bad key sk-secret-1234567890"}}');
    const failed = await millrace(['chat', 'Hi?', ...requesting()], { env: key });
    expect(failed.code).toBe(1);
    expect(failed.err).toContain('(authentication_failed)');
    expect(failed.err).not.toContain('sk-secret');
    const reported = await millrace(['chat', 'Hi?', ...requesting(), '--json'], { env: key });
    expect(reported.code).toBe(1);
    expect(JSON.parse(reported.out)).toMatchObject({ error: { code: 'authentication_failed' } });
  });

  it.each([
    [['chat', 'Hi'], 'No model is configured'],
    [['chat', 'Hi', '--model', 'nonsense'], 'provider:model'],
    [['chat', '-', '--model', 'openai:x'], 'standard input is empty'],
    [['chat', 'Hi', '--temperature', 'hot'], '--temperature'],
    [['chat', '--wrong'], 'wrong'],
    [['chat', 'Hi', '--model', 'nope:x'], 'There is no model provider "nope"'],
    [['models', '--provider', 'nobody'], 'There is no provider'],
  ])('refuses %j', async (args, message) => {
    const { code, err } = await millrace(args);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  it.each([
    [['--model', 'nope:x'], 2, 'unknown_provider'],
    [['--model', 'nonsense'], 2, 'invalid_option'],
    [['--temperature', 'hot'], 2, 'invalid_option'],
    [['--model', 'groq:x'], 2, 'missing_api_key'],
  ])('tells programs what is wrong with %j', async (args, exit, code) => {
    const reported = await millrace(['chat', 'Hi', '--json', ...args]);
    expect(reported.code).toBe(exit);
    expect(JSON.parse(reported.out)).toMatchObject({ error: { code } });
  });

  it('says nothing of usage where nobody was asked', async () => {
    const { code, err } = await millrace(['chat', 'Hi', '--model', 'groq:x']);
    expect(code).toBe(2);
    expect(err).toContain('GROQ_API_KEY');
    expect(err).not.toContain('usage');
  });

  it('knows a provider by another name', async () => {
    const { code, out } = await millrace(['models', '--provider', 'Gemini', '--offline']);
    expect(code).toBe(0);
    expect(out).toContain('google:gemini-');
  });

  it.each(['chat', 'models', 'providers'])('%s explains itself', async (command) => {
    const { code, out } = await millrace([command, '--help']);
    expect([code, out]).toEqual([0, expect.stringContaining(`Usage: millrace ${command}`)]);
  });
});

describe('millrace models and providers', () => {
  it('list what is known', async () => {
    const { out } = await millrace(['models', '--provider', 'anthropic']);
    expect(out).toMatch(/^model +source +context +max output +\$ input/);
    expect(out).toMatch(/^anthropic:claude-haiku-4-5 +built-in +200000 +64000 +1 +0\.1 +5$/m);
    const all = JSON.parse((await millrace(['models', '--json'])).out) as { id: string }[];
    expect(all.map(({ id }) => id)).toContain('gpt-4o-mini');
  });

  it('tell programs what is wrong', async () => {
    const { code, out } = await millrace(['models', '--provider', 'nobody', '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(out)).toMatchObject({ error: { code: 'unknown_provider' } });
  });

  it('asks a provider with a key for its list, and marks what is built in', async () => {
    provider.answer = (response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"object":"list","data":[{"id":"gpt-4o-mini"},{"id":"gpt-99"}]}');
    const env = { ...key, OPENAI_BASE_URL: provider.url };
    const args = ['models', '--provider', 'openai', '--json'];
    const requested = JSON.parse((await millrace(args, { env })).out) as object[];
    expect(requested).toMatchObject([
      {
        provider: 'openai',
        id: 'gpt-4o-mini',
        source: 'vendor',
        pricing: expect.anything() as object,
      },
      { provider: 'openai', id: 'gpt-99', source: 'vendor' },
    ]);
    expect(provider.calls[0]?.headers.authorization).toBe(`Bearer ${key.OPENAI_API_KEY}`);
    const offline = await millrace([...args, '--offline'], { env });
    expect(provider.calls).toHaveLength(1);
    expect(JSON.parse(offline.out)).toContainEqual(
      expect.objectContaining({ id: 'gpt-4o-mini', source: 'built-in' }),
    );
  });

  it('shows the built-in list and the reason when the provider refuses', async () => {
    provider.answer = (response) => void response.writeHead(401).end('{"error":{"message":"no"}}');
    const env = { ...key, OPENAI_BASE_URL: provider.url };
    const { code, out, err } = await millrace(['models', '--provider', 'openai'], { env });
    expect(code).toBe(0);
    expect(out).toMatch(/^openai:gpt-4o-mini +built-in /m);
    expect(err).toContain('openai gave no list');
    expect(err).not.toContain('sk-secret');
  });

  it('tell of each provider whether its key is set', async () => {
    const { out } = await millrace(['providers'], { env: key });
    expect(out).toMatch(/^openai +OpenAI +openai_chat +set /m);
    expect(out).not.toContain('sk-secret');
    const rows = JSON.parse((await millrace(['providers', '--json'])).out) as object[];
    expect(rows.find((row) => (row as { id: string }).id === 'anthropic')).toMatchObject({
      keySet: false,
      dialect: 'anthropic',
    });
  });
});

describe('millrace', () => {
  it.each(['nothing', 'toString', '__proto__', 'constructor'])(
    'knows no command %s',
    async (name) => {
      const { code, out, err } = await millrace([name]);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain(`there is no command '${name}'`);
      expect(err).toContain('Usage: millrace');
    },
  );
});

describe('millrace', () => {
  it.each([
    [['serv'], "there is no command 'serv'. Did you mean 'serve'?"],
    [['version'], "there is no command 'version'. Did you mean '--version'?"],
    [['providers', '--jsno'], "there is no option '--jsno'. Did you mean '--json'?"],
    [['serve', '--prot=1'], "there is no option '--prot'. Did you mean '--port'?"],
    [['chat', '-x'], "there is no option '-x'. --help lists the options."],
  ])('names what is like %j', async (args, message) => {
    const { code, out, err } = await millrace(args);
    expect({ code, out, err }).toEqual({ code: 2, out: '', err: `millrace: ${message}\n` });
  });

  it('ends quietly when its reader has enough', async () => {
    const child = spawn(process.execPath, [main, 'models', '--json']);
    let err = '';
    child.stderr.on('data', (text: Buffer) => (err += text.toString()));
    child.stdout.destroy();
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });

  it('tells the help of a command, and the range of a number', async () => {
    expect((await millrace(['help', 'serve'])).out).toContain('Usage: millrace serve');
    expect(await millrace(['serve', '--max-steps', '-1'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--max-steps must be an integer from 0') as string,
    });
  });

  it('asks what standard input says without its last line end', async () => {
    const args = ['chat', '--model', 'demo:demo', '--quiet', '--json'];
    const { out } = await millrace(args, { input: 'what is up\n' });
    expect(out).not.toContain('what is up\\n');
  });
});
