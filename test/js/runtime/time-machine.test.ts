// What is made of stored runs: files that play them, their bytes once more, and other runs from one of their records.
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';

import { type Authorized, createAgent, type ForkOptions, type Runtime, tool } from 'millrace';

import { eventsOf, startModel } from '../../support/agents';
import { runtimeOf } from '../support/runtimes';

type Script = Parameters<typeof startModel>[0];

const authorize = (request: Request): Authorized | undefined => {
  const user = request.headers.get('user');
  const scopes = request.headers.get('scopes')?.split(' ') as Authorized['scopes'];
  return user === null ? undefined : { principal: user, scopes };
};

async function agentOf(runtime: Runtime, script: Script, options: object = {}) {
  const model = await startModel(script);
  const ran: string[] = [];
  const login = tool<{ user: string }>({
    name: 'login',
    input: {
      type: 'object',
      properties: { user: { type: 'string' }, pin: { type: 'string', writeOnly: true } },
    },
    run: ({ user }) => {
      ran.push(user);
      return `hello ${user}`;
    },
  });
  const agent = createAgent({
    model: 'openai:scripted',
    provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
    ...{ runtime, name: 'helper', tools: [login], authorize, ...options },
  });
  return { agent, model, ran };
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

interface Line {
  seq: number;
  fact?: { type: string; [name: string]: unknown };
  event?: { type: string; [name: string]: unknown };
}

const linesIn = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

const linesOf = async (runtime: Runtime, id: string): Promise<Line[]> =>
  linesIn(await textOf(runtime.export(id, { format: 'jsonl' })));

/** What a page has inside. */
function insideOf(page: string) {
  const between = (begin: string, end = '</script>'): string => {
    const from = page.indexOf(begin) + begin.length;
    return page.slice(from, page.indexOf(end, from));
  };
  const packed = between('id="records">').trim().split('\n');
  const bytes = Buffer.concat(packed.map((line) => Buffer.from(line, 'base64')));
  return {
    head: JSON.parse(between('id="head">')) as { run: object; messages: { content: string }[] },
    lines: linesIn(gunzipSync(bytes).toString()),
    policy: between('Content-Security-Policy" content="', '"'),
    style: between('<style>', '</style>'),
    script: between('<script>'),
  };
}

const hashOf = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const hostile = '</script><img src=x onerror=alert(1)><!--<script>';
const calling = (args: object): Script => [
  { text: 'I look.', calls: [{ id: 'c1', name: 'login', args }] },
  { text: 'Done.' },
];

describe('an exported run', () => {
  it('is one page with the records inside, and a policy that allows nothing else', async () => {
    const runtime = runtimeOf();
    const { agent } = await agentOf(runtime, [{ text: `Never mind ${hostile}` }]);
    const run = agent.run(`Hello ${hostile}`, { threadId: 't' });
    await run.text();
    const page = await textOf(runtime.export(run.id));
    const { head, lines, policy, style, script } = insideOf(page);
    expect(head.run).toMatchObject({ id: run.id, state: 'completed' });
    expect(head.messages.map(({ content }) => content)).toEqual([`Hello ${hostile}`]);
    expect(lines).toEqual(await linesOf(runtime, run.id));
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_line, at) => at + 1));
    expect(JSON.stringify(lines)).toContain(hostile);
    expect(policy).toMatch(/^default-src 'none'; /);
    expect(policy).toContain(`script-src ${hashOf(script)};`);
    expect(policy).toContain(`style-src ${hashOf(style)};`);
    // No text of the run is markup: the elements are those of the page.
    expect(page).not.toContain('<img');
    expect(page.match(/<script/g)).toHaveLength(3);
    expect(page.match(/<\/script/g)).toHaveLength(3);
    expect(page.match(/<!--/g)).toBeNull();
    const own = page.replace(/<script (?:id|type)[^]*?<\/script>/g, '');
    expect(own).not.toMatch(/https?:|src=|href=/);
  });

  it('is at most a megabyte larger than its journal', async () => {
    const runtime = runtimeOf();
    const word = (at: number): string => createHash('sha256').update(String(at)).digest('hex');
    const text = Array.from({ length: 60_000 }, (_value, at) => word(at)).join(' ');
    const { agent } = await agentOf(runtime, [{ text }]);
    const run = agent.run('go');
    await run.result;
    const page = await textOf(runtime.export(run.id));
    // The journal has the text at least.
    expect(text.length).toBeGreaterThan(3_500_000);
    expect(page.length).toBeLessThan(text.length + 1_000_000);
  });

  it('has no secrets: declared ones, those with usual names, and what else shows them', async () => {
    const runtime = runtimeOf();
    const { agent } = await agentOf(runtime, [
      { calls: [{ id: 'c1', name: 'login', args: { user: 'ada', pin: 'p1n-4711' } }] },
      { calls: [{ id: 'c2', name: 'login', args: { user: 'bob', password: 'open "sesame"' } }] },
      { calls: [{ id: 'c3', name: 'login', args: { user: 'cid', hint: 'blue-whale' } }] },
      { text: 'The pin p1n-4711 and the word open "sesame" and blue-whale are fine.' },
    ]);
    const run = agent.run('My pin is p1n-4711.', { threadId: 't' });
    await run.text();
    const secrets = /p1n-4711|sesame|blue-whale/;
    for (const format of ['html', 'jsonl'] as const) {
      const text = await textOf(runtime.export(run.id, { format, secrets: ['hint'] }));
      const { lines, head } =
        format === 'html' ? insideOf(text) : { lines: linesIn(text), head: '' };
      expect(JSON.stringify([lines, head])).not.toMatch(secrets);
      const args = lines.flatMap(({ event }) => (event?.type === 'ToolArgs' ? [event] : []));
      expect(args.map(({ delta }) => JSON.parse(String(delta)) as unknown)).toEqual([
        { user: 'ada', pin: '[redacted]' },
        { user: 'bob', password: '[redacted]' },
        { user: 'cid', hint: '[redacted]' },
      ]);
      const answer = lines.map(({ event }) => (event?.type === 'TextDelta' ? event['delta'] : ''));
      expect(answer.join('')).toBe(
        'The pin [redacted] and the word [redacted] and [redacted] are fine.',
      );
      const hashes = lines.flatMap(({ fact }) => (fact?.type === 'ToolIntent' ? [fact] : []));
      expect(new Set(hashes.map(({ argsHash }) => argsHash))).toEqual(new Set(['[redacted]']));
    }
    // Without a name, an argument is shown.
    expect(await textOf(runtime.export(run.id, { format: 'jsonl' }))).toContain('blue-whale');
  });

  it('names what is wrong', async () => {
    const runtime = runtimeOf();
    const { agent } = await agentOf(runtime, [{ text: 'Hi' }]);
    const run = agent.run('go', { principal: 'ada' });
    await run.text();
    const failing = async (id: string, options: object): Promise<unknown> =>
      textOf(runtime.export(id, options)).catch((error: { code?: string }) => error.code);
    expect(await failing('run_none', {})).toBe('run_not_found');
    expect(await failing(run.id, { principal: 'bob' })).toBe('run_not_found');
    expect(await failing(run.id, { principal: 'ada' })).toContain('<!doctype html>');
    expect(() => runtime.export(run.id, { format: 'pdf' as never })).toThrow("'html' or 'jsonl'");
    expect(() => runtime.export(run.id, { secret: [] } as never)).toThrow('secret');
  });
});

