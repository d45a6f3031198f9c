// millrace secrets: encrypted at rest, used by a server, and of no use without their key.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { bareEnvironment } from '../../support/environment';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const children: ChildProcess[] = [];
const servers: Server[] = [];
const key = 'ab'.repeat(32);
const other = 'cd'.repeat(32);
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-secrets-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const server of servers.splice(0)) server.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Done {
  code: number | null;
  out: string;
  err: string;
}

function secrets(args: string[], env: Record<string, string> = {}, input = ''): Done {
  const done = spawnSync(
    process.execPath,
    [cli, 'secrets', ...args, '--storage', 'file:data/store.db'],
    {
      ...{ encoding: 'utf8', cwd: folder, env: { ...bareEnvironment, ...env }, input },
    },
  );
  return { code: done.status, out: done.stdout, err: done.stderr };
}

const withKey = { MILLRACE_SECRET_KEY: key };

function textOfFiles(): string {
  const data = join(folder, 'data');
  return readdirSync(data)
    .map((name) => readFileSync(join(data, name), 'latin1'))
    .join('\n');
}

/** A provider that notes the keys that it is sent. */
async function provider(): Promise<{ url: string; keys: string[] }> {
  const keys: string[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers.authorization ?? '');
    response.writeHead(500).end('{}');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, keys };
}

interface Running {
  url: string;
  child: ChildProcess;
  line: (text: string) => Promise<void>;
}

