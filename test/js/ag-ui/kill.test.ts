// ResumableHttpAgent against `millrace serve --storage`, which is killed while it answers.
import { ResumableHttpAgent } from '../../../dist/cjs/entry/ag-ui';
import { framesOf, RecordedServer } from '../../support/recorded-server';
import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';

const textOf = (text: string, hang = false): Turn => ({ text, hang });

let server: RecordedServer;
let model: ScriptedModel;

// The server keeps its port over its kills.
async function serve(script: Turn[]): Promise<void> {
  model = await startModel(script);
  const args = ['--model', 'openai:scripted'];
  server = new RecordedServer(args, {
    OPENAI_BASE_URL: `${model.url}/v1`,
    OPENAI_API_KEY: 'a.test-key',
  });
  await server.start();
  args.push('--port', new URL(server.url).port);
}
afterEach(async () => {
  await server.close();
  await model.close();
});

interface Seen {
  type: string;
  delta?: unknown;
}
const seenOf = ({ type, delta }: Seen): Seen => ({ type, delta });
const reconnect = { minDelayMs: 10, maxDelayMs: 100, maxAttempts: 200 };
const question = { id: 'u1', role: 'user' as const, content: 'Go.' };

async function wholeRun(run: string): Promise<Seen[]> {
  const text = await (await server.get(`/${run}`)).text();
  return framesOf(text).map(({ event }) => seenOf(event));
}

it('gives every event once over a server that is killed twice', async () => {
  await serve([textOf('One', true), textOf('Two', true), textOf('Done.')]);
  const agent = new ResumableHttpAgent({ url: server.url, threadId: 't', reconnect });
  agent.addMessage(question);
  const seen: Seen[] = [];
  // The fourth request to a model is one too many.
  const kills = ['One', 'Two'];
  let killing: Promise<void> = Promise.resolve();
  await agent.runAgent(
    { runId: 'r' },
    {
      onEvent: ({ event }) => {
        seen.push(seenOf(event));
        if (kills.length === 0 || (event as Seen).delta !== kills[0]) return;
        kills.shift();
        killing = killing.then(() => server.restart());
      },
    },
  );
  await killing;
  expect(kills).toEqual([]);
  expect(seen.at(-1)?.type).toBe('RUN_FINISHED');
  expect(seen).toEqual(await wholeRun(agent.position?.runId ?? ''));
  expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Done.' });
});

it('attaches after a reload, and stops the run on the server', async () => {
  await serve([textOf('Hello out there', true)]);
  const first = new ResumableHttpAgent({ url: server.url, threadId: 't', reconnect });
  first.addMessage(question);
  const page = new AbortController();
  await new Promise<void>((resolve) => {
    const onEvent = ({ event }: { event: object }): void => {
      if (String((event as Seen).delta).endsWith('there')) resolve();
    };
    // The page goes: its reading ends, and the run does not.
    first.runAgent({ runId: 'r', abortController: page }, { onEvent }).catch(() => undefined);
  });
  const { runId, after } = first.position ?? { runId: '' };
  page.abort();
  expect((await server.info(runId)).state).toBe('running');
  const next = new ResumableHttpAgent({ url: server.url, threadId: 't', reconnect });
  const seen: Seen[] = [];
  await new Promise<void>((resolve) => {
    const onEvent = ({ event }: { event: object }): void => {
      seen.push(seenOf(event as Seen));
      if ((event as Seen).type === 'TEXT_MESSAGE_START') resolve();
    };
    next.attach(runId, after === undefined ? {} : { after }, { onEvent }).catch(() => undefined);
    // What is open is given with the next whole record.
    setTimeout(() => void fetch(`${server.url}/runs/${runId}`, { method: 'DELETE' }), 50);
  });
  expect(seen.map(({ type }) => type).slice(0, 3)).toEqual([
    'RUN_STARTED',
    'STEP_STARTED',
    'TEXT_MESSAGE_START',
  ]);
  expect((await server.info(runId)).state).toBe('cancelled');
});

it('stops a run by abortRun', async () => {
  await serve([textOf('Hello', true)]);
  const agent = new ResumableHttpAgent({ url: server.url, threadId: 't', reconnect });
  agent.addMessage(question);
  const onEvent = ({ event }: { event: object }): void => {
    if ((event as Seen).delta === 'Hello') agent.abortRun();
  };
  await agent.runAgent({ runId: 'r' }, { onEvent }).catch(() => undefined);
  await agent.stopped;
  await model.calls[0]?.closed;
  for (;;) if ((await server.info('r')).state === 'cancelled') return;
});