describe('a replayed run', () => {
  it('is the bytes that its readers got, without a model and without a tool', async () => {
    const runtime = runtimeOf({ api: { keys: [{ key: 'k' }] } });
    const { agent, model, ran } = await agentOf(runtime, calling({ user: 'ada' }));
    const ask = (method: string, path: string, body?: string, accept = 'text/event-stream') =>
      agent.handler(
        new Request(`http://localhost/agent${path}`, {
          ...{ method, headers: { user: 'local', accept } },
          ...(body !== undefined && { body }),
        }),
      );
    const messages = [{ id: 'u1', role: 'user', content: 'go' }];
    const body = { threadId: 't', runId: 'r', messages, tools: [], context: [], state: {} };
    const live = await ask('POST', '', JSON.stringify(body));
    const id = live.headers.get('millrace-run-id') as string;
    const address = `http://localhost/api/agent/stream?operationId=${id}&includeHistory=true`;
    const headers = { 'X-Millrace-API-Key': 'k' };
    const operation = await runtime.fetch(new Request(address, { headers }));
    const [bytes, events] = await Promise.all([live.text(), operation.text()]);
    const older = await (await ask('GET', `/runs/${id}?protocolVersion=0.0.45`)).text();
    const proto = 'application/vnd.ag-ui.event+proto';
    const binary = await ask('GET', `/runs/${id}?protocolVersion=1.0.0`, undefined, proto);
    expect(binary.headers.get('content-type')).toBe(proto);
    const frames = new Uint8Array(await binary.arrayBuffer());
    const requests = model.chatBodies.length;
    await model.close();

    expect(bytes).toContain('TOOL_CALL_RESULT');
    expect(await runtime.replay(id)).toBe(bytes);
    expect(await runtime.replay(id, { as: 'ag_ui', principal: 'local' })).toBe(bytes);
    expect(await runtime.replay(id, { protocolVersion: '0.0.45' })).toBe(older);
    const options = { as: 'ag_ui_proto', protocolVersion: '1.0.0' } as const;
    expect(Buffer.from(await runtime.replay(id, options)).equals(frames)).toBe(true);
    // The first frame greets a reader.
    const shown = events.slice(events.indexOf('\n\n') + 2);
    expect(shown).toContain('agent_runtime_end');
    expect(await runtime.replay(id, { as: 'lobe' })).toBe(shown);
    expect(ran).toEqual(['ada']);
    expect(model.chatBodies).toHaveLength(requests);
  });

  it('names what is wrong', async () => {
    const runtime = runtimeOf();
    const { agent } = await agentOf(runtime, [{ text: 'a b', hang: true }]);
    const run = agent.run('go', { principal: 'ada' });
    await run.started;
    const failing = (options: object) =>
      runtime.replay(run.id, options).catch((error: { code?: string }) => error.code);
    expect(await failing({})).toBe('invalid_state');
    expect(await failing({ principal: 'bob' })).toBe('run_not_found');
    await runtime.stop(run.id);
    await run.result;
    expect(await failing({ as: 'soap' })).toBe('invalid_argument');
    expect(await failing({})).toContain('RUN_STARTED');
  });
});

