// A server that is killed in the middle of an operation's stream: its readers go on where they were.
import { type ScriptedModel, startModel } from '../../support/scripted-model';
import { type Child, cleanUp, makeStore, startChild } from '../support/durable-child';
import { bodyOf, loopback, type Loopback, until } from '../support/server';
import { type Frame, framesIn, type Json } from './kit';
import { textOf, typesOf } from './lobe-kit';

const models: ScriptedModel[] = [];
const sinks: Loopback[] = [];
afterEach(async () => {
  await cleanUp();
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
  await Promise.all(models.splice(0).map((one) => one.close()));
});

interface Server {
  child: Child;
  url: string;
}

async function startServer(options: object): Promise<Server> {
  const child = startChild(options, 'api-child');
  const { port } = await child.until((line) => 'port' in line);
  return { child, url: `http://127.0.0.1:${port}/api/agent` };
}

// Reads until the text has come, or to the end.
async function read(server: Server, query: string, until?: string): Promise<Frame[]> {
  const response = await fetch(`${server.url}/stream?operationId=op-1${query}`);
  let text = '';
  const reader = response.body?.getReader();
  for (;;) {
    const part = await reader?.read().catch(() => undefined);
    if (!part || part.done) break;
    text += Buffer.from(part.value).toString();
    if (until !== undefined && text.includes(until)) break;
  }
  return framesIn(text.slice(0, text.lastIndexOf('\n\n') + 2)).filter(({ id }) => id !== '');
}

it('gives the rest behind the last event, whatever was cut', async () => {
  let requests = 0;
  const model = await startModel(() => {
    requests += 1;
    return requests === 1 ? { text: 'let me', hang: true } : { text: 'here it is' };
  });
  models.push(model);
  const options = { ...makeStore(), model: model.url };
  const first = await startServer(options);
  const json = { operationId: 'op-1', prompt: 'find it', topicId: 'topic-1' };
  const post = { method: 'POST', body: JSON.stringify(json) };
  const created: Json = await (await fetch(`${first.url}/operations`, post)).json();
  const before = await read(first, '', '"content":"let');
  expect(typesOf(before)).toContain('stream_chunk');
  await first.child.kill();

  const second = await startServer(options);
  const rest = await read(second, `&lastEventId=${before.at(-1)?.id}`);
  expect(typesOf(rest)).toContain('stream_retry');
  expect(rest.at(-1)?.data.data).toMatchObject({ reason: 'done' });
  const retried = rest.slice(typesOf(rest).indexOf('stream_retry'));
  expect(textOf(retried)).toBe('here it is');
  const whole = await read(second, '');
  expect(whole).toEqual([...before, ...rest]);
  // The request that began it finds it again.
  const again: Json = await (await fetch(`${second.url}/operations`, post)).json();
  expect(again).toMatchObject({ operationId: 'op-1', runId: created.runId, status: 'done' });
  expect(requests).toBe(2);
});

it('reports each step to webhooks once, across the processes', async () => {
  const seen: Json[] = [];
  const sink = await loopback((request, response) => {
    void bodyOf(request).then((body) => {
      seen.push({ id: request.headers['webhook-id'], ...JSON.parse(body) });
      response.end();
    });
  });
  sinks.push(sink);
  let requests = 0;
  const model = await startModel(() => {
    requests += 1;
    return requests === 1 ? { text: 'let me', hang: true } : { text: 'here it is' };
  });
  models.push(model);
  const options = { ...makeStore(), model: model.url };
  const first = await startServer(options);
  const hooks = [{ id: 'b', type: 'beforeStep', webhook: { url: sink.url } }];
  const json = {
    ...{ operationId: 'op-1', prompt: 'find it', hooks },
    completionWebhook: { url: sink.url },
  };
  await fetch(`${first.url}/operations`, { method: 'POST', body: JSON.stringify(json) });
  await until(() => seen.length === 1, 'the first step');
  await read(first, '', '"content":"let');
  await first.child.kill();
  await startServer(options);
  await until(() => seen.some(({ reason }) => reason === 'done'), 'the end');
  // A process that is killed before it has stored that a webhook came sends it again, under its id.
  const once = [...new Map(seen.map((webhook) => [webhook.id, webhook])).values()];
  expect(once.map(({ hookType, type, stepIndex }) => [hookType ?? type, stepIndex])).toEqual([
    ...[
      ['beforeStep', 0],
      ['completion', 0],
    ],
  ]);
  expect(once[1]).toMatchObject({ operationId: 'op-1', lastAssistantContent: 'here it is' });
});
