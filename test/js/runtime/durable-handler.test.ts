// The handlers of an agent with a runtime: who may do what, responses that go on behind a frame, stops, approvals.
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Authorized, createAgent, createRuntime, type Runtime, tool } from 'millrace';

import { startModel } from '../../support/agents';

type Script = Parameters<typeof startModel>[0];

const open: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

const sent: string[] = [];
const mail = tool<{ to: string }>({
  name: 'send_mail',
  input: { type: 'object', properties: { to: { type: 'string' } } },
  approval: true,
  run: ({ to }) => sent.push(to),
});

// The header `user` names the caller.
const byHeader = (request: Request): Authorized | undefined => {
  const user = request.headers.get('user');
  return user === null ? undefined : { principal: user };
};

async function agentOf(script: Script, authorize?: unknown) {
  const model = await startModel(script);
  const runtime: Runtime = createRuntime({ storage: 'memory' });
  open.push(runtime);
  const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
  const agent = createAgent({
    ...{ model: 'openai:m', provider, tools: [mail], runtime, name: 'mail' },
    ...(authorize !== undefined && { authorize: authorize as never }),
  });
  const ask = (method: string, path: string, body?: unknown, headers: object = { user: 'ada' }) =>
    agent.handler(
      new Request(`http://localhost/agent${path}`, {
        method,
        headers: { ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
  return { agent, runtime, ask };
}

const bodyOf = (runId: string, threadId = 't', more: object = {}) => ({
  ...{ threadId, runId, ...more },
  messages: [{ id: 'u1', role: 'user', content: 'Mail Ada.' }],
});
const codeOf = async (response: Response): Promise<string> =>
  `${response.status} ${((await response.json()) as { error: { code: string } }).error.code}`;
const idsIn = (text: string): number[] =>
  [...text.matchAll(/^id: (\d+)$/gm)].map((one) => Number(one[1]));
const behind = (text: string, id: number): string =>
  text.split(`id: ${id}\n`)[1]?.split('\n\n').slice(1).join('\n\n') ?? '';

describe('the handler of an agent with a runtime', () => {
  it('only begins new runs when nobody is authorized', async () => {
    const { ask, runtime } = await agentOf(() => ({ text: 'hello there' }));
    const response = await ask('POST', '', bodyOf('r1'));
    const id = response.headers.get('millrace-run-id') as string;
    expect(await response.text()).toContain('RUN_FINISHED');
    expect(await runtime.get(id)).toMatchObject({ state: 'completed', threadId: 't' });
    const resume = [{ interruptId: 'x', status: 'resolved', payload: { approved: true } }];
    const rejected = [
      ask('POST', '', bodyOf('r1')),
      ask('POST', '', bodyOf('r2', 't', { resume })),
      ask('GET', '/runs'),
      ask('GET', `/runs/${id}`),
      ask('GET', '/runs/r1'),
      ask('DELETE', `/runs/${id}`),
      ask('POST', `/runs/${id}/approvals/x`, { approved: true }),
    ];
    for (const one of rejected) expect(await codeOf(await one)).toBe('403 not_authorized');
    expect((await ask('GET', '/capabilities')).status).toBe(200);
    expect(await codeOf(await ask('PUT', '/runs'))).toBe('405 method_not_allowed');
    expect(await codeOf(await ask('POST', '', []))).toBe('400 invalid_body');
  });

  it('takes no id of a client that has the form of its own', async () => {
    const { ask, agent, runtime } = await agentOf(() => ({ text: 'hello there' }), byHeader);
    const own = `run_${'0a'.repeat(16)}`;
    expect(await codeOf(await ask('POST', '', bodyOf(own)))).toBe('400 invalid_body');
    expect(await codeOf(await ask('POST', '/connect', bodyOf(own)))).toBe('400 invalid_body');
    expect(() => agent.run('Hi', { runId: own })).toThrow(/the form of the server's own ids/);
    expect((await runtime.list()).runs).toEqual([]);
    const near = [own.slice(0, -1), `${own}0`, own.toUpperCase(), own.replace('a', 'g')];
    for (const id of near) expect((await ask('POST', '', bodyOf(id, id))).status).toBe(200);
  });

  it('lets nobody who is not authorized end the run that waits in a thread', async () => {
    const { ask, runtime } = await agentOf(() => ({
      calls: [{ id: 'c1', name: 'send_mail', args: { to: 'Ada' } }],
    }));
    const response = await ask('POST', '', bodyOf('r1'));
    const id = response.headers.get('millrace-run-id') as string;
    await response.text();
    expect(await runtime.get(id)).toMatchObject({ state: 'waiting' });
    expect(await codeOf(await ask('POST', '', bodyOf('r2')))).toBe('403 not_authorized');
    expect(await runtime.get(id)).toMatchObject({ state: 'waiting' });
    expect((await ask('POST', '', bodyOf('r3', 'another'))).status).toBe(200);
  });

  it('gives what is behind a frame, byte for byte, to its principal alone', async () => {
    const { ask } = await agentOf([{ text: 'one two three' }], byHeader);
    const first = await ask('POST', '', bodyOf('r1'));
    const id = first.headers.get('millrace-run-id') as string;
    const whole = await first.text();
    const ids = idsIn(whole);
    expect(ids.length).toBeGreaterThan(3);
    for (const address of [`/runs/${id}`, '/runs/r1']) {
      expect(await (await ask('GET', address)).text()).toBe(whole);
      for (const after of ids.slice(0, -1)) {
        const rest = await ask('GET', `${address}?after=${after}`);
        expect(rest.headers.get('millrace-run-id')).toBe(id);
        expect(await rest.text()).toBe(behind(whole, after));
      }
    }
    const [k = 0] = ids.slice(1);
    const header = { user: 'ada', 'last-event-id': String(k) };
    expect(await (await ask('GET', `/runs/${id}?after=0`, undefined, header)).text()).toBe(
      behind(whole, k),
    );
    // The same request again is the same run.
    expect(await (await ask('POST', '', bodyOf('r1'))).text()).toBe(whole);
    const other = { ...bodyOf('r1'), state: { other: true } };
    expect(await codeOf(await ask('POST', '', other))).toBe('409 run_conflict');

    const json = { user: 'ada', accept: 'application/json' };
    const info = (await (await ask('GET', `/runs/${id}`, undefined, json)).json()) as {
      lastSeq: number;
    };
    expect(info).toMatchObject({ id, state: 'completed', principal: 'ada' });
    expect((await ask('GET', `/runs/${id}?after=${info.lastSeq}`)).status).toBe(204);
    expect(await codeOf(await ask('GET', `/runs/${id}?after=99999`))).toBe('409 cursor_ahead');
    expect(await codeOf(await ask('GET', `/runs/${id}?after=x`))).toBe('400 invalid_argument');
    expect(await (await ask('GET', '/runs?limit=5')).json()).toMatchObject({ runs: [{ id }] });

    const bob = { user: 'bob' };
    expect(await (await ask('GET', '/runs', undefined, bob)).json()).toEqual({ runs: [] });
    for (const method of ['GET', 'DELETE']) {
      expect(await codeOf(await ask(method, `/runs/${id}`, undefined, bob))).toBe(
        '404 run_not_found',
      );
    }
    expect(await codeOf(await ask('GET', `/runs/${id}`, undefined, {}))).toBe('403 not_authorized');
  });

  it('stops runs and answers their approvals, as the scopes allow', async () => {
    const scopes: Record<string, Authorized> = {
      all: { principal: 'ada' },
      reader: { principal: 'ada', scopes: ['read'] },
    };
    const authorize = (request: Request) =>
      Promise.resolve(scopes[request.headers.get('user') ?? ''] ?? null);
    const { ask } = await agentOf(({ messages }) => {
      if (messages.some(({ role }) => role === 'tool')) return { text: 'sent' };
      if (JSON.stringify(messages).includes('hang')) return { text: 'a b', hang: true };
      return { calls: [{ id: 'c1', name: 'send_mail', args: { to: 'ada' } }] };
    }, authorize);
    const all = { user: 'all' };
    const reader = { user: 'reader' };
    const first = await ask('POST', '', bodyOf('r1'), all);
    const id = first.headers.get('millrace-run-id') as string;
    expect(await first.text()).toContain('interrupt');
    const json = { accept: 'application/json' };
    const info = await ask('GET', `/runs/${id}`, undefined, { ...reader, ...json });
    const { approvals } = (await info.json()) as { approvals: { id: string }[] };
    const approval = `/runs/${id}/approvals/${approvals[0]?.id}`;
    expect(await codeOf(await ask('POST', approval, { approved: true }, reader))).toBe(
      '403 not_authorized',
    );
    expect(await codeOf(await ask('POST', approval, [], all))).toBe('400 invalid_body');
    const decided = await ask('POST', approval, { approved: true }, all);
    expect(decided.status).toBe(200);
    expect(await decided.json()).toMatchObject({ id });
    expect(await codeOf(await ask('POST', approval, { approved: true }, all))).toBe(
      '409 approval_answered',
    );
    const rest = await (await ask('GET', `/runs/${id}`, undefined, reader)).text();
    expect(rest).toContain('"sent"');
    expect(sent.splice(0)).toEqual(['ada']);

    const hanging = {
      ...bodyOf('r2', 'u'),
      messages: [{ id: 'u1', role: 'user', content: 'hang' }],
    };
    const second = await ask('POST', '', hanging, all);
    const other = second.headers.get('millrace-run-id') as string;
    expect(await codeOf(await ask('POST', '', { ...hanging, runId: 'r3' }, all))).toBe(
      '409 run_conflict',
    );
    expect(await codeOf(await ask('DELETE', `/runs/${other}`, undefined, reader))).toBe(
      '403 not_authorized',
    );
    expect((await ask('DELETE', `/runs/${other}`, undefined, all)).status).toBe(202);
    expect(await second.text()).toContain('cancelled');
  });

  it('says so to a second answer while the run waits for another one', async () => {
    const { ask } = await agentOf(({ messages }) => {
      const results = messages.filter(({ role }) => role === 'tool').length;
      if (results === 2) return { text: 'sent' };
      return { calls: [{ id: `c${results}`, name: 'send_mail', args: { to: 'ada' } }] };
    }, byHeader);
    const first = await ask('POST', '', bodyOf('r1'));
    const id = first.headers.get('millrace-run-id') as string;
    await first.text();
    const openOne = async (): Promise<string> => {
      const headers = { user: 'ada', accept: 'application/json' };
      const info = await ask('GET', `/runs/${id}`, undefined, headers);
      return ((await info.json()) as { approvals: { id: string }[] }).approvals[0]?.id as string;
    };
    const decide = (approval: string, decision: object) =>
      ask('POST', `/runs/${id}/approvals/${approval}`, decision);
    const earlier = await openOne();
    expect((await decide(earlier, { approved: true })).status).toBe(200);
    await (await ask('GET', `/runs/${id}`)).text();
    const later = await openOne();
    expect(later).not.toBe(earlier);

    const again = await decide(earlier, { approved: false });
    expect(again.status).toBe(409);
    expect(await again.json()).toMatchObject({
      error: {
        code: 'approval_answered',
        message: expect.stringContaining(`'${earlier}' was already answered: approved.`) as string,
      },
    });
    const resume = [{ interruptId: earlier, status: 'resolved', payload: { approved: true } }];
    expect(await codeOf(await ask('POST', '', bodyOf('r2', 't', { resume })))).toBe(
      '409 approval_answered',
    );
    const other = { approved: true, hash: 'f00' };
    expect(await codeOf(await decide(later, other))).toBe('409 approval_mismatch');
    expect(await codeOf(await decide('made-up', { approved: true }))).toBe('409 approval_mismatch');
    expect((await decide(later, { approved: false })).status).toBe(200);
    expect(await codeOf(await decide(later, { approved: true }))).toBe('409 approval_answered');
    expect(sent.splice(0)).toEqual(['ada']);
  });

  it('lets a run wait for its turn where the request wants it, and knows no other wish', async () => {
    const { ask } = await agentOf(() => ({ text: 'done' }));
    expect(await codeOf(await ask('POST', '?busy=steer', bodyOf('r1')))).toBe(
      '400 invalid_argument',
    );
    expect((await ask('POST', '?busy=queue', bodyOf('r1'))).status).toBe(200);
  });

  it('of Node servers goes on when its client leaves', async () => {
    const { agent, runtime } = await agentOf([{ text: 'one two three' }], () => ({
      principal: 'ada',
    }));
    const server = createServer((request, response) => void agent.nodeHandler(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    open.push({ close: () => (server.closeAllConnections(), server.close()) });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`;
    const controller = new AbortController();
    const body = JSON.stringify(bodyOf('r1'));
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body, signal: controller.signal });
    const id = response.headers.get('millrace-run-id') as string;
    controller.abort();
    expect(await runtime.attach(id).text()).toBe('one two three');
    const again = await fetch(`${url}/runs/${id}`);
    expect(await again.text()).toContain('RUN_FINISHED');
    expect((await fetch(`${url}/runs`)).status).toBe(200);
  });
});

it('answers with the status of a store that cannot be opened, whose caller is not at fault', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'millrace-folder-'));
  const folder = join(parent, 'store.db');
  mkdirSync(folder);
  const runtime = createRuntime({ storage: `file:${folder}` });
  open.push(runtime, { close: () => rmSync(parent, { recursive: true }) });
  const authorize = () => ({ principal: 'ada' });
  const { handler } = createAgent({ model: 'demo:demo', runtime, name: 'mail', authorize });
  const request = (path: string, init?: RequestInit) =>
    handler(new Request(`http://localhost/agent${path}`, init));
  const body = JSON.stringify(bodyOf('r1'));
  expect(await codeOf(await request('', { method: 'POST', body }))).toBe('500 store_failed');
  expect(await codeOf(await request('/runs'))).toBe('500 store_failed');
});
