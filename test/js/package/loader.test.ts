// What the loader tries and how it fails, each in a process of its own.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { buildSync } from 'esbuild';

import { preloadFolder } from '../support/script';

const root = join(__dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'millrace-loader-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** `thrown`: what the dynamic loader says of whatever it is given. */
function load(
  binary: string | undefined,
  thrown?: string,
): Promise<{ stdout: string; code: unknown }> {
  const script = `
    const thrown = ${JSON.stringify(thrown) ?? 'undefined'};
    if (thrown !== undefined) process.dlopen = () => { throw new Error(thrown); };
    const { MillraceError, version } = require('millrace');
    try { console.log(JSON.stringify({ version: version() })); }
    catch (e) { console.log(JSON.stringify({ code: e.code, message: e.message, ours: MillraceError.is(e) })); }`;
  const env = { ...process.env };
  if (binary === undefined) delete env['MILLRACE_BINARY'];
  else env['MILLRACE_BINARY'] = binary;
  return new Promise((resolve) => {
    const child = execFile(process.execPath, ['-e', script], { cwd: root, env }, (_e, stdout) => {
      resolve({ stdout, code: child.exitCode });
    });
  });
}
const outcome = async (binary?: string, thrown?: string) =>
  JSON.parse((await load(binary, thrown)).stdout) as Record<string, unknown>;

describe('the loader', () => {
  it('opens the addon of the build, or the one that MILLRACE_BINARY names', async () => {
    expect(await outcome()).toHaveProperty('version');
    expect(await outcome(join(root, 'build/release/millrace.node'))).toHaveProperty('version');
  });

  it('says what it tried when there is no addon', async () => {
    const path = join(folder, 'missing.node');
    const { code, message, ours } = await outcome(path);
    expect({ code, ours }).toEqual({ code: 'addon_not_found', ours: true });
    expect(message).toContain(path);
    expect(message).toContain('MILLRACE_BINARY');
  });

  it('says why an addon cannot be loaded', async () => {
    const path = join(folder, 'broken.node');
    writeFileSync(path, 'this is no shared library');
    const { code, message } = await outcome(path);
    expect(code).toBe('addon_load_failed');
    expect(message).toContain(path);
  });

  // Debian's package faketime puts such a library before the C library; of timers it makes nonsense.
  const preloaded = preloadFolder();
  afterAll(() => preloaded && rmSync(preloaded, { recursive: true }));
  if (!preloaded)
    console.info('No folder can have a library that is preloaded: its test is left out.');
  (preloaded ? it : it.skip)('lives in the time that a preloaded clock tells', async () => {
    const clock = join(preloaded as string, 'libfaketime-of-this-test.so.1');
    const source = `
      long time(long* to) { return to ? (*to = 4000000000) : 4000000000; }
      int timerfd_settime(void) { return -1; }`;
    writeFileSync(`${clock}.c`, source);
    const compiler = process.env['CXX'] || 'c++';
    execFileSync(compiler, ['-x', 'c', '-shared', '-fPIC', `${clock}.c`, '-o', clock]);
    const script = `
      const { createModelRuntime } = require('millrace');
      const { startServer } = require('./dist/cjs/server.js');
      const silent = require('node:net').createServer().listen(0, '127.0.0.1', async () => {
        const server = startServer({ model: 'openai:m', apiKey: 'k', port: 0 });
        const { headers } = await fetch('http://127.0.0.1:' + server.port + '/health');
        const baseURL = 'http://127.0.0.1:' + silent.address().port + '/v1';
        const timeouts = { firstByte: 50 };
        const runtime = createModelRuntime('openai', { baseURL, apiKey: 'k', timeouts, maxRetries: 0 });
        const payload = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
        const error = await runtime.chat(payload).catch((each) => each);
        console.log(JSON.stringify([headers.get('date'), error.code]));
        await server.stop();
        process.exit();
      });`;
    const env = { ...process.env, LD_PRELOAD: clock };
    const stdout = await new Promise<string>((resolve) => {
      execFile(process.execPath, ['-e', script], { cwd: root, env }, (_e, out) => resolve(out));
    });
    expect(JSON.parse(stdout)).toEqual(['Tue, 02 Oct 2096 07:06:40 GMT', 'first_byte_timeout']);
  });

  const newer = "version `GLIBC_2.38' not found (required by /x/millrace.node)";
  it.each([
    ['newer C library', `/lib/x86_64-linux-gnu/libc.so.6: ${newer}`, 'newer system', 'GLIBC_2.38'],
    [
      'newer C++ library',
      "/lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /x/millrace.node)",
      'newer system',
      'GLIBCXX_3.4.32',
    ],
    [
      'newer libcurl',
      '/x/millrace.node: undefined symbol: curl_ws_start',
      'newer',
      'curl_ws_start',
    ],
    [
      'library that is missing',
      'libcurl.so.4: cannot open shared object file: No such file or directory',
      'libcurl4',
      'libcurl.so.4',
    ],
    [
      'permission',
      'Cannot load native addon because loading addons is disabled.',
      '--allow-addons',
      'permission model',
    ],
  ])('says in one sentence that an addon needs a %s', async (_what, thrown, why, name) => {
    const path = join(folder, 'elsewhere.node');
    writeFileSync(path, '');
    const { code, message } = await outcome(path, thrown);
    expect(code).toBe('addon_load_failed');
    expect(message).toContain(path);
    expect(message).toContain(why);
    expect(message).toContain(name);
    expect(message).not.toContain('\n');
    expect(message).not.toContain('Tried');
  });

  // A bundler resolves no path of an addon: of a platform that is missing, or that it has no loader for.
  it('is bundled, and finds the addon beside the program', () => {
    const outfile = join(folder, 'bundle.cjs');
    const contents = `
      import { version } from 'millrace';
      try { console.log(version()); } catch (error) { console.log(error.message); }`;
    const { errors, warnings } = buildSync({
      stdin: { contents, resolveDir: root },
      bundle: true,
      platform: 'node',
      outfile,
      logLevel: 'silent',
    });
    expect([...errors, ...warnings]).toEqual([]);
    const env = { ...process.env };
    delete env['MILLRACE_BINARY'];
    const answer = (): string =>
      execFileSync(process.execPath, [outfile], { cwd: folder, env, encoding: 'utf8' });

    const [sentence, ...tried] = answer().trim().split('\n');
    expect(sentence).toMatch(
      /was not found.*--external:millrace.*millrace\.node beside the program/,
    );
    expect(tried).toContain(`  ${join(folder, 'millrace.node')}: no such file`);
    symlinkSync(join(root, 'build/release/millrace.node'), join(folder, 'millrace.node'));
    expect(answer()).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('loads nothing when the package is required', async () => {
    const script = `
      const before = require('node:fs').readdirSync('/proc/self/task').length;
      require('millrace');
      const maps = require('node:fs').readFileSync('/proc/self/maps', 'utf8');
      console.log(JSON.stringify({ mapped: maps.includes('millrace.node'), before }));`;
    const stdout = await new Promise<string>((resolve) => {
      execFile(process.execPath, ['-e', script], { cwd: root }, (_e, out) => resolve(out));
    });
    expect(JSON.parse(stdout)).toMatchObject({ mapped: false });
  });
});
