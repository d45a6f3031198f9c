// The MCP client against real servers over every transport: the protocol's "everything" and "filesystem"
// servers and one made with the official SDK 2. `folder` holds their packages.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const text = ({ content }) => content.map((block) => block.text ?? '').join('\n');
const host = {
  roots: [{ uri: 'file:///tmp', name: 'tmp' }],
  onElicitation: () => ({ action: 'accept', content: { name: 'Ada' } }),
  onSampling: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } }),
};

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

// Starts a server program and waits until its port answers.
async function listening(args, port) {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, PORT: String(port) },
    stdio: 'ignore',
  });
  for (let tries = 0; tries < 200; tries++) {
    await sleep(50);
    const isThere = await fetch(`http://127.0.0.1:${port}/nothing`).then(
      () => true,
      () => false,
    );
    if (isThere) return child;
  }
  child.kill('SIGKILL');
  throw new Error(`${args.join(' ')} does not listen`);
}

async function ended(child) {
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await closed;
}

// Everything that server has to say.
async function everything(client) {
  const tools = (await client.listTools()).map(({ name }) => name);
  assert.ok(tools.includes('echo'));
  assert.equal(text(await client.callTool('echo', { message: 'hi' })), 'Echo: hi');
  assert.match(text(await client.callTool('get-sum', { a: 2, b: 3 })), /5/);
  let progress = 0;
  const run = { onProgress: () => (progress += 1) };
  await client.callTool('trigger-long-running-operation', { duration: 0.3, steps: 3 }, run);
  assert.ok(progress > 0, 'no progress came');
  const sampled = await client.callTool('trigger-sampling-request', { prompt: 'x', maxTokens: 5 });
  assert.match(text(sampled), /sampled/);
  assert.match(text(await client.callTool('trigger-elicitation-request')), /Ada/);
  const [resource] = await client.listResources();
  assert.ok((await client.readResource(resource.uri)).contents.length > 0);
  assert.ok((await client.getPrompt('simple-prompt')).messages.length > 0);
  await client.ping();
}

async function restarted(connect, program, port, url, type) {
  let server = await listening(program, port);
  const client = await connect({ url, type, ...host });
  try {
    await everything(client);
    await ended(server);
    server = await listening(program, port);
    // The older pair hears of the end by itself; a session is found to be lost by the next call.
    await sleep(100);
    const answer = await client.callTool('echo', { message: 'again' });
    assert.equal(text(answer), 'Echo: again');
  } finally {
    await client.close();
    await ended(server);
  }
}

async function withFolder(play) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-mcp-'));
  try {
    writeFileSync(join(folder, 'a.txt'), 'contents');
    await play(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function addsUp(client) {
  assert.equal(text(await client.callTool('add', { a: 1, b: 2 })), '3');
  await client.close();
}

function scenes(connect, folder) {
  const official = join(folder, 'node_modules/@modelcontextprotocol');
  const all = join(official, 'server-everything/dist/index.js');
  const files = join(official, 'server-filesystem/dist/index.js');
  const sdk = join(folder, 'mcp-sdk-server.mjs');
  const program = (...args) => ({ command: process.execPath, args });
  const versions = [
    undefined,
    '2026-07-28',
    '2025-11-25',
    '2025-06-18',
    '2025-03-26',
    '2024-11-05',
  ];
  return {
    'everything over stdio': async () => {
      const client = await connect({ ...program(all, 'stdio'), ...host });
      await everything(client);
      await client.close();
    },
    'everything over streamable HTTP, restarted': async () => {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}/mcp`;
      await restarted(connect, [all, 'streamableHttp'], port, url, 'http');
    },
    'everything over HTTP with SSE, restarted': async () => {
      const port = await freePort();
      await restarted(connect, [all, 'sse'], port, `http://127.0.0.1:${port}/sse`, 'sse');
    },
    'filesystem over stdio': () =>
      withFolder(async (path) => {
        const client = await connect(program(files, path));
        const answer = await client.callTool('read_text_file', { path: join(path, 'a.txt') });
        assert.equal(text(answer), 'contents');
        const outside = await client.callTool('read_text_file', { path: '/etc/passwd' });
        assert.equal(outside.isError, true);
        await client.close();
      }),
    ...Object.fromEntries(
      versions.map((protocolVersion) => [
        `SDK 2 over stdio, ${protocolVersion ?? 'any version'}`,
        async () => addsUp(await connect({ ...program(sdk, 'stdio'), protocolVersion })),
      ]),
    ),
    'SDK 2 over HTTP, every version': async () => {
      const port = await freePort();
      const server = await listening([sdk, 'http', String(port)], port);
      try {
        for (const protocolVersion of versions) {
          const url = `http://127.0.0.1:${port}/mcp`;
          await addsUp(await connect({ url, protocolVersion }));
        }
      } finally {
        await ended(server);
      }
    },
  };
}

/** Plays every scene; gives how many passed and failed. */
export async function playServers(connect, folder) {
  const counts = { passed: 0, failed: 0 };
  for (const [name, play] of Object.entries(scenes(connect, folder))) {
    try {
      await play();
      counts.passed += 1;
      console.log(`ok   ${name}`);
    } catch (error) {
      counts.failed += 1;
      console.log(`FAIL ${name}\n${error.stack}`);
    }
  }
  return counts;
}
