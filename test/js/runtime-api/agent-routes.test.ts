// The routes of AG-UI of a runtime, on both hosts: an agent of the host answers, and its runs are read, stopped and decided.
import { HttpAgent } from '@ag-ui/client';
import { createRuntime, tool } from 'millrace';

import { cleanUp, hosts, type Json, key, serve } from './kit';

afterEach(cleanUp);

const readKey = { key: 'may-read', scopes: ['read'] };
const chatKey = { key: 'may-chat', scopes: ['read', 'chat'] };
const allKey = { key: 'may-all' };

function bearer(value: string): { authorization: string } {
  return { authorization: `Bearer ${value}` };
}

function input(text: string, more: object = {}): object {
  return {
    ...{ threadId: 't', runId: 'r', protocolVersion: '1.0' },
    messages: [{ id: 'u', role: 'user', content: text }],
    ...more,
  };
}

async function eventsOf(response: Response): Promise<Json[]> {
  const text = await response.text();
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? ''));
}

function typesOf(events: Json[]): string[] {
  return events.map(({ type }) => type as string);
}

const risky = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: { type: 'object', properties: {} },
  approval: 'required',
  run: () => 'sent',
});

describe.each(hosts)('POST /agent (%s)', (host) => {
  it('runs the agent of the host, whose events are read again', async () => {
    const api = await serve(host, { agent: { model: 'demo:demo' } });
    const response = await api.send('/agent', { method: 'POST', json: input('Hello!') });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const id = response.headers.get('millrace-run-id') ?? '';
    const whole = await response.text();
    const again = await api.send(`/agent/runs/${id}?after=0`);
    expect(await again.text()).toBe(whole);
    const [, last = ''] = [...whole.matchAll(/^id: (\d+)$/gm)].at(-1) ?? [];
    expect((await api.send(`/agent/runs/r?after=${last}`)).status).toBe(204);
    const ahead = await api.send(`/agent/runs/r?after=99999`);
    expect(ahead.status).toBe(409);
    expect(await ahead.json()).toMatchObject({ error: { code: 'cursor_ahead' } });
    const run = await api.json('/agent/runs/r', 200, { headers: { accept: 'application/json' } });
    expect(run).toMatchObject({ id, state: 'completed', name: 'agent' });
    const list = await api.json('/agent/runs', 200);
    expect(list.runs).toMatchObject([{ id }]);
    const joined = await api.send('/agent/connect', { method: 'POST', json: input('') });
    const types = typesOf(await eventsOf(joined));
    expect(types).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED']);
  });

  it('gives the same run to the same request, and 409 to another one', async () => {
    const api = await serve(host, { agent: { model: 'demo:demo' } });
    const post = async (text: string): Promise<Response> =>
      api.send('/agent', { method: 'POST', json: input(text) });
    const first = await post('Hello!');
    const second = await post('Hello!');
    expect(second.headers.get('millrace-run-id')).toBe(first.headers.get('millrace-run-id'));
    expect(await second.text()).toBe(await first.text());
    const other = await post('Something else');
    expect(other.status).toBe(409);
    expect(await other.json()).toMatchObject({ error: { code: 'run_conflict' } });
  });

  it('waits for approvals, which need their scope', async () => {
    const api = await serve(host, {
      ...{ agent: { model: 'demo:demo', tools: [risky] }, api: { keys: [chatKey, allKey] } },
    });
    const chat = bearer(chatKey.key);
    const post = { method: 'POST', headers: chat };
    const begun = await api.send('/agent', { ...post, json: input('Use send_mail, please.') });
    const events = await eventsOf(begun);
    const end = events.at(-1);
    expect(end).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'interrupt' } });
    const [{ id }] = end.outcome.interrupts as [{ id: string }];
    const resume = [{ interruptId: id, status: 'resolved', payload: { approved: true } }];
    const refusal = { status: 403, code: 'not_authorized' };
    for (const [path, json] of [
      ['/agent', input('', { runId: 'r2', messages: [], resume })],
      [`/agent/runs/r/approvals/${id}`, { approved: true }],
    ] as const) {
      const rejected = await api.send(path, { ...post, json });
      const { error }: Json = await rejected.json();
      expect({ status: rejected.status, code: error.code }).toEqual(refusal);
    }
    const answer = { method: 'POST', headers: bearer(allKey.key), json: { approved: true } };
    const decided = await api.send(`/agent/runs/r/approvals/${id}`, answer);
    expect(decided.status).toBe(200);
    const own = begun.headers.get('millrace-run-id') ?? '';
    const rest = await eventsOf(await api.send(`/agent/runs/${own}`, { headers: chat }));
    expect(rest).toContainEqual(
      expect.objectContaining({ type: 'TOOL_CALL_RESULT', content: 'sent' }),
    );
    expect((await api.send(`/agent/runs/r/approvals/${id}`, answer)).status).toBe(409);
  });

  it('names the agent that is to run', async () => {
    const api = await serve(host, {
      prepare: (runtime) => runtime.agent('other', () => Promise.resolve('I am the other one.')),
    });
    const post = async (query: string, more?: object): Promise<Response> =>
      api.send(`/agent${query}`, { method: 'POST', json: input('Hello!', more) });
    const events = await eventsOf(await post('?agent=other'));
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'TEXT_MESSAGE_CONTENT', delta: 'I am the other one.' }),
    );
    for (const name of ['nobody', 'millrace:tool']) {
      const rejected = await post(`?agent=${name}`, { threadId: 't2', runId: 'r2' });
      expect(rejected.status).toBe(404);
      const { error }: Json = await rejected.json();
      expect(error).toMatchObject({ code: 'agent_not_registered' });
      expect(error.message).toContain(`no agent '${name}'; there are: 'agent', 'other'.`);
    }
    // The name is part of the request.
    expect((await post('?agent=agent')).status).toBe(409);
  });

  it('describes what an agent can do, and what a function can', async () => {
    const api = await serve(host, {
      agent: { model: 'demo:demo', tools: [risky] },
      prepare: (runtime) => runtime.agent('other', () => Promise.resolve('I am the other one.')),
    });
    const about = await api.json('/agent/capabilities', 200);
    expect(about).toMatchObject({ identity: { name: 'millrace' }, transport: { streaming: true } });
    expect(about.tools.items.map(({ name }: Json) => name)).toContain('send_mail');
    const other = await api.json('/agent/capabilities?agent=other', 200);
    expect(other).toMatchObject({ transport: { streaming: true }, humanInTheLoop: {} });
    expect(other.tools).toBeUndefined();
    for (const name of ['nobody', 'millrace:tool']) {
      const { error } = await api.json(`/agent/capabilities?agent=${name}`, 404);
      expect(error).toMatchObject({ code: 'agent_not_registered' });
      expect(error.message).toContain(`no agent '${name}'; there are: 'agent', 'other'.`);
    }
  });

  it('stops a run, and one that wants to end with its reader', async () => {
    const api = await serve(host, {
      agent: ({ text }, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error(`${text} was aborted`)));
        }),
    });
    const state = async (id: string): Promise<string> =>
      (await api.json(`/agent/runs/${id}`, 200, { headers: { accept: 'application/json' } })).state;
    const ended = async (id: string): Promise<void> => {
      for (const end = Date.now() + 10_000; (await state(id)) !== 'cancelled';) {
        if (Date.now() > end) throw new Error(`the run is ${await state(id)}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    await api.send('/agent', { method: 'POST', json: input('one') });
    expect((await api.send('/agent/runs/r', { method: 'DELETE' })).status).toBe(202);
    await ended('r');
    const more = { threadId: 't2', runId: 'r2' };
    const wanted = await api.send('/agent?onDisconnect=stop', {
      ...{ method: 'POST', json: input('two', more) },
    });
    await wanted.body?.cancel();
    await ended('r2');
    const wrong = await api.send('/agent?onDisconnect=maybe', {
      ...{ method: 'POST', json: input('three', { threadId: 't3', runId: 'r3' }) },
    });
    expect(wrong.status).toBe(400);
  });

  it('is rejected without the scope, and says what is wrong with a body', async () => {
    const api = await serve(host, { agent: { model: 'demo:demo' }, api: { keys: [readKey] } });
    const headers = bearer(readKey.key);
    const rejected = await api.send('/agent', { method: 'POST', headers, json: input('Hello!') });
    expect(rejected.status).toBe(403);
    expect(await rejected.json()).toMatchObject({ error: { code: 'not_authorized' } });
    expect((await api.send('/agent/runs', { headers })).status).toBe(200);
    expect((await api.send('/agent/runs')).status).toBe(401);
    expect((await api.send('/agent/runs/r', { method: 'DELETE', headers })).status).toBe(403);
    const open = await serve(host, { agent: { model: 'demo:demo' } });
    const bad = await open.send('/agent', { method: 'POST', body: '{"threadId":1' });
    expect(bad.status).toBe(400);
    expect(await bad.json()).toMatchObject({ error: { code: 'invalid_json' } });
    const large = input('x'.repeat(300_000), { messages: 7 });
    expect((await open.send('/agent', { method: 'POST', json: large })).status).toBe(400);
  });
});

it('serves the real client of AG-UI', async () => {
  const { url } = await serve('listen', { agent: { model: 'demo:demo' }, api: { keys: [allKey] } });
  const agent = new HttpAgent({ url: `${url}/agent`, headers: bearer(allKey.key) });
  agent.messages = [{ id: 'u', role: 'user', content: 'Hello!' }];
  const { newMessages } = await agent.runAgent();
  expect(newMessages).toMatchObject([{ role: 'assistant' }]);
});

it('needs no key on this machine, and always one where a host passes requests on', async () => {
  const { url } = await serve('listen', { agent: { model: 'demo:demo' } });
  const post = { method: 'POST', body: JSON.stringify(input('Hello!')) };
  expect((await fetch(`${url}/agent`, post)).status).toBe(200);
  const foreign = { ...post, headers: { origin: 'https://evil.example' } };
  expect((await fetch(`${url}/agent`, foreign)).status).toBe(403);
  const runtime = createRuntime({ storage: 'memory' });
  runtime.agent('agent', () => Promise.resolve('never'));
  const rejected = await runtime.fetch(new Request('http://localhost/agent', post));
  expect(rejected.status).toBe(401);
  expect(await rejected.json()).toMatchObject({ error: { code: 'unauthorized' } });
  const forged = new Request('http://localhost/agent/runs', {
    ...{ headers: { 'X-Millrace-API-Key': key } },
  });
  expect((await runtime.fetch(forged)).status).toBe(401);
  await runtime.close();
});
