// millrace config and millrace.toml: what a file means, what is wrong with it, and what counts more.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { bareEnvironment } from '../../support/environment';
import { ConfigError, parseConfig } from '../../../dist/cjs/cli/config-file';
import { configOf } from '../../../dist/cjs/cli/config-reader';
import { settings } from '../../../dist/cjs/cli/config-settings';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-config-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function millrace(
  args: string[],
  env: Record<string, string> = {},
): {
  code: number | null;
  out: string;
  err: string;
} {
  const done = spawnSync(process.execPath, [cli, 'config', ...args], {
    ...{ encoding: 'utf8', cwd: folder, env: { ...bareEnvironment, ...env } },
  });
  return { code: done.status, out: done.stdout, err: done.stderr };
}

function write(text: string): void {
  writeFileSync(join(folder, 'millrace.toml'), text);
}

interface Row {
  setting: string;
  value: unknown;
  source: string;
}

function shown(args: string[] = [], env: Record<string, string> = {}): Map<string, Row> {
  const { code, out, err } = millrace(['show', '--json', ...args], env);
  if (code !== 0) throw new Error(out + err);
  const { settings: rows } = JSON.parse(out) as { settings: Row[] };
  return new Map(rows.map((row) => [row.setting, row]));
}

function problemsOf(text: string): string[] {
  try {
    configOf(parseConfig(text, 'f.toml'), 'f.toml');
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n');
  }
}

describe('what counts', () => {
  it('is the option, then the environment, then the file, then the default', () => {
    write(
      '[api]\nport = 1\nhost = "localhost"\n[agent]\nmax_steps = 5\n[model]\nname = "demo:file"\n',
    );
    const env = {
      MILLRACE_API_HOST: '127.0.0.2',
      MILLRACE_MODEL: 'demo:env',
      MILLRACE_API_PORT: '2',
    };
    const rows = shown(['--port', '3'], env);
    expect(rows.get('api.port')).toMatchObject({ value: 3, source: 'option' });
    expect(rows.get('api.host')).toMatchObject({ value: '127.0.0.2', source: 'environment' });
    expect(rows.get('model.name')).toMatchObject({ value: 'demo:env', source: 'environment' });
    expect(rows.get('agent.max_steps')).toMatchObject({ value: 5, source: 'file' });
    expect(rows.get('model.max_output_tokens')).toMatchObject({ value: 4096, source: 'default' });
  });

  it('takes lists and switches from each place', () => {
    write('[api]\nallowed_hosts = ["a", "b"]\npage = false\n');
    expect(shown().get('api.allowed_hosts')?.value).toEqual(['a', 'b']);
    expect(shown().get('api.page')?.value).toBe(false);
    expect(shown([], { MILLRACE_API_PAGE: 'on' }).get('api.page')?.value).toBe(true);
    expect(
      shown([], { MILLRACE_API_ALLOWED_HOSTS: 'c, d' }).get('api.allowed_hosts')?.value,
    ).toEqual(['c', 'd']);
    expect(shown(['--allow-host', 'e']).get('api.allowed_hosts')?.value).toEqual(['e']);
  });

  it('finds its file by the option, the variable and the folder', () => {
    writeFileSync(join(folder, 'a.toml'), '[api]\nport = 10\n');
    writeFileSync(join(folder, 'b.toml'), '[api]\nport = 11\n');
    write('[api]\nport = 12\n');
    expect(
      shown(['--config', 'a.toml'], { MILLRACE_CONFIG: 'b.toml' }).get('api.port')?.value,
    ).toBe(10);
    expect(shown([], { MILLRACE_CONFIG: 'b.toml' }).get('api.port')?.value).toBe(11);
    expect(shown().get('api.port')?.value).toBe(12);
    expect(shown(['--config', 'off']).get('api.port')?.value).toBe(8788);
    expect(millrace(['show', '--config', 'none.toml'])).toMatchObject({
      ...{ code: 2, err: expect.stringContaining('cannot be read') as string },
    });
  });
});

describe('millrace config show', () => {
  it('masks each secret', () => {
    const secrets = ['auth-1', 'model-2', 'provider-3', 'named-4', 'user-5', 'whsec_6'];
    write(`[api]
auth_key = "auth-1"
webhook_secrets = ["whsec_6"]
[[api.keys]]
name = "app"
key = "named-4"
[model]
api_key = "model-2"
base_url = "https://user-5:pass@example.com/v1"
[providers.openai]
api_key = "provider-3"
base_url = "https://example.com/v1"
`);
    for (const format of [[], ['--json']]) {
      const { code, out, err } = millrace(['show', ...format]);
      expect(code).toBe(0);
      for (const secret of secrets) expect(out + err).not.toContain(secret);
      expect(out).toContain('providers.openai.api_key');
      expect(out).toContain('app of local');
    }
  });

  it('names the variable that a value comes from', () => {
    expect(millrace(['show'], { MILLRACE_API_PORT: '99' }).out).toMatch(
      /api\.port +99 +environment MILLRACE_API_PORT/,
    );
  });
});

