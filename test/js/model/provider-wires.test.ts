// Every provider of the table over real HTTP: its request as it is written down, one streamed answer with a
// call, one with thoughts, an object and a failure. What passes is written to
// test/golden/model/provider-wires.json (MILLRACE_WRITE_GOLDEN=1), which docs/providers.md is made of.
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { ChatMessage, ModelRuntime } from 'millrace';
import { MillraceError, createModelRuntime } from 'millrace';

import { addon } from '../../../dist/cjs/addon';
import { contentOf } from '../../support/events';
import type { Event } from '../../support/events';
import type { Call, Provider } from '../../support/provider';
import { startProvider } from '../../support/provider';
import type { ScriptedAnswer, VendorAnswer } from '../../support/vendor-answers';
import { reasoningSpellings, vendorAnswer, vendorFailure } from '../../support/vendor-answers';

interface Row {
  id: string;
  baseURL: string;
  dialect: string;
  wire: string;
  auth: string;
  models: string[];
  quirks: string[];
  chat: boolean;
}

interface Golden {
  method: string;
  path: string;
  headers: [string, string][];
  body: Record<string, unknown>;
}

const golden = join(__dirname, '../../golden');
const cellsFile = join(golden, 'model/provider-wires.json');
const settings = JSON.parse(readFileSync(join(golden, 'model/settings.json'), 'utf8')) as Record<
  string,
  Record<string, string>
>;
const rows = (JSON.parse(addon().providers()) as Row[]).filter(({ dialect }) => dialect !== 'none');
const requests = readRequests();
// What each provider was shown to do.
const cells: Record<string, Record<string, boolean>> = Object.fromEntries(
  rows.map(({ id }) => [
    id,
    { chat: false, tools: false, vision: false, reasoning: false, generateObject: false },
  ]),
);

// The requests that a test of the engine writes down.
function readRequests(): Map<string, Golden> {
  const found = new Map<string, Golden>();
  for (const name of readdirSync(join(golden, 'requests'))) {
    const text = readFileSync(join(golden, 'requests', name), 'utf8');
    for (const [, id = '', request = ''] of text.matchAll(
      /^## (\S+)\n\n```request\n([\s\S]*?)^```/gm,
    )) {
      const [head = '', body = ''] = request.split('\n\n');
      const [first = '', ...headers] = head.split('\n');
      const [method = '', url = ''] = first.split(' ');
      if (!url.startsWith('http')) continue;
      const { pathname, search } = new URL(url);
      found.set(id, {
        method,
        path: pathname + search,
        headers: headers.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]),
        body: membersOf(body),
      });
    }
  }
  return found;
}

function membersOf(lines: string): Record<string, unknown> {
  const members = lines.split('\n').filter((line) => line.startsWith('"'));
  return JSON.parse(`{${members.join(',')}}`) as Record<string, unknown>;
}

const pixel = JSON.stringify([...(requests.get('anthropic')!.body['messages'] as object[])]).match(
  /"data":"([^"]+)"/,
)?.[1];

let fake: Provider;
let answer: (call: Call) => VendorAnswer & { status?: number; headers?: object };

beforeAll(async () => {
  fake = await startProvider((response, call) => {
    const { status = 200, type, headers, body } = answer(call);
    response.writeHead(status, { 'content-type': type, ...headers }).end(body);
  });
});
afterAll(async () => {
  await fake.close();
  const text = `${JSON.stringify(cells, null, 2)}\n`;
  if (process.env['MILLRACE_WRITE_GOLDEN'] !== undefined) writeFileSync(cellsFile, text);
  const known = existsSync(cellsFile) ? readFileSync(cellsFile, 'utf8') : '';
  // A run of a part of the tests shows a part.
  if (Object.values(cells).every(({ chat }) => chat)) expect(text).toBe(known);
});
beforeEach(() => {
  fake.calls.length = 0;
});

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});
const account = {
  type: 'service_account',
  client_email: 'me@example.com',
  private_key: privateKey,
  token_uri: 'https://token.example/token',
};

// Tokens come from addresses with TLS, which the fake has not.
const withToken: typeof fetch = async (url, init) => {
  const address = url instanceof Request ? url.url : url.toString();
  if (address.startsWith(fake.url)) return fetch(url, init);
  if (address.startsWith('https://token.example/')) {
    return Response.json({ access_token: 'test-token', expires_in: 3600 });
  }
  if (address.startsWith('https://api.github.com/')) return Response.json({ token: 'test-token' });
  throw new Error(`nobody is at ${address}`);
};

