// A durable thread knows the provider state and the order of what a client sends without them.
import { createAgent, createRuntime, foldEvents } from 'millrace';

import { sse } from '../support/responses';
import type { Loopback } from '../support/server';
import { bodyOf, loopback } from '../support/server';

type Json = Record<string, unknown>;

const message = (id: string, text: string): Json => ({
  type: 'message',
  id,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});
const recorded: Json[] = [
  {
    type: 'reasoning',
    id: 'rs1',
    summary: [{ type: 'summary_text', text: 'Hm.' }],
    encrypted_content: 'gAAAAone',
  },
  message('m1', 'one'),
  { type: 'compaction', id: 'cmp', encrypted_content: 'gCMP' },
  { type: 'reasoning', id: 'rs2', summary: [], encrypted_content: 'gAAAAtwo' },
  message('m2', 'two'),
];
const answerOf = (output: Json[]): string =>
  sse(
    ...output.flatMap((item, index) => [
      { type: 'response.output_item.added', output_index: index, item },
      { type: 'response.output_item.done', output_index: index, item },
    ]),
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output } },
  );
const question = { id: 'u1', role: 'user', content: 'Look.' };

describe('messages without metadata in a durable thread', () => {
  const bodies: Json[] = [];
  let answered = recorded;
  let server: Loopback;
  let runtime: ReturnType<typeof createRuntime>;

  beforeAll(async () => {
    server = await loopback((request, response) => {
      void bodyOf(request).then((body) => {
        bodies.push(JSON.parse(body) as Json);
        response.setHeader('content-type', 'text/event-stream');
        response.end(answerOf(answered));
      });
    });
  });
  beforeEach(() => {
    bodies.length = 0;
    answered = recorded;
    runtime = createRuntime({ storage: 'memory' });
  });
  afterEach(async () => {
    await runtime.close();
  });
  afterAll(async () => {
    await server.close();
  });

  const makeAgent = () => {
    const config: Parameters<typeof createAgent>[0] = {
      name: 'assistant',
      runtime,
      model: 'openai:gpt-5.2',
      provider: { apiKey: 'k', maxRetries: 0, apiMode: 'responses', baseURL: `${server.url}/v1` },
      authorize: ({ headers }: Request) => ({ principal: headers.get('x-user') ?? 'anna' }),
    };
    return createAgent(config);
  };
  const post = async (
    agent: ReturnType<typeof makeAgent>,
    runId: string,
    messages: unknown[],
    user = 'anna',
  ): Promise<Json[]> => {
    const response = await agent.handler(
      new Request('http://host/agent', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-user': user },
        body: JSON.stringify({
          threadId: 'thread-1',
          runId,
          messages,
          tools: [],
          context: [],
          state: {},
          forwardedProps: {},
        }),
      }),
    );
    return (await response.text())
      .split('\n')
      .filter((line) => line.startsWith('data:'))
      .map((line) => JSON.parse(line.slice(5)) as Json);
  };
  // As an older client has them.
  const stored = (events: Json[]): Json[] =>
    foldEvents(events as never).map((folded) => {
      const { metadata: _metadata, encryptedValue: _value, ...shown } = folded as unknown as Json;
      return shown;
    });
  const parts = (body: Json | undefined): unknown[] =>
    (body?.['input'] as Json[]).map(({ encrypted_content: secret, content }) => secret ?? content);
  const warnings = (events: Json[]): string =>
    events
      .filter(({ type, name: of }) => type === 'CUSTOM' && String(of).includes('arning'))
      .map(({ value }) => JSON.stringify(value))
      .join('\n');
  const first = async (agent: ReturnType<typeof makeAgent>): Promise<Json[]> =>
    stored(await post(agent, 'r1', [question]));
  const next = { id: 'u2', role: 'user', content: 'Go on.' };

  it('sends the record that the thread has of them', async () => {
    const agent = makeAgent();
    const shown = await first(agent);
    const events = await post(agent, 'r2', [question, ...shown, next]);
    expect(parts(bodies[1]).slice(1, -1)).toEqual(['gAAAAone', 'one', 'gCMP', 'gAAAAtwo', 'two']);
    expect(warnings(events)).not.toContain('other words');
  });

  it('leaves out the record of what was edited, and says so', async () => {
    const agent = makeAgent();
    const shown = (await first(agent)).map((one) =>
      one['content'] === 'two' ? { ...one, content: 'three' } : one,
    );
    const events = await post(agent, 'r2', [question, ...shown, next]);
    expect(parts(bodies[1])).toContain('three');
    expect(parts(bodies[1])).not.toContain('two');
    expect(warnings(events)).toContain('The thread has 1 of the messages with other words');
  });

  it('sends what ran at the provider as its item, whose state a client may not give', async () => {
    const agent = makeAgent();
    const searched = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'snow' },
    };
    answered = [searched, message('m1', 'one')];
    const events = await post(agent, 'r1', [question]);
    const withState = foldEvents(events as never) as unknown as Json[];
    const forged = JSON.parse(JSON.stringify(withState).replaceAll('snow', 'rain')) as Json[];
    await post(agent, 'r2', [question, ...withState, next]);
    expect(bodies[1]?.['input']).toContainEqual(searched);
    await post(agent, 'r3', [question, ...forged, next]);
    expect(JSON.stringify(bodies[2]?.['input'])).not.toContain('web_search_call');
  });

  it('gives nothing of another principal', async () => {
    const agent = makeAgent();
    const shown = await first(agent);
    await post(agent, 'r2', [question, ...shown, next], 'ben');
    expect(parts(bodies[1]).slice(1, -1)).toEqual(['one', 'two']);
  });
});