describe('the file of the documentation', () => {
  it('is right, and has every setting', () => {
    const docs = readFileSync(join(__dirname, '../../../docs/serve.md'), 'utf8');
    const [, text = ''] = /```toml\n(.*?)```/su.exec(docs) ?? [];
    const { values, keys } = configOf(parseConfig(text, 'f'), 'f');
    expect([...values.keys()].sort()).toEqual(settings.map(({ name }) => name).sort());
    expect(keys).toHaveLength(1);
  });
});

describe('what is wrong', () => {
  it.each([
    ['[api\n', 'f.toml:2:1: Unterminated'],
    [
      '[api]\nprot = 1\n',
      "f.toml:2:1: There is no setting in [api] called 'prot'. Did you mean 'port'?",
    ],
    ['[apy]\n', "f.toml:1:2: There is no table called 'apy'."],
    ['port = 1\n', "f.toml:1:1: There is no table called 'port'."],
    [
      '[api]\n port = "x"\n',
      'f.toml:2:9: api.port must be an integer from 0 to 65535, not a string.',
    ],
    [
      '[api]\nport = 65536\n',
      'f.toml:2:8: api.port must be an integer from 0 to 65535, not 65536.',
    ],
    ['[api]\nport = 99999999999999999999\n', 'api.port must be an integer from 0 to 65535'],
    ['[api]\nport = 1.0\n', 'api.port must be an integer from 0 to 65535, not a float.'],
    ['[api]\nhost = 2026-01-01\n', 'api.host must be a string, not '],
    ['[api]\npage = "no"\n', 'f.toml:2:8: api.page must be true or false, not a string.'],
    [
      '[api]\nallowed_hosts = "a"\n',
      'api.allowed_hosts must be an array of strings, not a string.',
    ],
    [
      '[api]\nallowed_hosts = ["a", 1]\n',
      'api.allowed_hosts must be an array of strings, not an array.',
    ],
    [
      '[storage]\non_disconnect = "end"\n',
      'storage.on_disconnect must be "continue" or "stop", not a string.',
    ],
    [
      '[storage]\napproval_timeout_seconds = 0\n',
      'storage.approval_timeout_seconds must be an integer from 1 to 315360000, not 0.',
    ],
    ['api = 1\n', 'f.toml:1:7: [api] must be a table, not an integer.'],
    ['[api]\nkeys = ["a"]\n', 'each of api.keys must be a table, not a string.'],
    ['[[api.keys]]\nname = "a"\n', 'f.toml:1:3: Each of api.keys needs a key, or its sha256'],
    [
      '[[api.keys]]\nkey = "a"\nscopes = ["all"]\n',
      'scopes of api.keys must be one or more of read,',
    ],
    ['[[api.keys]]\nkey = "a"\nscope = "read"\n', "called 'scope'. Did you mean 'scopes'?"],
    ['[providers.nobody]\n', "f.toml:1:2: There is no provider 'nobody'"],
    ['[providers.openai]\nbase_ulr = "x"\n', "called 'base_ulr'. Did you mean 'base_url'?"],
    ['[api]\nport = 1\nport = 2\n', 'f.toml:3:1: '],
    ['__proto__ = 1\n', "There is no table called '__proto__'"],
    ['[api]\nconstructor = 1\n', "There is no setting in [api] called 'constructor'"],
  ])('%j', (text, wanted) => {
    expect(problemsOf(text).join('\n')).toContain(wanted);
  });

  it('is reported at once, all of it', () => {
    expect(problemsOf('[api]\nport = "x"\nprot = 1\n[storage]\nwait_seconds = -1\n')).toHaveLength(
      3,
    );
  });

  it('never shows a value', () => {
    const text = '[api]\nauth_key = ["secret-1"]\n[model]\napi_key = { a = "secret-2" }\n';
    expect(problemsOf(text).join('\n')).not.toMatch(/secret-\d/);
  });

  it('has places and a code in JSON, and exit code 2', () => {
    write('[api]\nport = "x"\n');
    const { code, out } = millrace(['check', '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      error: { code: 'invalid_option', problems: [{ line: 2, column: 8 }] },
    });
  });

  it('is also what the engine does not take, and nothing is written', () => {
    write(
      '[storage]\nlocation = "file:s.db"\n[api]\nhost = "0.0.0.0"\n[model]\nname = "demo:demo"\n',
    );
    expect(millrace(['check']).code).toBe(0);
    expect(readdirSync(folder)).toEqual(['millrace.toml']);
    write('[storage]\nlocation = "s.db"\n');
    expect(millrace(['check'])).toMatchObject({
      code: 2,
      err: expect.stringContaining("--storage must be file:PATH or off, not 's.db'") as string,
    });
    write('[api]\nauth_key = "k"\n');
    expect(millrace(['check']).code).toBe(2);
    expect(existsSync(join(folder, 's.db'))).toBe(false);
  });
});