// The path of the vendor's own address, with the settings of the test.
function pathOf(baseURL: string): string {
  const values: Record<string, string> = { project: 'test-project', account: 'test-account' };
  const expanded = baseURL.replace(
    /\{(\w+)(?::([^}]*))?\}/g,
    (_, name: string, usual: string | undefined) => values[name] ?? usual ?? name,
  );
  return expanded.replace(/^https?:\/\/[^/]*/, '');
}

function runtimeOf({ id, baseURL, auth }: Row): ModelRuntime {
  const proof =
    auth === 'aws_sigv4'
      ? { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'test-secret' }
      : auth === 'vertex'
        ? { credentials: account }
        : { apiKey: 'test-key' };
  return createModelRuntime(id, {
    ...proof,
    baseURL: fake.url + pathOf(baseURL),
    project: 'test-project',
    accountId: 'test-account',
    maxRetries: 0,
    circuit: false,
    ...(auth === 'vertex' || auth === 'copilot' ? { fetch: withToken } : {}),
  });
}

const modelOf = ({ models }: Row): string => models[0] ?? 'test-model';

const wireOf = ({ wire, quirks }: Row): string =>
  quirks.includes('responses_first') ? 'openai_responses' : wire;

const say =
  (row: Row, received: ScriptedAnswer, wire = wireOf(row)) =>
  ({ body }: Call): VendorAnswer => {
    const streamed = (JSON.parse(body) as { stream?: boolean }).stream !== false;
    const spelling = reasoningSpellings[row.id] ?? 'reasoning_content';
    return vendorAnswer(wire, received, { streamed, spelling });
  };

async function contentFrom(runtime: ModelRuntime, payload: object) {
  const events: Event[] = [];
  for await (const event of runtime.stream(payload as never)) events.push(event as never);
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  return contentOf(events);
}

const sent = (): Record<string, unknown> =>
  JSON.parse(fake.calls.at(-1)?.body ?? '{}') as Record<string, unknown>;

const question: ChatMessage[] = [
  { role: 'system', content: 'Answer briefly.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
    ],
  },
];
const tools = [
  {
    type: 'function',
    function: {
      name: 'look_up',
      description: 'Looks a word up.',
      parameters: {
        type: 'object',
        properties: { word: { type: 'string' } },
        required: ['word'],
      },
    },
  },
];
const rest = { tool_choice: 'auto', temperature: 0.5, max_tokens: 256, user: 'u1' };

function takes(row: Row, quirk: string): boolean {
  return !row.quirks.includes(quirk);
}

