// The end of processes and environments with live streams. Each scene is a process of its own.
//
// Runs alone: it measures how soon the event loop is left to others.
import { execFile } from 'node:child_process';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

const fixture = join(__dirname, '../fixtures/teardown.cjs');
const chunk = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;

// Streams a chunk every few milliseconds until the client is gone.
let server: Server;
let url: string;
beforeAll(async () => {
  server = createServer((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const timer = setInterval(() => response.write(chunk('word ')), 3);
    response.on('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

interface Outcome {
  code: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

function play(scene: string, env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--expose-gc', fixture, scene, url],
      { env: { ...process.env, ...env }, timeout: 60_000 },
      (_error, stdout, stderr) => {
        resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr });
      },
    );
  });
}

describe('with live streams', () => {
  it.each([
    ['exit', 7],
    ['idle', 0],
    ['left', 0],
    ['throws', 1],
  ])('the scene "%s" ends with code %d', async (scene, code) => {
    const outcome = await play(scene);
    expect(outcome).toMatchObject({ code, signal: null });
    if (scene === 'throws') expect(outcome.stderr).toContain('thrown on purpose');
  });

  it('a reader that asks for more keeps the process alive', async () => {
    const outcome = await play('asks');
    expect(outcome).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(JSON.parse(outcome.stdout)).toEqual({ found: true, inTake: 1, later: 1 });
  });

  it('workers can be terminated, also when only they loaded the addon', async () => {
    const outcome = await play('workers', { WORKERS: '12' });
    expect(outcome).toMatchObject({ code: 0, signal: null, stderr: '' });
  }, 60_000);

  // Memory is the stress test's: it takes hundreds of environments to tell a leak from noise.
  it('environments leave no thread or descriptor behind', async () => {
    const outcome = await play('cycles', { CYCLES: '40', KIND: 'engine' });
    expect(outcome).toMatchObject({ code: 0, signal: null, stderr: '' });
    const left = JSON.parse(outcome.stdout) as { threads: number; descriptors: number };
    expect(left.descriptors).toBeLessThan(60);
    expect(left.threads).toBeLessThan(30);
  }, 60_000);

  it('two copies of the package share one engine thread', async () => {
    const outcome = await play('twice');
    expect(outcome.code).toBe(0);
    expect(JSON.parse(outcome.stdout)).toMatchObject({ second: 0 });
  });

  it('responses that nobody holds any more are cancelled', async () => {
    const outcome = await play('collected');
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(outcome.stdout)).toEqual({ closed: 12 });
  }, 20_000);

  it('runs that nobody holds any more are cancelled', async () => {
    const outcome = await play('abandoned');
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(outcome.stdout)).toEqual({ opened: true, left: 0 });
  }, 30_000);

  it('deliveries leave the event loop to others now and then', async () => {
    const outcome = await play('turns');
    expect(outcome).toMatchObject({ code: 0, signal: null, stderr: '' });
    const { most } = JSON.parse(outcome.stdout) as { most: number };
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(200);
  }, 60_000);

  it('what a callback throws is reported once and streams go on', async () => {
    const outcome = await play('callbacks');
    expect(outcome).toMatchObject({ code: 0, signal: null });
    expect(JSON.parse(outcome.stdout)).toEqual({ uncaught: 5, goesOn: true });
  });
});
