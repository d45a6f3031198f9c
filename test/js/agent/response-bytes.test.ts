// The AG-UI response of an agent's run: written by the engine, whatever else reads the run.
import { createAgent, pipeAGUI, toAGUIResponse, tool } from 'millrace';
import type { AGUIEvent, EngineAgent } from 'millrace';

import { startModel } from '../../support/scripted-model';
import type { ScriptedModel, Turn } from '../../support/scripted-model';

let model: ScriptedModel;
afterEach(() => model.close());

const add = tool<{ a: number; b: number }>({
  name: 'add',
  input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
  effect: 'read',
  run: ({ a, b }, { progress }) => {
    progress({ half: a });
    return { content: String(a + b), success: true, state: { sum: a + b } };
  },
});

async function agentOf(turns: Turn[]): Promise<EngineAgent> {
  model = await startModel(turns);
  return createAgent({
    model: 'openai:scripted',
    provider: { baseURL: `${model.url}/v1`, apiKey: 'k' },
    tools: [add],
  });
}

const sum: Turn[] = [
  { text: 'I add', calls: [{ id: 'c1', name: 'add', args: { a: 2, b: 3 } }] },
  { text: 'It is five' },
];

function eventsIn(body: string): AGUIEvent[] {
  const records = body.split('\n\n').filter((record) => record.startsWith('data: '));
  return records.map((record) => JSON.parse(record.slice(6)) as AGUIEvent);
}

const options = { protocolVersion: '1.0', keepAliveMs: 0 };
// Ids are new in each run.
const shape = ({ type, ...event }: AGUIEvent): string =>
  type === 'CUSTOM' ? `${type} ${(event as { name: string }).name}` : type;

/** What pipeAGUI writes to. */
class Out {
  headersSent = false;
  body = '';
  writeHead(): void {
    this.headersSent = true;
  }
  on(): this {
    return this;
  }
  off(): this {
    return this;
  }
  write(bytes: Uint8Array): boolean {
    this.body += Buffer.from(bytes).toString();
    return true;
  }
  readonly writableFinished = true;
  end(): void {}
}

describe('the bytes of an agent', () => {
  it('are the same as those of its events, which are encoded here', async () => {
    const agent = await agentOf([...sum, ...sum]);
    const straight = eventsIn(await agent.run('2 + 3').response(options).text());
    // A list of events, which the engine knows nothing of.
    const list: AGUIEvent[] = [];
    for await (const event of agent.run('2 + 3')) list.push(event);
    const encoded = eventsIn(await toAGUIResponse(list, options).text());
    expect(straight.map(shape)).toEqual(encoded.map(shape));
    expect(straight.map(shape)).toEqual(
      expect.arrayContaining([
        'STEP_STARTED',
        'CUSTOM millrace.tool_progress',
        'TOOL_CALL_RESULT',
        'CUSTOM millrace.tool_result',
        'CUSTOM millrace.run_usage',
        'RUN_FINISHED',
      ]),
    );
    const custom = straight.find((event) => shape(event) === 'CUSTOM millrace.tool_result');
    expect(custom).toMatchObject({ value: { toolCallId: 'c1', state: { sum: 5 } } });
  });

  it('make no event an object on the JavaScript thread', async () => {
    const text = Array.from({ length: 200 }, (_, at) => `word${at}`).join(' ');
    const agent = await agentOf([{ text }, { text }]);
    const parse = jest.spyOn(JSON, 'parse');
    const stringify = jest.spyOn(JSON, 'stringify');
    const words = (): number =>
      [...parse.mock.calls, ...stringify.mock.calls].filter(([value]) =>
        (typeof value === 'string' ? value : String(value)).includes('TEXT_MESSAGE'),
      ).length;
    try {
      const out = new Out();
      await pipeAGUI(agent.run('go'), out as never, options);
      expect(out.body).toContain('word199');
      expect(words()).toBe(0);
      // The measure sees them where there are any.
      for await (const event of agent.run('go')) void event;
      expect(words()).toBeGreaterThan(0);
    } finally {
      parse.mockRestore();
      stringify.mockRestore();
    }
  });

  it('of a handler come without the answer as a text beside them, which nobody reads', async () => {
    const text = Array.from({ length: 200 }, (_, at) => `word${at}`).join(' ');
    const agent = await agentOf([{ text }, { text }]);
    const parse = jest.spyOn(JSON, 'parse');
    const answers = (): number =>
      parse.mock.calls.filter(([value]) => String(value).includes(text)).length;
    try {
      const messages = [{ id: 'm1', role: 'user', content: 'go' }];
      const body = JSON.stringify({ threadId: 't', runId: 'r', messages });
      const request = new Request('http://localhost/agent', { method: 'POST', body });
      expect(await (await agent.handler(request)).text()).toContain('word199');
      expect(answers()).toBe(0);
      // The measure sees it where somebody may ask for it.
      const run = agent.run('go');
      await run.response(options).text();
      expect(await run.text()).toBe(text);
      expect(answers()).toBeGreaterThan(0);
    } finally {
      parse.mockRestore();
    }
  });

  it('come beside the events for readers of both', async () => {
    const agent = await agentOf(sum);
    const run = agent.run('2 + 3');
    const response = run.response(options);
    const events: AGUIEvent[] = [];
    const [body] = await Promise.all([
      response.text(),
      (async () => {
        for await (const event of run) events.push(event);
      })(),
    ]);
    // Usage and reason of a turn have a place of their own in the response, or none.
    const shown = events.map(shape).filter((one) => !/millrace\.(finish|usage)$/.test(one));
    expect(eventsIn(body).map(shape)).toEqual(shown);
    expect(await run.text()).toBe('It is five');
  });

  it('become events for whoever reads these later', async () => {
    const agent = await agentOf(sum);
    const run = agent.run('2 + 3');
    const body = await run.response(options).text();
    for (let time = 0; time < 2; time += 1) {
      const events: AGUIEvent[] = [];
      for await (const event of run) events.push(event);
      expect(events.map(shape)).toEqual(eventsIn(body).map(shape));
    }
    expect(await run.result).toMatchObject({ status: 'completed', text: 'It is five' });
  });

  it('are not kept when nothing is', async () => {
    const agent = await agentOf([{ text: 'once' }]);
    const run = agent.run('go', { replayBufferSize: 0 });
    await run.response(options).text();
    const read = async (): Promise<void> => {
      for await (const event of run) void event;
    };
    await expect(read()).rejects.toMatchObject({ code: 'replay_unavailable' });
  });

  it('end the run when their reader leaves and nobody waits for it', async () => {
    const agent = await agentOf([{ text: 'and so on', hang: true }]);
    const run = agent.run('go');
    const reader = (run.response(options).body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.cancel();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
  });

  it('come of a run that was begun before, too', async () => {
    const agent = await agentOf(sum);
    const run = agent.run('2 + 3');
    await new Promise((resolve) => setImmediate(resolve));
    const events = eventsIn(await toAGUIResponse(run, options).text());
    expect(events.map(({ type }) => type)).toContain('TOOL_CALL_RESULT');
    expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  });

  it('are those of a run that is stopped before it begins', async () => {
    const agent = await agentOf([]);
    const run = agent.run('go');
    const response = run.response(options);
    run.stop();
    const events = eventsIn(await response.text());
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } });
    expect(model.asked).toEqual([]);
  });
});