describe('a forked run', () => {
  const seqOf = (lines: Line[], kind: 'fact' | 'event', type: string): number =>
    lines.find((line) => line[kind]?.type === type)?.seq ?? 0;

  it('goes on from a result, which may be edited, and calls nothing again', async () => {
    const runtime = runtimeOf();
    const { agent, model, ran } = await agentOf(runtime, (body) => {
      const last = body.messages.at(-1);
      return last?.role === 'tool'
        ? { text: `It is: ${String(last.content)}` }
        : { text: 'I look.', calls: [{ id: 'c1', name: 'login', args: { user: 'ada' } }] };
    });
    const run = agent.run('go', { threadId: 't' });
    expect(await run.text()).toContain('It is: hello ada');
    const lines = await linesOf(runtime, run.id);
    const result = seqOf(lines, 'fact', 'ToolResult');

    // At the result, where the ledger has it, and behind the next checkpoint, where the state has it.
    for (const at of [result, result + 1, result + 3]) {
      const results = { c1: 'hello bob' };
      const forked = await runtime.fork(run.id, { at, results });
      expect(forked).toMatchObject({ name: 'helper', kind: 'agent' });
      expect(forked.id).not.toBe(run.id);
      expect(forked.threadId).not.toBe('t');
      expect(await runtime.attach(forked.id).text()).toContain('It is: hello bob');
      const [accepted] = await linesOf(runtime, forked.id);
      expect(accepted?.fact).toMatchObject({
        ...{ type: 'Accepted', fromRun: run.id, fromSeq: at, input: { edits: { results } } },
      });
      const thread = await runtime.storage().thread.getMessages(forked.threadId as string);
      expect(thread.map(({ role, content }) => [role, content])).toEqual([
        ['user', 'go'],
        ['assistant', 'I look.'],
        ['tool', 'hello bob'],
        ['assistant', 'It is: hello bob'],
      ]);
    }
    const same = await runtime.fork(run.id, { at: result });
    expect(await runtime.attach(same.id).text()).toContain('It is: hello ada');
    expect(ran).toEqual(['ada']);
    // The other run is as it was.
    expect(await linesOf(runtime, run.id)).toEqual(lines);
    expect(model.chatBodies).toHaveLength(2 + 4);
  });

  it('begins at any step of a long run', async () => {
    const runtime = runtimeOf();
    const turns = 40;
    const { agent, model, ran } = await agentOf(
      runtime,
      (body) => {
        const turn = body.messages.filter(({ role }) => role === 'tool').length;
        const call = { id: `c${turn}`, name: 'login', args: { user: `u${turn}` } };
        return turn < turns ? { calls: [call] } : { text: `${turn} results` };
      },
      { limits: { maxSteps: 100, maxRepeats: 100 } },
    );
    const run = agent.run('go', { threadId: 't' });
    expect(await run.text()).toBe(`${turns} results`);
    const lines = await linesOf(runtime, run.id);
    const resultOf = (call: string): number =>
      lines.find(({ fact }) => fact?.type === 'ToolResult' && fact['call'] === call)?.seq ?? 0;

    // At the fact of a result, and behind its event: the checkpoints of both were dropped.
    for (const [call, more] of [
      ['c2', 0],
      ['c5', 1],
    ] as const) {
      const [before, requests] = [ran.length, model.chatBodies.length];
      const results = { [call]: 'edited' };
      const forked = await runtime.fork(run.id, { at: resultOf(call) + more, results });
      expect(await runtime.attach(forked.id).text()).toBe(`${turns} results`);
      const known = Number(call.slice(1)) + 1;
      expect(ran.length - before).toBe(turns - known);
      const first =
        model.chatBodies[requests]?.messages.filter(({ role }) => role === 'tool') ?? [];
      expect(first.map(({ content }) => content)).toEqual([
        ...Array.from({ length: known - 1 }, (_, n) => `hello u${n}`),
        'edited',
      ]);
      const thread = await runtime.storage().thread.getMessages(forked.threadId as string);
      expect(thread.filter(({ role }) => role === 'tool')).toHaveLength(turns);
      const [accepted] = await linesOf(runtime, forked.id);
      expect(accepted?.fact).toMatchObject({ fromRun: run.id, input: { edits: { results } } });
    }
    const failing = runtime.fork(run.id, { at: resultOf('c2') - 1, results: { c2: 'x' } });
    await expect(failing).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('does not repeat a call that had started, by its effect', async () => {
    const runtime = runtimeOf();
    const { agent, ran } = await agentOf(runtime, (body) => {
      const last = body.messages.at(-1);
      return last?.role === 'tool'
        ? { text: String(last.content) }
        : { calls: [{ id: 'c1', name: 'login', args: { user: 'ada' } }] };
    });
    const run = agent.run('go', { threadId: 't' });
    await run.text();
    const at = seqOf(await linesOf(runtime, run.id), 'fact', 'ToolStarted');
    const forked = await runtime.fork(run.id, { at });
    expect(await runtime.attach(forked.id).text()).toMatch(/unknown; it was not repeated/);
    // Before that, it is a call as any other.
    const again = await runtime.fork(run.id, { at: at - 1 });
    expect(await runtime.attach(again.id).text()).toBe('hello ada');
    expect(ran).toEqual(['ada', 'ada']);
  });

  it('takes the place of a result that failed', async () => {
    const logged = jest.spyOn(console, 'error').mockImplementation();
    const runtime = runtimeOf();
    const broken = tool({
      name: 'login',
      run: () => Promise.reject(new Error('no network')),
    });
    const { agent } = await agentOf(
      runtime,
      (body) => {
        const last = body.messages.at(-1);
        return last?.role === 'tool'
          ? { text: String(last.content) }
          : { calls: [{ id: 'c1', name: 'login', args: {} }] };
      },
      { tools: [broken] },
    );
    const run = agent.run('go', { threadId: 't' });
    expect(await run.text()).toContain('no network');
    const at = seqOf(await linesOf(runtime, run.id), 'fact', 'ToolResult');
    for (const place of [at, at + 3]) {
      const forked = await runtime.fork(run.id, { at: place, results: { c1: 'in' } });
      expect(await runtime.attach(forked.id).text()).toBe('in');
      const thread = await runtime.storage().thread.getMessages(forked.threadId as string);
      const result = thread.find(({ role }) => role === 'tool');
      expect(result).toMatchObject({ content: 'in' });
      expect(result).not.toHaveProperty('error');
    }
    logged.mockRestore();
  });

  it('goes on from the first record with another message', async () => {
    const runtime = runtimeOf();
    const { agent } = await agentOf(runtime, (body) => ({
      text: `You wrote: ${String(body.messages.at(-1)?.content)}`,
    }));
    const run = agent.run('one', { threadId: 't' });
    await run.text();
    const forked = await runtime.fork(run.id, { at: 1, message: 'two', threadId: 'other' });
    expect(await runtime.attach(forked.id).text()).toBe('You wrote: two');
    const thread = await runtime.storage().thread.getMessages('other');
    expect(thread.map(({ content }) => content)).toEqual(['two', 'You wrote: two']);
    const first = await runtime.storage().thread.getMessages('t');
    expect(first.map(({ content }) => content)).toEqual(['one', 'You wrote: one']);
  });

  it('of a run that waits asks the user again', async () => {
    const runtime = runtimeOf();
    const mail = tool({ name: 'login', approval: true, run: () => 'sent' });
    const script = calling({ user: 'ada' }) as { text: string }[];
    const { agent } = await agentOf(runtime, [...script, ...script], { tools: [mail] });
    const run = agent.run('go', { threadId: 't' });
    await run.result;
    const at = (await runtime.get(run.id))?.lastSeq as number;
    const forked = await runtime.fork(run.id, { at });
    await runtime.attach(forked.id).result;
    const open = await runtime.approvals.list();
    expect(open.map(({ runId }) => runId).sort()).toEqual([run.id, forked.id].sort());
    const own = open.find(({ runId }) => runId === forked.id);
    await runtime.approvals.decide(own?.id as string, true);
    await runtime.attach(forked.id).result;
    expect(await runtime.get(forked.id)).toMatchObject({ state: 'completed' });
    expect(await runtime.get(run.id)).toMatchObject({ state: 'waiting' });
  });

  it('names what is wrong', async () => {
    const runtime = runtimeOf();
    const { agent } = await agentOf(runtime, calling({ user: 'ada' }));
    const run = agent.run('go', { threadId: 't', principal: 'ada' });
    await run.text();
    const last = (await runtime.get(run.id))?.lastSeq as number;
    const failing = (options: Partial<ForkOptions>, id = run.id) =>
      runtime.fork(id, options as ForkOptions).catch((error: { code?: string }) => error.code);
    expect(await failing({ at: last + 1 })).toBe('cursor_ahead');
    expect(await failing({ at: 0 })).toBe('invalid_argument');
    expect(await failing({})).toBe('invalid_argument');
    expect(await failing({ at: last }, `run_${'0'.repeat(32)}`)).toBe('run_not_found');
    expect(await failing({ at: last, principal: 'bob' })).toBe('run_not_found');
    expect(await failing({ at: last, results: { c9: 'x' } })).toBe('invalid_argument');
    expect(await failing({ at: 1.5 })).toBe('invalid_argument');
    // The run is over there: nothing would come of the edit.
    expect(await failing({ at: last, message: 'another' })).toBe('invalid_argument');
    expect(await failing({ at: last, results: { c1: 'x' } })).toBe('invalid_argument');
    // The call has no result yet.
    expect(await failing({ at: 5, results: { c1: 'x' } })).toBe('invalid_argument');
    expect(await failing({ at: 5, threadId: 't' })).toBe('run_conflict');
    const job = runtime.job('report', () => Promise.resolve('done'));
    const done = await job.start(null);
    await runtime.attach(done.id).result;
    expect(await failing({ at: 1 }, done.id)).toBe('invalid_argument');
    await expect(runtime.fork(run.id, { at: 1, result: {} } as never)).rejects.toThrow('result');
  });

  it('begins a sub-agent anew, unless it made calls that may not run twice', async () => {
    const runtime = runtimeOf();
    const ran: string[] = [];
    const toolOf = (name: string, effect: 'read' | 'once') =>
      tool({ name, effect, description: name, run: () => (ran.push(name), `${name} is done`) });
    const childModel = await startModel((body) => {
      const done = body.messages.filter(({ role }) => role === 'tool').length;
      const call = ['look', 'pay'][done];
      return call === undefined
        ? { text: 'paid' }
        : { calls: [{ id: call, name: call, args: {} }] };
    });
    const helper = createAgent({
      model: 'openai:scripted',
      provider: { baseURL: childModel.url, apiKey: 'k', maxRetries: 0 },
      tools: [toolOf('look', 'read'), toolOf('pay', 'once')],
    });
    const { agent } = await agentOf(
      runtime,
      (body) => {
        const last = body.messages.at(-1);
        return last?.role === 'tool'
          ? { text: `It is ${String(last.content)}` }
          : { calls: [{ id: 'c1', name: 'helper', args: { task: 'x' } }] };
      },
      { agents: [{ name: 'helper', description: 'Helps.', agent: helper }] },
    );
    const run = agent.run('go', { threadId: 't' });
    expect(await run.text()).toContain('It is paid');
    const lines = await linesOf(runtime, run.id);
    const of = (type: string, call: string): number =>
      lines.find(({ fact }) => fact?.type === type && fact['call'] === call)?.seq ?? 0;
    const forkedAt = async (at: number): Promise<string> => {
      const { id } = await runtime.fork(run.id, { at });
      return runtime.attach(id).text();
    };

    // It has only looked: it begins anew.
    expect(ran.splice(0)).toEqual(['look', 'pay']);
    expect(await forkedAt(of('ToolResult', 'look'))).toContain('It is paid');
    expect(ran.splice(0)).toEqual(['look', 'pay']);

    // It has paid.
    const began = of('ToolStarted', 'c1') - 1;
    const ended = of('ToolResult', 'c1');
    await expect(forkedAt(of('ToolResult', 'pay'))).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(`that can be forked are ${began} and ${ended}.`) as string,
    });
    expect(await forkedAt(ended)).toContain('It is paid');
    expect(ran.splice(0)).toEqual([]);
    expect(await forkedAt(began)).toContain('It is paid');
    expect(ran.splice(0)).toEqual(['look', 'pay']);
  });

  it('is begun over HTTP by those who may read and start', async () => {
    const runtime = runtimeOf();
    const { agent } = await agentOf(runtime, () => ({ text: 'Hi' }));
    const run = agent.run('go', { threadId: 't', principal: 'ada' });
    await run.text();
    const ask = async (headers: Record<string, string>, body: object = { at: 1 }) => {
      const url = `http://localhost/agent/runs/${run.id}/fork`;
      const request = new Request(url, { method: 'POST', headers, body: JSON.stringify(body) });
      return agent.handler(request);
    };
    const forked = await ask({ user: 'ada' });
    expect(forked.status).toBe(201);
    const { id, principal } = (await forked.json()) as { id: string; principal: string };
    expect(principal).toBe('ada');
    expect((await eventsOf(runtime.attach(id))).at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    expect((await ask({ user: 'bob' })).status).toBe(404);
    expect((await ask({ user: 'ada', scopes: 'start' })).status).toBe(403);
    expect((await ask({ user: 'ada', scopes: 'read' })).status).toBe(403);
    expect((await ask({})).status).toBe(403);
    expect((await ask({ user: 'ada' }, { at: 999 })).status).toBe(409);
  });
});
