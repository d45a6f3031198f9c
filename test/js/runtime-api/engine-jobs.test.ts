// Jobs of an agent that the engine runs: its tools as calls, deltas beside the events, and cuts at every place.
import { tool } from 'millrace';

import { type ScriptedModel, startModel } from '../../support/scripted-model';
import { cleanUp, type Frame, framesIn, hosts, type Api, type Json, runJob, serve } from './kit';

const models: ScriptedModel[] = [];
// What the user wrote in each request.
const questions: unknown[][] = [];
afterEach(async () => {
  await cleanUp();
  await Promise.all(models.splice(0).map((one) => one.close()));
});

const find = tool({
  name: 'find',
  input: { type: 'object', properties: { what: { type: 'string' } } },
  run: ({ what }) => `found ${String(what)}, password=hunter2`,
});

async function serveAgent(host: (typeof hosts)[number]): Promise<Api> {
  const calls = [{ id: 'c1', name: 'find', args: { what: 'it', token: 'abc' } }];
  const model = await startModel((body, index) => {
    const users = body.messages.filter(({ role }) => role === 'user');
    questions.push(users.map(({ content }) => content));
    return index === 0 ? { text: 'let me see', calls } : { text: 'here it is now' };
  });
  models.push(model);
  const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
  return serve(host, { agent: { model: 'openai:scripted', provider, tools: [find] } });
}

const framesOf = async (api: Api, id: string, query: string, headers = {}): Promise<Frame[]> => {
  const response = await api.send(`/api/v1/chat/jobs/${id}/events${query}`, {
    headers: { accept: 'text/event-stream', ...headers },
  });
  return framesIn(await response.text());
};

describe.each(hosts)('jobs of an engine agent (%s)', (host) => {
  it('show its calls, redacted, and its messages', async () => {
    const api = await serveAgent(host);
    const job = await runJob(api, 'find it');
    expect(job).toMatchObject({ status: 'done', messages: ['let me see', 'here it is now'] });
    const { events } = await api.json(`/api/v1/chat/jobs/${job.job_id}/events`, 200);
    const of = (name: string): Json => events.find(({ event }: Json) => event === name)?.payload;
    expect(of('tool_start')).toMatchObject({
      ...{ tool_call_id: 'c1', name: 'find', status: 'running', is_agent: false, depth: 0 },
      arguments_preview: '{"what":"it","token":"[redacted]"}',
    });
    expect(of('tool_end')).toMatchObject({ tool_call_id: 'c1', ok: true, status: 'done' });
    expect(of('tool_end').result_preview).toMatch(/^found it, password=\[redacted\]$/);
    const stages = events.filter(({ event }: Json) => event === 'stage');
    const waits = stages.filter(({ payload }: Json) => payload.stage === 'waiting_model');
    expect(waits.map(({ payload }: Json) => payload.detail)).toEqual([
      ...['iteration=1 model=scripted', 'iteration=2 model=scripted'],
    ]);
    expect(stages.map(({ payload }: Json) => payload.stage)).toEqual(
      expect.arrayContaining(['waiting_model', 'waiting_tools', 'sending_message', 'done']),
    );
    const history = await api.json('/api/v1/chat/history', 200);
    const answer = history.items.at(-1);
    expect(answer).toMatchObject({ role: 'bot', content: 'let me see\n\nhere it is now' });
    expect(answer.webchat.calls).toMatchObject([{ tool_call_id: 'c1', name: 'find', ok: true }]);
    expect(answer.webchat.timeline.map(({ type }: Json) => type)).toEqual([
      ...['message', 'call', 'message'],
    ]);
    expect(JSON.stringify([events, history])).not.toMatch(/hunter2|"abc"/);
  });

  it('have deltas that take no number, and are read on behind each of them', async () => {
    const api = await serveAgent(host);
    const { job_id: id } = await runJob(api, 'find it');
    const plain = await framesOf(api, id, '');
    const all = await framesOf(api, id, '?deltas=1');
    expect(await framesOf(api, id, '?deltas=true')).toEqual(all);
    const isDelta = ({ id: place }: Frame) => place.includes('.');
    const deltas = all.filter(isDelta);
    expect(deltas.length).toBeGreaterThan(2);
    expect(all.filter((frame) => !isDelta(frame))).toEqual(plain);
    const text = deltas.filter(({ event }) => event === 'message_delta');
    expect(text.map(({ data }) => data.text as string).join('')).toBe('let me seehere it is now');
    expect(new Set(all.map((frame) => frame.id)).size).toBe(all.length);
    for (const [at, { id: place }] of all.entries()) {
      const rest = all.slice(at + 1);
      expect(await framesOf(api, id, `?deltas=1&after=${place}`)).toEqual(rest);
      expect(await framesOf(api, id, '?deltas=1', { 'last-event-id': place })).toEqual(rest);
      // Who reads without deltas goes on behind the event before.
      const seq = Number(place.split('.')[0]);
      const behind = plain.filter((frame) => Number(frame.id) > seq);
      expect(await framesOf(api, id, '', { 'last-event-id': place })).toEqual(behind);
    }
    const json = await api.json(`/api/v1/chat/jobs/${id}/events?deltas=1`, 200);
    expect(json.events.map((one: Json) => one.id ?? String(one.seq))).toEqual(
      all.map((frame) => frame.id),
    );
  });

  it('see the conversation that came before, without what is only shown', async () => {
    const api = await serveAgent(host);
    await runJob(api, 'find it');
    await runJob(api, 'and now?');
    expect(questions.at(-1)).toEqual(['find it', 'and now?']);
  });
});
