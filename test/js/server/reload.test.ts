// A running server and its millrace.toml: what counts at once, what needs a restart, and files that are wrong.
// Begins first: it waits for a server that looks at its files again and again.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { bareEnvironment } from '../../support/environment';
import { beginConfig, type BegunConfig, followConfig } from '../../../dist/cjs/cli/serve-reload';
import { servePlan } from '../../../dist/cjs/cli/serve-options';
import type { ServerOptions } from '../../../dist/cjs/server';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const children: ChildProcess[] = [];
let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-reload-'));
  file = join(folder, 'millrace.toml');
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

interface Running {
  url: string;
  child: ChildProcess;
  /** Waits for the next line on standard error that has this text. */
  line: (text: string) => Promise<string>;
}

async function serve(...args: string[]): Promise<Running> {
  const child = spawn(process.execPath, [cli, 'serve', '--port', '0', '--json', ...args], {
    ...{ cwd: folder, env: { ...bareEnvironment } },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const errors = createInterface({ input: child.stderr });
  const seen: string[] = [];
  errors.on('line', (line) => seen.push(line));
  const [first] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { url } = JSON.parse(first) as { url: string };
  const line = async (text: string): Promise<string> => {
    for (;;) {
      const at = seen.findIndex((one) => one.includes(text));
      if (at >= 0) return seen.splice(0, at + 1).at(-1) ?? '';
      await once(errors, 'line');
    }
  };
  return { url, child, line };
}

// Whole or not at all, as editors write.
function write(text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

async function statusOf(url: string, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(url, { headers });
  await response.text();
  return response.status;
}

const stored = '[storage]\nlocation = "file:store.db"\n';
const keyed = (key: string, more = ''): string =>
  `${stored}[[api.keys]]\nname = "app"\nkey = "${key}"\n${more}`;

describe('a file that changes', () => {
  it('brings and revokes keys, with their scopes and limits', async () => {
    write(keyed('one'));
    const { url, line } = await serve();
    const history = `${url}/api/v1/chat/history`;
    expect(await statusOf(history)).toBe(401);
    expect(await statusOf(history, { 'x-millrace-api-key': 'one' })).toBe(200);
    write(keyed('two', 'scopes = ["chat"]\n'));
    expect(await line('The configuration was read again.')).toContain('Changed: api.keys.');
    expect(await statusOf(history, { 'x-millrace-api-key': 'one' })).toBe(401);
    expect(await statusOf(history, { 'x-millrace-api-key': 'two' })).toBe(403);
    write(keyed('two', 'per_minute = 1\n'));
    await line('The configuration was read again.');
    expect(await statusOf(history, { 'x-millrace-api-key': 'two' })).toBe(200);
    expect(await statusOf(history, { 'x-millrace-api-key': 'two' })).toBe(429);
  });

  it('turns the page, the document, origins and the access log on and off', async () => {
    write(stored);
    const { url, line } = await serve();
    const cors = async (): Promise<string | null> => {
      const headers = { origin: 'https://app.example' };
      const response = await fetch(`${url}/health`, { headers });
      await response.text();
      return response.headers.get('access-control-allow-origin');
    };
    expect(await statusOf(`${url}/`)).toBe(200);
    expect(await statusOf(`${url}/openapi.json`)).toBe(200);
    expect(await cors()).toBeNull();
    write(`[api]
page = false
openapi_enabled = false
allowed_origins = ["https://app.example"]
access_log = "access.log"
trusted_proxies = ["127.0.0.1"]
${stored}`);
    await line(
      'Changed: api.allowed_origins, api.trusted_proxies, api.access_log, api.page, api.openapi',
    );
    expect(await statusOf(`${url}/`, { 'x-forwarded-for': '203.0.113.9' })).toBe(404);
    expect(await statusOf(`${url}/openapi.json`)).toBe(404);
    expect(await cors()).toBe('https://app.example');
    write(stored);
    await line('The configuration was read again.');
    expect(await statusOf(`${url}/`)).toBe(200);
    const lines = readFileSync(join(folder, 'access.log'), 'utf8').trim().split('\n');
    expect(lines.map((one) => JSON.parse(one) as object)).toMatchObject([
      { path: '/', status: 404, address: '203.0.113.9' },
      { path: '/openapi.json' },
      { path: '/health' },
    ]);
  });

  it('chooses another model and other instructions for the runs to come', async () => {
    write('[model]\nname = "demo:one"\n');
    const { url, line } = await serve();
    const ask = async (): Promise<string> => {
      const body = { threadId: 't', messages: [{ id: 'm', role: 'user', content: 'Hello' }] };
      const response = await fetch(`${url}/agent`, {
        ...{ method: 'POST', body: JSON.stringify(body) },
        headers: { 'content-type': 'application/json' },
      });
      return response.text();
    };
    expect(await ask()).toContain('[demo]');
    write('[model]\nname = "openai:m"\napi_key = "k"\nbase_url = "http://127.0.0.1:9/v1"\n');
    await line('Changed: model.name, model.base_url, model.api_key.');
    expect(await ask()).toContain('RUN_ERROR');
    write('[agent]\nmax_steps = 3\n');
    await line('The configuration was read again.');
    expect(await ask()).toContain('[demo]');
  });

  it('reports what needs a restart, and SIGHUP reads at once', async () => {
    write(stored);
    const { child, line } = await serve();
    write('[api]\nhost = "127.0.0.2"\n[storage]\nlocation = "file:other.db"\n');
    expect(await line('The configuration was read again.')).toContain(
      'Needs a restart: api.host, storage.location.',
    );
    write(stored);
    await line('The configuration was read again.');
    child.kill('SIGHUP');
    expect(await line('The configuration was read again.')).toContain('No setting differs.');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

describe('a file that changes while it is read', () => {
  const served = (): BegunConfig & { plan: ServerOptions } => {
    const begun = beginConfig({ config: file }, {});
    return { ...begun, plan: servePlan(begun.config, {}).options };
  };

  it('is read again: while a server starts, and while it changes', async () => {
    const model = (name: string): string => `[model]\nname = "demo:${name}"\n`;
    write(model('one'));
    const begun = served();
    write(model('two'));
    const seen: (string | undefined)[] = [];
    const done = new EventEmitter();
    const change = (options: ServerOptions): void => {
      seen.push(options.model);
      if (seen.length === 1) write(model('three'));
      else done.emit('second');
    };
    const given = { options: { config: file }, env: {} };
    const followed = followConfig({ change }, begun, given, () => undefined);
    await once(done, 'second');
    followed.stop();
    expect(seen).toEqual(['demo:two', 'demo:three']);
  });

  it('is not read before two looks have found it the same', () => {
    jest.useFakeTimers();
    try {
      write('[model]\nname = "demo:one"\n');
      const seen: (string | undefined)[] = [];
      const change = ({ model }: ServerOptions): void => void seen.push(model);
      const given = { options: { config: file }, env: {} };
      const followed = followConfig({ change }, served(), given, () => undefined);
      writeFileSync(file, '');
      process.emit('SIGHUP');
      jest.advanceTimersByTime(500);
      writeFileSync(file, '[model]\nname = "demo:second"\n');
      jest.advanceTimersByTime(500);
      expect(seen).toEqual([]);
      jest.advanceTimersByTime(500);
      followed.stop();
      expect(seen).toEqual(['demo:second']);
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('a file of keys that is gone', () => {
  const named = `${stored}[api]\nkeys_file = "keys.json"\n`;
  it.each([
    ['of millrace keys', named, 'keys.json', []],
    ['of the key that the server made', stored, 'store.db.key', ['--host', '0.0.0.0']],
  ])('is named, and counts again when it is back: %s', async (_what, text, name, args) => {
    const keys = join(folder, name);
    write(text);
    if (args.length === 0) {
      const made = spawnSync(process.execPath, [cli, 'keys', 'create', 'app', '--keys', keys]);
      expect(made.status).toBe(0);
    }
    const { url, line } = await serve(...args);
    const history = `${url.replace('0.0.0.0', '127.0.0.1')}/api/v1/chat/history`;
    expect(await statusOf(history)).toBe(401);
    renameSync(keys, `${keys}.away`);
    const gone = await line('The configuration stays as it was');
    expect(gone).toContain(`${name} is gone`);
    write(`${text}#\n`);
    expect(await line('The configuration stays as it was')).toContain(`${name} is gone`);
    expect(await statusOf(history)).toBe(401);
    expect(existsSync(join(folder, 'store.db.key'))).toBe(false);
    renameSync(`${keys}.away`, keys);
    await line('The configuration was read again.');
    expect(await statusOf(history)).toBe(401);
  });
});

describe('a file that is wrong', () => {
  it('does not open a server that needs a key', async () => {
    write(keyed('one'));
    const { url, line } = await serve();
    const history = `${url}/api/v1/chat/history`;
    for (const text of ['', stored]) {
      write(text);
      expect(await line('The configuration stays as it was')).toContain('needs a restart');
      expect(await statusOf(history)).toBe(401);
      expect(await statusOf(history, { 'x-millrace-api-key': 'one' })).toBe(200);
    }
  });

  it.each([
    ['no TOML', '[api\n', ':2:1: '],
    [
      'an unknown setting',
      `${keyed('two')}[api]\nprot = 1\n`,
      "called 'prot'. Did you mean 'port'",
    ],
    ['a wrong type', `[api]\npage = 1\n${keyed('two')}`, ':2:8: api.page must be true or false'],
    [
      'what the engine rejects',
      `[api]\ntrusted_proxies = ["nonsense"]\n${keyed('two')}`,
      'trustedProxies',
    ],
    [
      'an access log that cannot be opened',
      `[api]\naccess_log = "no/log"\n${keyed('two')}`,
      'access log',
    ],
    ['an origin that is none', `[api]\nallowed_origins = ["x"]\n${keyed('two')}`, 'allowed origin'],
    ['a model that is none', `[model]\nname = "x"\n${keyed('two')}`, 'The configuration stays'],
  ])('changes nothing: %s', async (_what, text, reason) => {
    write(keyed('one'));
    const { url, line } = await serve();
    const history = `${url}/api/v1/chat/history`;
    write(text);
    expect(await line('The configuration stays as it was')).toContain(reason);
    expect(await statusOf(history, { 'x-millrace-api-key': 'one' })).toBe(200);
    expect(await statusOf(history, { 'x-millrace-api-key': 'two' })).toBe(401);
    write(keyed('two'));
    await line('The configuration was read again.');
    expect(await statusOf(history, { 'x-millrace-api-key': 'two' })).toBe(200);
  });

  it('does not start a server', async () => {
    write('[api]\nport = "x"\n');
    const child = spawn(process.execPath, [cli, 'serve'], { cwd: folder, stdio: 'pipe' });
    children.push(child);
    let text = '';
    child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
    expect(await once(child, 'close')).toEqual([2, null]);
    expect(text).toContain('millrace.toml:2:8: api.port must be an integer');
  });
});