describe.each(rows.map((row) => [row.id, row] as const))('%s', (id, row) => {
  const cell = cells[id] as Record<string, boolean>;

  it('gets the request that is written down, and its answer with a call is read', async () => {
    const word = { word: 'millrace \u00e9' };
    const withTools = takes(row, 'no_tools');
    const withImage = takes(row, 'no_images');
    const received = withTools
      ? { call: { name: 'look_up', arguments: word } }
      : { text: 'A dot.' };
    answer = say(row, received);
    const [system, user] = question;
    const plain = { ...user, content: (user?.content as object[]).slice(0, 1) };
    const content = await contentFrom(runtimeOf(row), {
      model: modelOf(row),
      messages: withImage ? question : [system, plain],
      tools,
      ...rest,
    });
    expect(content.calls.map(({ name, args }) => [name, JSON.parse(args) as unknown])).toEqual(
      withTools ? [['look_up', word]] : [],
    );
    const [call] = fake.calls;
    const wanted = requests.get(id) as Golden;
    expect(call?.method).toBe(wanted.method);
    expect(call?.url).toBe(wanted.path);
    for (const [name, value] of wanted.headers) {
      const signed = row.auth === 'aws_sigv4' && /^(authorization|x-amz-date)$/i.test(name);
      const got = call?.headers[name.toLowerCase()];
      if (signed) expect(got).toMatch(/^(AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/|\d{8}T\d{6}Z$)/);
      else expect([name, got]).toEqual([name, value]);
    }
    expect(JSON.parse(call?.body ?? '')).toEqual(wanted.body);
    const body = JSON.stringify(wanted.body);
    cell['chat'] = true;
    cell['tools'] = withTools && body.includes('look_up');
    cell['vision'] = withImage && body.includes(pixel as string);
  });

  it('reads its answer with a text, streamed and not', async () => {
    answer = say(row, { text: 'Gr\u00fcn.' });
    for (const stream of [true, false]) {
      const content = await contentFrom(runtimeOf(row), {
        model: modelOf(row),
        messages: [{ role: 'user', content: 'Hi' }],
        stream,
      });
      expect(content.text).toBe('Gr\u00fcn.');
    }
  });

  if (!takes(row, 'no_images')) {
    it('refuses an image before anything is sent', async () => {
      const failed = runtimeOf(row)
        .stream({ model: modelOf(row), messages: question })
        .text();
      await expect(failed).rejects.toMatchObject({ errorType: 'CapabilityNotSupported' });
      expect(fake.calls).toHaveLength(0);
    });
  }

  const change = settings[id] ?? {};
  const isSent = (text = ''): boolean => !/^($|refused$|note )/.test(text);
  const switches = [
    ['on', { thinking: { type: 'enabled', budget_tokens: 2048 } }, wireOf(row)],
    ['off', { thinking: { type: 'disabled' } }, wireOf(row)],
    ['responses', { reasoning_effort: 'low', apiMode: 'responses' }, 'openai_responses'],
  ] as const;
  const known = switches.filter(([name]) => isSent(change[name]));

  if (known.length > 0) {
    it.each(known)(
      'sends its switch for reasoning (%s) and reads thoughts',
      async (name, more, wire) => {
        const received = { ...(name === 'off' ? {} : { thought: 'Hm.' }), text: 'Blue.' };
        answer = say(row, received, wire);
        const content = await contentFrom(runtimeOf(row), {
          model: modelOf(row),
          messages: [{ role: 'user', content: 'Hi' }],
          ...more,
        });
        expect(content.text).toBe('Blue.');
        expect(content.reasoning).toBe(received.thought ?? '');
        for (const part of (change[name] ?? '').split(' | ')) {
          const [, member, value] = /^(\w+): (.*)$/.exec(part) ?? [];
          if (member === undefined || member === 'note') continue;
          expect({ [member]: sent()[member] }).toEqual({
            [member]: JSON.parse(value ?? '') as unknown,
          });
        }
        cell['reasoning'] = true;
      },
    );
  }

  if (isSent(change['object'])) {
    it('asks for an object and reads it', async () => {
      const wanted = { a: 'b' };
      answer = (call) => {
        const { tools: offered, toolConfig } = JSON.parse(call.body) as Record<string, unknown>;
        const asTool = JSON.stringify(offered ?? toolConfig ?? '').includes('"answer"');
        const received = asTool
          ? { call: { name: 'answer', arguments: wanted } }
          : { text: JSON.stringify(wanted) };
        return say(row, received)(call);
      };
      const schema = {
        type: 'object',
        properties: { a: { type: 'string' } },
        required: ['a'],
      };
      const object = await runtimeOf(row).generateObject({
        model: modelOf(row),
        messages: [{ role: 'user', content: 'Hi' }],
        schema,
      });
      expect(object).toEqual(wanted);
      expect(fake.calls).toHaveLength(1);
      for (const part of (change['object'] ?? '').split(' | ')) {
        const [, member, value] = /^(\w+): (.*)$/.exec(part) ?? [];
        if (member === undefined || member === 'note' || member === 'messages') continue;
        expect({ [member]: sent()[member] }).toEqual({
          [member]: JSON.parse(value ?? '') as unknown,
        });
      }
      cell['generateObject'] = true;
    });
  }

  it('tells its failure in its own words', async () => {
    const { status, body, headers = {}, code } = vendorFailure(id, row.wire);
    answer = () => ({ status, headers, type: 'application/json', body: JSON.stringify(body) });
    const failed = runtimeOf(row)
      .stream({ model: modelOf(row), messages: [{ role: 'user', content: 'Hi' }] })
      .text();
    const error: unknown = await failed.catch((thrown: unknown) => thrown);
    if (!MillraceError.is(error)) throw new Error(`no error: ${String(error)}`);
    expect([id, error.code]).toEqual([id, code]);
    expect(error.provider).toBe(id);
    expect(error.error).toBeDefined();
  });
});
