// connectAgent of ResumableHttpAgent: a page that comes to a thread gets its messages and the run that goes on there,
// from `millrace serve` and from the handler of an agent.
import { createAgent, createRuntime, tool } from 'millrace';

import { ResumableHttpAgent } from '../../../dist/cjs/entry/ag-ui';
import { framesOf, RecordedServer } from '../../support/recorded-server';
import type { Turn } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';

interface Host {
  url: string;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}
type Script = (index: number) => Turn;

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const turnsOf = async (script: Script) => {
  const model = await startModel((_body, index) => script(index));
  open.push(model);
  return model;
};

const hosts: Record<string, (script: Script) => Promise<Host>> = {
  'millrace serve': async (script) => {
    const model = await turnsOf(script);
    const server = new RecordedServer(
      ['--model', 'openai:scripted', '--tools', 'calculator', '--approval', 'always'],
      {
        OPENAI_BASE_URL: `${model.url}/v1`,
        OPENAI_API_KEY: 'a.test-key',
      },
    );
    open.push(server);
    await server.start();
    return { url: server.url };
  },
  'agent.handler': async (script) => {
    const model = await turnsOf(script);
    const runtime = createRuntime({ storage: 'memory' });
    open.push(runtime);
    const tools = [
      tool({ name: 'calculator', input: { type: 'object' }, approval: true, run: () => '2' }),
    ];
    const agent = createAgent({
      ...{ model: 'openai:m', provider: { baseURL: model.url, apiKey: 'k' }, tools, runtime },
      ...{ name: 'a', authorize: () => ({ principal: 'ada' }) },
    });
    const fetch: Host['fetch'] = (url, init) => agent.handler(new Request(url, init));
    return { url: 'http://localhost/agent', fetch };
  },
};

const question = { id: 'u1', role: 'user' as const, content: 'Go.' };
const textsOf = (agent: ResumableHttpAgent): [string, unknown][] =>
  agent.messages.map(({ role, content }) => [role, content]);

describe.each(Object.entries(hosts))('connectAgent at %s', (_, start) => {
  const agentAt = (host: Host): ResumableHttpAgent =>
    new ResumableHttpAgent({ ...(host as { url: string }), threadId: 't' });
  const typesOf = async (agent: ResumableHttpAgent, onDelta?: () => void): Promise<string[]> => {
    const types: string[] = [];
    await agent.connectAgent(undefined, {
      onEvent: ({ event }) => {
        types.push(event.type);
        if ((event.type as string) === 'TEXT_MESSAGE_CONTENT') onDelta?.();
      },
    });
    return types;
  };
  const connectAs = (host: Host, body: object): Promise<Response> =>
    (host.fetch ?? fetch)(`${host.url}/connect`, { method: 'POST', body: JSON.stringify(body) });

  it('gives no messages in a thread that is new', async () => {
    const agent = agentAt(await start(() => ({ text: 'hello' })));
    expect(await typesOf(agent)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED']);
    expect(agent.messages).toEqual([]);
    expect(agent.position).toBeUndefined();
  });

  it('gives the messages of a thread whose runs are over', async () => {
    const host = await start(() => ({ text: 'hello there' }));
    const first = agentAt(host);
    first.addMessage(question);
    await first.runAgent({ runId: 'r1' });
    const second = agentAt(host);
    await second.connectAgent();
    expect(second.messages).toEqual(first.messages);
    second.addMessage({ id: 'u2', role: 'user', content: 'Again.' });
    await second.runAgent({ runId: 'r2' });
    expect(textsOf(second)).toEqual([
      ['user', 'Go.'],
      ['assistant', 'hello there'],
      ['user', 'Again.'],
      ['assistant', 'hello there'],
    ]);
  });

  it('goes on with the answer that is being written', async () => {
    let release = (): void => undefined;
    const waits = new Promise<void>((resolve) => (release = resolve));
    const host = await start((index) =>
      index === 0 ? { text: 'before' } : { text: 'one two three', waits },
    );
    const first = agentAt(host);
    first.addMessage(question);
    await first.runAgent({ runId: 'r1' });
    first.addMessage({ id: 'u2', role: 'user', content: 'More.' });
    const running = first.runAgent({ runId: 'r2' });
    const second = agentAt(host);
    while (second.position === undefined) {
      second.messages = [];
      await second.connectAgent(undefined, {
        onTextMessageContentEvent: release,
      });
    }
    await running;
    expect(textsOf(second)).toEqual([
      ['user', 'Go.'],
      ['assistant', 'before'],
      ['user', 'More.'],
      ['assistant', 'one two three'],
    ]);
    expect(second.messages).toEqual(first.messages);
  });

  it('gives the question that waits for the user, which can be answered', async () => {
    const host = await start((index) =>
      index === 0
        ? {
            text: 'I count.',
            calls: [{ id: 'c1', name: 'calculator', args: { expression: '1+1' } }],
          }
        : { text: 'It is 2.' },
    );
    const first = agentAt(host);
    first.addMessage(question);
    await first.runAgent({ runId: 'r1' });
    const second = agentAt(host);
    const types = await typesOf(second);
    expect(types.slice(0, 2)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT']);
    expect(types.filter((type) => type === 'TOOL_CALL_START')).toHaveLength(1);
    expect(second.messages).toEqual(first.messages);
    const [interrupt] = second.pendingInterrupts;
    await second.runAgent({
      runId: 'r2',
      resume: [
        { interruptId: interrupt?.id ?? '', status: 'resolved', payload: { approved: true } },
      ],
    });
    expect(second.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'It is 2.' });
  });

  it('shows an older client nothing that it does not know', async () => {
    const host = await start(() => ({ text: 'hello there' }));
    const first = agentAt(host);
    first.addMessage(question);
    await first.runAgent({ runId: 'r1' });
    const text = await (await connectAs(host, { threadId: 't' })).text();
    const [, snapshot] = framesOf(text);
    expect(snapshot?.event['messages']).toMatchObject([
      question,
      { role: 'assistant', content: 'hello there' },
    ]);
    expect(text).not.toContain('createdAt');
  });

  it('needs a thread', async () => {
    const host = await start(() => ({ text: 'hello' }));
    for (const body of [{}, { threadId: '' }, { threadId: 7 }, { threadId: 't', runId: 7 }, []]) {
      const response = await connectAs(host, body);
      const { error } = (await response.json()) as { error: { code: string } };
      expect([response.status, error.code]).toEqual([400, 'invalid_body']);
    }
  });
});

it('gives another principal nothing of a thread, and nobody without `authorize`', async () => {
  const model = await turnsOf(() => ({ text: 'hello' }));
  const runtime = createRuntime({ storage: 'memory' });
  open.push(runtime);
  const made = (name: string, authorize?: (request: Request) => { principal: string }) =>
    createAgent({
      ...{ model: 'openai:m', provider: { baseURL: model.url, apiKey: 'k' }, runtime, name },
      ...(authorize && { authorize }),
    });
  const agent = made('a', (request) => ({ principal: request.headers.get('user') ?? '' }));
  const send = (path: string, user: string, of = agent): Promise<Response> =>
    of.handler(
      new Request(`http://localhost/agent${path}`, {
        ...{ method: 'POST', headers: { user } },
        body: JSON.stringify({ threadId: 't', runId: `r-${user}`, messages: [question] }),
      }),
    );
  await (await send('', 'ada')).text();
  expect(await (await send('/connect', 'ada')).text()).toContain('hello');
  expect(await (await send('/connect', 'eve')).text()).not.toContain('hello');
  expect((await send('/connect', 'ada', made('b'))).status).toBe(403);
});
