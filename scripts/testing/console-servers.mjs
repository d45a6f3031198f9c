// The servers that the page is tried on: `millrace serve` with a scripted model, with the demo model, and with a key.
import { spawn } from 'node:child_process';
import { join } from 'node:path';

import { startConsoleModel } from './console-model.mjs';

/**
 * `millrace serve`, where `program` is the command line of the package: { url, kill, start }. One that is started again listens
 * where it listened before, so that pages come back there.
 */
export async function startServer(program, args, env = {}) {
  const server = { url: '', child: undefined };
  server.start = async () => {
    const port = server.url === '' ? '0' : new URL(server.url).port;
    const child = spawn(process.execPath, [program, 'serve', '--json', '--port', port, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, OPENAI_API_KEY: 'none', ...env },
    });
    server.child = child;
    server.url = await new Promise((resolve, reject) => {
      let errors = '';
      child.stderr.on('data', (data) => (errors += data));
      child.stdout.once('data', (data) => resolve(JSON.parse(data).url));
      child.once('exit', (code) => reject(new Error(`serve ended with ${code}\n${errors}`)));
    });
  };
  server.kill = () =>
    new Promise((resolve) => {
      server.child.once('exit', resolve);
      server.child.kill('SIGKILL');
    });
  await server.start();
  return server;
}

/** `program` is the command line of the package; the stores are in `folder`. */
export async function startServers(program, folder) {
  const model = await startConsoleModel();
  const store = (name) => ['--storage', `file:${join(folder, name)}.db`];
  const fake = ['--model', 'openai:scripted', '--base-url', model.url];
  const key = 'the-key-of-the-tests';
  const started = [];
  const start = async (...args) => {
    const server = await startServer(program, ...args);
    started.push(server);
    return server;
  };
  const close = async () => {
    model.close();
    await Promise.all(started.map((server) => server.kill()));
  };
  try {
    const scripted = await start([...fake, ...store('scripted')]);
    const demo = await start(['--model', 'demo:demo', ...store('demo')]);
    const closed = await start([...fake, ...store('closed')], { MILLRACE_API_KEY: key });
    return { scripted, demo, closed: { ...closed, key }, close };
  } catch (error) {
    await close();
    throw error;
  }
}