async function serve(env: Record<string, string>, ...args: string[]): Promise<Running> {
  const all = ['serve', '--port', '0', '--json', '--storage', 'file:data/store.db', ...args];
  const child = spawn(process.execPath, [cli, ...all], {
    ...{ cwd: folder, env: { ...bareEnvironment, ...env } },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const errors = createInterface({ input: child.stderr });
  const seen: string[] = [];
  errors.on('line', (line) => seen.push(line));
  const [first] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const line = async (text: string): Promise<void> => {
    while (!seen.some((one) => one.includes(text))) await once(errors, 'line');
    seen.splice(0);
  };
  return { ...{ url: (JSON.parse(first) as { url: string }).url }, child, line };
}

async function chat(url: string): Promise<void> {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream: true };
  const response = await fetch(`${url}/webapi/chat/openai`, {
    ...{ method: 'POST', body: JSON.stringify(body) },
    headers: { 'content-type': 'application/json' },
  });
  await response.text();
}

describe('millrace secrets', () => {
  it('stores nothing without a key, and names what to do', () => {
    const { code, err } = secrets(['set', 'openai'], {}, 'planted-secret');
    expect(code).toBe(2);
    expect(err).toContain('set MILLRACE_SECRET_KEY to the output of openssl rand -hex 32');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('lists names and removes, and no file of the store has the value', () => {
    expect(secrets(['set', 'openai'], withKey, 'planted-secret\n').code).toBe(0);
    expect(secrets(['set', 'bedrock', 'secret_access_key'], withKey, 'planted-secret').code).toBe(
      0,
    );
    expect(textOfFiles()).not.toContain('planted-secret');
    expect(textOfFiles()).not.toContain(
      Buffer.from('planted-secret').toString('base64').slice(0, 12),
    );
    expect(statSync(join(folder, 'data/store.db.secrets')).mode & 0o777).toBe(0o600);
    const { out } = secrets(['list']);
    expect(out).toMatch(/openai\.api_key +\d{4}-/);
    expect(out).not.toContain('planted');
    expect(secrets(['remove', 'openai']).code).toBe(0);
    expect(secrets(['list', '--json']).out).not.toContain('openai');
    expect(secrets(['remove', 'openai'])).toMatchObject({ code: 2 });
  });

  it('takes the key of a file that others cannot read, outside the folder of the store', () => {
    const file = join(folder, 'secret.key');
    expect(secrets(['key', file]).code).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(secrets(['set', 'openai', '--secret-key-file', file], {}, 'a').code).toBe(0);
    chmodSync(file, 0o640);
    expect(secrets(['set', 'openai', '--secret-key-file', file], {}, 'a').err).toContain(
      'chmod 600',
    );
    const inside = join(folder, 'data/secret.key');
    writeFileSync(inside, `${key}\n`, { mode: 0o600 });
    expect(secrets(['set', 'openai', '--secret-key-file', inside], {}, 'a').err).toContain(
      'Keep the key elsewhere',
    );
    expect(secrets(['set', 'openai'], { MILLRACE_SECRET_KEY: 'short' }, 'a').err).toContain(
      'must be 32 random bytes',
    );
  });

  it('rejects another key, and a value that was changed or moved', async () => {
    secrets(['set', 'openai'], withKey, 'planted-secret');
    secrets(['set', 'anthropic'], withKey, 'another');
    const wrong = secrets(['set', 'openai'], { MILLRACE_SECRET_KEY: other }, 'b');
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.err).toContain('were encrypted with another key');
    const file = join(folder, 'data/store.db.secrets');
    const read = JSON.parse(readFileSync(file, 'utf8')) as {
      secrets: Record<string, { sealed: string }>;
    };
    const { 'openai.api_key': a, 'anthropic.api_key': b } = read.secrets;
    writeFileSync(
      file,
      JSON.stringify({ ...read, secrets: { 'openai.api_key': b, 'anthropic.api_key': a } }),
    );
    const child = spawn(
      ...[process.execPath, [cli, 'serve', '--port', '0', '--storage', 'file:data/store.db']],
      { cwd: folder, env: { ...bareEnvironment, ...withKey }, stdio: 'pipe' },
    );
    children.push(child);
    let text = '';
    child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
    expect(await once(child, 'close')).toEqual([2, null]);
    expect(text).toContain('was changed, and cannot be decrypted');
    expect(text).not.toContain('another\n');
  });

  it('encrypts all of them under a new key', () => {
    secrets(['set', 'openai'], withKey, 'planted-secret');
    secrets(['set', 'anthropic'], withKey, 'another');
    const before = textOfFiles();
    const env = { ...withKey, MILLRACE_NEW_SECRET_KEY: other };
    expect(secrets(['rotate'], { ...env, MILLRACE_SECRET_KEY: 'ef'.repeat(32) }).code).toBe(2);
    expect(textOfFiles()).toBe(before);
    expect(secrets(['rotate'], env).out).toContain('2 secrets are encrypted');
    expect(secrets(['set', 'groq'], withKey, 'x').code).toBe(2);
    expect(secrets(['set', 'groq'], { MILLRACE_SECRET_KEY: other }, 'x').code).toBe(0);
    expect(secrets(['list']).out).toContain('openai.api_key');
  });
});

describe('millrace serve', () => {
  it('uses stored secrets, and takes new ones while it runs', async () => {
    const { url: address, keys } = await provider();
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'millrace.toml'), `[providers.openai]\nbase_url = "${address}"\n`);
    secrets(['set', 'openai'], withKey, 'planted-one');
    const { url, line } = await serve(withKey);
    await chat(url);
    expect(keys.at(-1)).toBe('Bearer planted-one');
    secrets(['set', 'openai'], withKey, 'planted-two');
    await line('Changed: secrets.');
    await chat(url);
    expect(keys.at(-1)).toBe('Bearer planted-two');
    expect(textOfFiles()).not.toMatch(/planted-(one|two)/);
  });

  it('does not start where it has no key for them', async () => {
    secrets(['set', 'openai'], withKey, 'planted-one');
    const child = spawn(
      ...[process.execPath, [cli, 'serve', '--port', '0', '--storage', 'file:data/store.db']],
      { cwd: folder, env: { ...bareEnvironment }, stdio: 'pipe' },
    );
    children.push(child);
    let text = '';
    child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
    expect(await once(child, 'close')).toEqual([2, null]);
    expect(text).toContain('there is no key for them: set MILLRACE_SECRET_KEY');
  });
});
