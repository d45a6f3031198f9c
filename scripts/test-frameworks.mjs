// Runs the recipes of docs/runtime-api.md for servers of Node in their frameworks: each answers the same requests.
//   node scripts/test-frameworks.mjs
// The frameworks are those of test/frameworks/package.json, fetched here alone. Ends with "N passed, N failed".
import './help.mjs';

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { preparePackages } from './setup/packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const packages = join(root, 'test/frameworks');
const folder = join(root, 'build/frameworks');
const key = 'secret';

const runtimeFile = `import { createRuntime } from ${JSON.stringify(join(root, 'dist/esm/index.mjs'))};
export const runtime = createRuntime({ storage: 'memory', api: { keys: [{ key: '${key}' }] } });
runtime.agent('agent', async ({ text }, ctx) => {
  await ctx.stage('thinking');
  return \`heard: \${text}\`;
});
`;

// What a recipe is known by, and how it is served: what asks it, and what ends it.
const frameworks = {
  'Next.js': {
    mark: 'force-dynamic',
    path: 'app/api/v1/[...path]/route.js',
    serve: async ({ POST }) => ({ ask: (url, init) => POST(new Request(url, init)), end() {} }),
  },
  Hono: {
    mark: "from 'hono'",
    async serve({ app }) {
      const { serve } = await load('@hono/node-server');
      return listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }));
    },
  },
  Express: {
    mark: "from 'express'",
    serve: ({ app }) => listening(app.listen(0, '127.0.0.1')),
  },
  Fastify: {
    mark: "from 'fastify'",
    async serve({ app }) {
      const origin = await app.listen({ port: 0, host: '127.0.0.1' });
      return {
        ask: (url, init) => fetch(url.replace('http://localhost', origin), init),
        end: () => app.close(),
      };
    },
  },
};

function load(name) {
  return import(pathToFileURL(join(folder, 'load.mjs'))).then((loader) => loader.load(name));
}

async function listening(server) {
  if (!server.listening) await once(server, 'listening');
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    ask: (url, init) => fetch(url.replace('http://localhost', origin), init),
    end() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function recipes() {
  const text = readFileSync(join(root, 'docs/runtime-api.md'), 'utf8');
  const [, section = ''] = /\n## Inside your server\n([^]*?)\n## /.exec(text) ?? [];
  return [...section.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code);
}

// In a folder of its own, with a runtime of its own.
async function served(name, { mark, path = 'server.js', serve }) {
  const code = recipes().find((one) => one.includes(mark));
  assert.ok(code, `docs/runtime-api.md has no recipe for ${name}`);
  const place = join(folder, name);
  const file = join(place, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(join(place, 'runtime.js'), runtimeFile);
  writeFileSync(file, code.includes('export ') ? code : `${code}export { app };\n`);
  const { runtime } = await import(pathToFileURL(join(place, 'runtime.js')));
  return { runtime, ...(await serve(await import(pathToFileURL(file)))) };
}

const headers = { 'X-Millrace-API-Key': key };
const json = { ...headers, 'Content-Type': 'application/json' };
const chat = 'http://localhost/api/v1/chat';

// What each of them has to do.
const cases = {
  async 'a chat whose body is JSON'(ask) {
    const answer = await ask(chat, { method: 'POST', headers: json, body: '{"message":"Hello!"}' });
    assert.equal(answer.status, 200);
    assert.equal((await answer.json()).reply, 'heard: Hello!');
  },
  async 'a body without a content type'(ask) {
    const body = new TextEncoder().encode('{"message":"Bytes"}');
    const answer = await ask(chat, { method: 'POST', headers, body });
    assert.equal((await answer.json()).reply, 'heard: Bytes');
  },
  async 'a stream of events'(ask) {
    const body = '{"message":"Stream","stream":true}';
    const answer = await ask(chat, { method: 'POST', headers: json, body });
    assert.match(answer.headers.get('content-type'), /^text\/event-stream/);
    assert.match(await answer.text(), /event: message\n[^]*heard: Stream[^]*event: done\n/);
  },
  async 'a form of two megabytes'(ask) {
    const form = new globalThis.FormData();
    form.append('file', new globalThis.Blob(['x'.repeat(2 * 1024 * 1024)]), 'large.txt');
    const answer = await ask(`${chat}/attachments`, { method: 'POST', headers, body: form });
    const { attachment } = await answer.json();
    assert.equal(attachment.size, 2 * 1024 * 1024);
    const read = await ask(`${chat}/attachments/${attachment.id}`, { headers });
    assert.equal((await read.arrayBuffer()).byteLength, attachment.size);
  },
  async 'a request without a key'(ask) {
    const answer = await ask(chat, { method: 'POST', body: '{}' });
    assert.equal(answer.status, 401);
    assert.equal(typeof (await answer.json()).error, 'string');
  },
  async 'a body that is no JSON'(ask) {
    const answer = await ask(chat, { method: 'POST', headers: json, body: '{' });
    assert.equal(answer.status, 400);
  },
  async 'PATCH and DELETE'(ask) {
    const made = await ask(`${chat}/conversations`, { method: 'POST', headers: json, body: '{}' });
    const url = `${chat}/conversations/${(await made.json()).conversation.id}`;
    const body = '{"title":"Mine"}';
    const renamed = await ask(url, { method: 'PATCH', headers: json, body });
    assert.equal((await renamed.json()).conversation.title, 'Mine');
    assert.equal((await ask(url, { method: 'DELETE', headers })).status, 200);
  },
};

async function run(name, framework) {
  const { runtime, ask, end } = await served(name, framework);
  try {
    for (const [what, check] of Object.entries(cases)) {
      try {
        await check(ask);
        passed += 1;
      } catch (error) {
        failed += 1;
        console.log(`failed: ${name}: ${what}: ${error.message}`);
      }
    }
  } finally {
    await end();
    await runtime.close();
  }
}

let [passed, failed] = [0, 0];
await preparePackages(packages);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
symlinkSync(join(packages, 'node_modules'), join(folder, 'node_modules'));
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
writeFileSync(join(folder, 'load.mjs'), 'export const load = (name) => import(name);\n');
for (const [name, framework] of Object.entries(frameworks)) await run(name, framework);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