describe('what serve would not start with', () => {
  const stored = '[storage]\nlocation = "file:data/s.db"\n';

  it.each([
    ['an unknown tool', '[agent]\ntools = ["read_everything"]\n', 'read_everything'],
    ['another approval', '[agent]\napproval = "sometimes"\n', 'sometimes'],
    ['a secret of callbacks that is none', '[api]\nwebhook_secrets = ["short"]\n', 'webhooks'],
    ['a proxy that is no address', '[api]\ntrusted_proxies = ["10.0.0.0/99"]\n', '10.0.0.0/99'],
    ['a log in no folder', '[api]\naccess_log = "none/access.log"\n', 'none/access.log'],
    ['a page that is no origin', '[api]\nallowed_origins = ["page"]\n', 'page'],
    ['a missing file of a secret key', `${stored}secret_key_file = "none.key"\n`, 'none.key'],
    ['a missing file of servers', '[mcp]\nfile = "none.json"\n', 'none.json'],
    ['a missing folder of skills', '[agent]\nskills = "none"\n', 'none'],
  ])('is reported, and serve reports the same: %s', (_what, text, wanted) => {
    write(text);
    const { code, err } = millrace(['check']);
    expect(code).toBe(2);
    expect(err).toContain(wanted);
    expect(readdirSync(folder)).toEqual(['millrace.toml']);
    const served = spawnSync(process.execPath, [cli, 'serve', '--port', '0'], {
      ...{ encoding: 'utf8', cwd: folder, env: { ...bareEnvironment } },
      timeout: 20_000,
    });
    expect({ code: served.status, err: served.stderr }).toEqual({ code: 2, err });
  });

  it('is a secret key of a wrong form, also before there is a secret', () => {
    write(stored);
    expect(millrace(['check'])).toMatchObject({ code: 0 });
    const { code, err } = millrace(['check'], { MILLRACE_SECRET_KEY: 'short' });
    expect(code).toBe(2);
    expect(err).toContain('MILLRACE_SECRET_KEY must be 32 random bytes');
    expect(err).not.toContain('short');
  });

  it('is a server of MCP that is described wrongly', () => {
    writeFileSync(join(folder, 'mcp.json'), '{"mcpServers":{"files":{"command":5}}}');
    write('[mcp]\nfile = "mcp.json"\n');
    const { code, err } = millrace(['check']);
    expect(code).toBe(2);
    expect(err).toContain('MCP server files');
  });
});

// A generator of random numbers that is the same each time.
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const pieces = [
  ...[
    '[api]',
    '[[api.keys]]',
    '[storage]',
    '[providers.openai]',
    '[providers.x]',
    '[a.b]',
    '[api.keys]',
  ],
  ...[
    'port',
    'host',
    'keys',
    'key',
    'allowed_hosts',
    'name',
    'page',
    '"quoted key"',
    '__proto__',
    'a.b',
  ],
  ...[
    ' = ',
    '=',
    '1',
    '-1',
    '0x1F',
    '1e400',
    'inf',
    'nan',
    'true',
    '"text"',
    "'raw'",
    '"""many\nlines"""',
  ],
  ...[
    '["a"]',
    '[1, "a"]',
    '{ a = 1 }',
    '{}',
    '[]',
    '2026-01-01',
    '12:00:00',
    '9223372036854775808',
  ],
  ...['\n', '\n', '\r\n', ' ', '#', ',', '.', '"', '\\u0000', '\u{1F600}', '\u0000', ']', '['],
];

describe('any text', () => {
  it('is settings of the right types, or an error with places inside the text', () => {
    const random = randomOf(20261127);
    const types = new Map(settings.map(({ name, type }) => [name, type.kind]));
    let good = 0;
    for (let round = 0; round < 20_000; round += 1) {
      const count = 1 + random(14);
      const text = Array.from({ length: count }, () => pieces[random(pieces.length)]).join('');
      try {
        const { values, keys } = configOf(parseConfig(text, 'f'), 'f');
        good += 1;
        for (const [name, value] of values) {
          const kind = Array.isArray(value) ? 'list' : typeof value;
          const wanted = {
            text: 'string',
            choice: 'string',
            integer: 'number',
            flag: 'boolean',
            list: 'list',
          };
          expect(kind).toBe(wanted[types.get(name) ?? 'text']);
          if (kind === 'number') expect(Number.isSafeInteger(value)).toBe(true);
        }
        for (const key of keys) expect(key.key ?? key.sha256).toBeTruthy();
      } catch (error) {
        if (!(error instanceof ConfigError))
          throw new Error(JSON.stringify(text), { cause: error });
        const lines = text.split('\n');
        for (const { line, column } of error.problems) {
          if (line >= 1 && line <= lines.length + 1 && column >= 1) continue;
          throw new Error(`${line}:${column} is not in ${JSON.stringify(text)}`);
        }
      }
    }
    expect(good).toBeGreaterThan(100);
  });
});
