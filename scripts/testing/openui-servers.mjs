// The servers that OpenUI's page is tried on: `millrace serve`, the same with a key, and a server of one's own.
import { join } from 'node:path';

import { startConsoleModel } from './console-model.mjs';
import { startServer } from './console-servers.mjs';
import { listen } from './openui-site.mjs';

/** An agent with a tool, as docs/openui.md has it, and what answers its requests. */
function ownServer({ createAgent, createRuntime, tool }, model, key) {
  const runtime = createRuntime({ storage: 'memory', api: { keys: [{ key, principal: 'ada' }] } });
  const saveNote = tool({
    name: 'save_note',
    input: {
      type: 'object',
      properties: { title: { type: 'string' }, text: { type: 'string' } },
      required: ['title', 'text'],
    },
    effect: 'keyed',
    run: async ({ title, text }, { run, idempotencyKey: id }) => {
      const { principal, threadId } = run;
      const content = { id, title, text };
      const { artifact } = runtime.storage({ principal });
      await artifact.create({ id, title, type: 'note', threadId, content });
      return content;
    },
  });
  const agent = createAgent({
    ...{ model: 'openai:scripted', provider: { baseURL: model.url, apiKey: 'none' } },
    ...{ tools: [saveNote], runtime, name: 'agent' },
    authorize: ({ headers }) =>
      headers.get('authorization') === `Bearer ${key}` ? { principal: 'ada' } : undefined,
  });
  const answer = (request) =>
    new URL(request.url).pathname.startsWith('/agent')
      ? agent.handler(request)
      : runtime.fetch(request);
  return { answer, close: () => runtime.close() };
}

// A function of `Request` and `Response` behind node:http.
async function bridge(answer, request, response) {
  const body = [];
  for await (const part of request) body.push(part);
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const given = await answer(
    new Request(new URL(request.url, `http://${request.headers.host}`), {
      ...{ method: request.method, headers: request.headers, signal: gone.signal },
      ...(body.length > 0 && { body: Buffer.concat(body) }),
    }),
  );
  response.writeHead(given.status, Object.fromEntries(given.headers));
  for await (const part of given.body ?? []) response.write(part);
  response.end();
}

/**
 * The servers, and the page of docs/openui.md beside them. `page` answers for its files, `stores` is a folder, `millrace` the
 * package.
 */
export async function startSites({ root, page, stores, millrace }) {
  const model = await startConsoleModel();
  const key = 'the-key-of-the-tests';
  const own = ownServer(millrace, model, key);
  const site = await listen((request, response) => {
    if (!page(request, response)) {
      bridge(own.answer, request, response).catch(() => response.destroy());
    }
  });
  const program = join(root, 'dist/cjs/cli/main.js');
  const start = (name, env) => {
    const store = ['--storage', `file:${join(stores, name)}.db`, '--allow-origin', site.url];
    const args = ['--model', 'openai:scripted', '--base-url', model.url, ...store];
    return startServer(program, args, env);
  };
  const [open, closed] = await Promise.all([
    start('open'),
    start('closed', { MILLRACE_API_KEY: key }),
  ]);
  const headers = { Authorization: `Bearer ${key}` };
  const address = (server, more) => `${site.url}/?${new URLSearchParams({ server, ...more })}`;
  const withKey = { headers: JSON.stringify(headers) };
  return {
    model,
    open: Object.assign(open, { page: address(open.url) }),
    closed: {
      ...closed,
      headers,
      keyless: address(closed.url),
      page: address(closed.url, withKey),
    },
    own: { url: site.url, page: address('', withKey) },
    close: async () => {
      site.close();
      model.close();
      await Promise.all([open.kill(), closed.kill(), own.close()]);
    },
  };
}
