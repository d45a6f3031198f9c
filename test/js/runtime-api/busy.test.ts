// A message to a conversation that is busy: rejected, behind the job, or for the job at work.
import { tool } from 'millrace';

import { startModel } from '../../support/agents';

import {
  cleanUp,
  ended,
  framesIn,
  Gate,
  hosts,
  type Api,
  type Frame,
  type Json,
  serve,
  startJob,
} from './kit';

afterEach(cleanUp);

async function chatOf(host: Parameters<typeof serve>[0]) {
  const gate = new Gate();
  const model = await startModel((_body, index) => ({
    text: `answer ${index}`,
    ...(index === 0 && { waits: gate.opened }),
  }));
  const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
  const api = await serve(host, { agent: { model: 'openai:scripted', provider } });
  return { api, model, gate };
}

const create = (api: Api, message: string, more: object = {}, status = 202): Promise<Json> =>
  api.json('/api/v1/chat/jobs', status, { method: 'POST', json: { message, ...more } });

const historyOf = async (api: Api): Promise<string[]> => {
  const { items } = await api.json('/api/v1/chat/history?limit=50', 200);
  return items.map((one: Json) => one.content);
};

const isRepeated = (frame: Frame | undefined): boolean =>
  frame?.event === 'stage' && frame.data.transient === true;

async function framesUntil(
  response: Response,
  isLast: (frames: Frame[]) => boolean,
): Promise<Frame[]> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (isLast(framesIn(text))) break;
  }
  return framesIn(text);
}

// What the deltas of a job's messages say so far.
const shownTexts = async (api: Api, id: string): Promise<string> => {
  const { events } = await api.json(`/api/v1/chat/jobs/${id}/events?deltas=1`, 200);
  const deltas = events.filter(({ event }: Json) => event === 'message_delta');
  return deltas.map(({ payload }: Json) => payload.text as string).join('');
};

const untilShown = async (api: Api, id: string): Promise<void> => {
  for (;;) {
    const { events } = await api.json(`/api/v1/chat/jobs/${id}/events?deltas=1`, 200);
    if (events.some(({ event }: Json) => event === 'message_delta')) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

describe.each(hosts)('a conversation that is busy (%s)', (host) => {
  it('rejects another message, or lets it wait', async () => {
    const { api, model, gate } = await chatOf(host);
    const first = await startJob(api, { message: 'one' });
    expect(await create(api, 'two', {}, 409)).toMatchObject({
      error: 'Chat job is still running',
    });
    expect(await create(api, 'two', { on_busy: 'later' }, 400)).toMatchObject({
      error: 'on_busy must be reject, queue, interrupt or steer',
    });
    const keyed = await api.json('/api/v1/chat/jobs', 409, {
      ...{ method: 'POST', json: { message: 'two' }, headers: { 'Idempotency-Key': 'k0' } },
    });
    expect(keyed).toMatchObject({ error: 'Chat job is still running' });
    const second = await create(api, 'two', { on_busy: 'queue' });
    expect(second).toMatchObject({ status: 'queued', queued_message: { content: 'two' } });
    const { message_id: place } = second.queued_message;
    const { jobs } = await api.json('/api/v1/chat/jobs/active', 200);
    expect(jobs.map((one: Json) => one.job_id)).toEqual([first.job_id, second.job_id]);
    gate.open();
    expect(await ended(api, second.job_id)).toMatchObject({
      ...{ status: 'done', reply: 'answer 1', queued_message: null },
    });
    const { items } = await api.json('/api/v1/chat/history', 200);
    expect(items.at(-2)).toMatchObject({ message_id: place, content: 'two' });
    const sent = model.chatBodies[1]?.messages.map(({ content }) => content);
    expect(sent).toEqual(['one', 'answer 0', 'two']);
    expect(await historyOf(api)).toEqual(['one', 'answer 0', 'two', 'answer 1']);
  });

  it('shows the place of a job that waits', async () => {
    const { api, gate } = await chatOf(host);
    const first = await startJob(api, { message: 'one' });
    const second = await create(api, 'two', { on_busy: 'queue' });
    const third = await create(api, 'three', { on_busy: 'queue' });
    expect([second, third].map(({ queue_position: at }) => at as number)).toEqual([1, 2]);
    const { job, jobs } = await api.json('/api/v1/chat/jobs/active', 200);
    expect(jobs.map((one: Json) => [one.job_id, one.queue_position])).toEqual([
      [first.job_id, null],
      [second.job_id, 1],
      [third.job_id, 2],
    ]);
    expect(job).toMatchObject({ job_id: third.job_id, queue_position: 2 });
    const cancel = ({ job_id: id }: Json): Promise<Json> =>
      api.json(`/api/v1/chat/jobs/${id}/cancel`, 200, { method: 'POST' });
    expect(await cancel(second)).toMatchObject({
      ...{ status: 'cancelled', error: null, queue_position: null },
    });
    const path = `/api/v1/chat/jobs/${third.job_id}`;
    expect(await api.json(path, 200)).toMatchObject({ status: 'queued', queue_position: 1 });
    expect((await api.json(`${path}/events`, 200)).job.queue_position).toBe(1);
    gate.open();
    expect(await ended(api, third.job_id)).toMatchObject({ status: 'done', queue_position: null });
  });

  it('counts those that wait in their order, also within a millisecond', async () => {
    const { api, gate } = await chatOf(host);
    await startJob(api, { message: 'one' });
    const places: number[] = [];
    for (let at = 0; at < 20; at += 1) {
      places.push((await create(api, `word ${at}`, { on_busy: 'queue' })).queue_position as number);
    }
    gate.open();
    expect(places).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
  });

  it('takes all messages that come at once and may wait', async () => {
    const api = await serve(host);
    const { conversation } = await api.json('/api/v1/chat/conversations', 201, {
      method: 'POST',
      json: {},
    });
    const words = Array.from({ length: 12 }, (_, at) => `word ${at}`);
    for (const on_busy of ['queue', 'interrupt']) {
      const turn = { conversation_id: conversation.id, on_busy };
      const jobs = await Promise.all(words.map((word) => create(api, word, turn)));
      for (const { job_id: id } of jobs) await ended(api, id);
    }
    const path = `/api/v1/chat/history?conversation_id=${conversation.id}&limit=100`;
    const items: Json[] = (await api.json(path, 200)).items;
    const questions = items.filter(({ role }) => role === 'user').map(({ content }) => content);
    expect([...questions].sort()).toEqual([...words, ...words].sort());
    for (const word of words) {
      expect(items.map(({ content }) => content)).toContain(`echo: ${word}`);
    }
  });

  it('gives who reads deltas a place with each frame behind which nothing comes twice', async () => {
    const { api, gate } = await chatOf(host);
    const { job_id: id } = await startJob(api, { message: 'one' });
    await untilShown(api, id);
    const path = `/api/v1/chat/jobs/${id}/events?deltas=1`;
    const accept = { accept: 'text/event-stream' };
    // A stage that lasts is shown again after the deltas.
    const reading = new AbortController();
    const response = await api.send(path, { headers: accept, signal: reading.signal });
    const first = await framesUntil(response, (frames) => isRepeated(frames.at(-1)));
    reading.abort();
    const { events } = await api.json(path, 200);
    expect(events.at(-1).id).toBe(first.at(-1)?.id);
    gate.open();
    await ended(api, id);
    const last = { 'Last-Event-ID': first.at(-1)?.id ?? '' };
    const rest = framesIn(await (await api.send(path, { headers: { ...accept, ...last } })).text());
    const texts = [...first, ...rest].filter(({ event }) => event === 'message_delta');
    expect(texts.map(({ data }) => data.text as string).join('')).toBe('answer 0');
  });

  it('shows no work of a job that was cancelled before its turn', async () => {
    const { api, gate } = await chatOf(host);
    await startJob(api, { message: 'one' });
    const { job_id: id } = await create(api, 'two', { on_busy: 'queue' });
    const job = await api.json(`/api/v1/chat/jobs/${id}/cancel`, 200, { method: 'POST' });
    expect(job).toMatchObject({ status: 'cancelled', current_stage: 'received' });
    const { events } = await api.json(`/api/v1/chat/jobs/${id}/events`, 200);
    expect(events.map(({ event, payload }: Json) => payload.stage ?? event)).toEqual([
      ...['meta', 'received', 'error'],
    ]);
    gate.open();
  });

  it.each([
    ['', ['one', 'answer 0', 'two']],
    ['?take_back=true', ['one', 'answer 0']],
  ])('stores the message of a job that never began, or not (%s)', async (query, wanted) => {
    const { api, gate } = await chatOf(host);
    const first = await startJob(api, { message: 'one' });
    const { job_id: id } = await create(api, 'two', { on_busy: 'queue' });
    const cancel = (job: string): Promise<Json> =>
      api.json(`/api/v1/chat/jobs/${job}/cancel${query}`, 200, { method: 'POST' });
    expect(await cancel(id)).toMatchObject({ status: 'cancelled', queued_message: null });
    gate.open();
    await ended(api, first.job_id);
    expect(await historyOf(api)).toEqual(wanted);
    // What has begun stays.
    const third = await startJob(api, { message: 'three' });
    await cancel(third.job_id);
    await ended(api, third.job_id);
    expect(await historyOf(api)).toContain('three');
  });

  it('gives a message to the job at work', async () => {
    const { api, model, gate } = await chatOf(host);
    const first = await startJob(api, { message: 'one' });
    await untilShown(api, first.job_id);
    const steered = await create(api, 'more', { on_busy: 'steer' });
    expect(steered).toMatchObject({ job_id: first.job_id, status: 'running' });
    gate.open();
    expect(await ended(api, first.job_id)).toMatchObject({ status: 'done' });
    const sent = model.chatBodies[1]?.messages.map(({ content }) => content);
    expect(sent).toEqual(['one', 'answer 0', 'more']);
    expect(await historyOf(api)).toEqual(['one', 'answer 0', 'more', 'answer 1']);
    const { events } = await api.json(`/api/v1/chat/jobs/${first.job_id}/events`, 200);
    const shown = events.filter(({ event }: Json) => event === 'user_message');
    expect(shown).toMatchObject([{ payload: { content: 'more' } }]);
  });

  it.each([['steer'], ['interrupt']])(
    'gives attachments, media and references to the job at work (%s)',
    async (on_busy) => {
      const { api, model, gate } = await chatOf(host);
      const { job_id: id } = await startJob(api, { message: 'one' });
      await untilShown(api, id);
      const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
      const form = new FormData();
      form.append('file', new Blob(['milk & eggs']), 'notes.txt');
      const upload = { method: 'POST', body: form };
      const { attachment } = await api.json('/api/v1/chat/attachments', 201, upload);
      const message = {
        text: `Look [CQ:image,file=base64://${png.toString('base64')},name=dot.png]`,
        attachment_ids: [attachment.id],
        references: [{ kind: 'message', source_message_id: 'msg_1', selected_text: 'quoted' }],
      };
      const call = { method: 'POST', json: { message, on_busy } };
      expect(await api.json('/api/v1/chat/jobs', 202, call)).toMatchObject({ job_id: id });
      gate.open();
      expect(await ended(api, id)).toMatchObject({ status: 'done' });
      const content = JSON.stringify(model.chatBodies[1]?.messages.at(-1)?.content);
      for (const part of [png.toString('base64'), 'milk & eggs', 'quoted', 'dot.png']) {
        expect(content).toContain(part);
      }
      expect(content).not.toContain('CQ:image');
      const names = ['notes.txt', 'dot.png'];
      const attachments = names.map((display_name) => ({ display_name }));
      const { items } = await api.json('/api/v1/chat/history', 200);
      const stored = items.find(({ content: text }: Json) => text.includes('Look'));
      expect(stored).toMatchObject({ attachments, references: [{ selected_text: 'quoted' }] });
      expect(stored.pending).toBeUndefined();
      const { events } = await api.json(`/api/v1/chat/jobs/${id}/events`, 200);
      const shown = events.find(({ event }: Json) => event === 'user_message');
      expect(shown.payload).toMatchObject({ attachments, content: stored.content });
      for (const { download_url: path } of shown.payload.attachments) {
        expect((await api.send(path)).status).toBe(200);
      }
    },
  );

  it('shows a message in the history before the job has taken it', async () => {
    const { api, gate } = await chatOf(host);
    const { job_id: id } = await startJob(api, { message: 'one' });
    await untilShown(api, id);
    const steered = await create(api, 'more', { on_busy: 'steer' });
    expect(steered.sent_messages).toMatchObject([{ content: 'more', attachments: [] }]);
    const { message_id: place } = steered.sent_messages[0];
    const history = await api.json('/api/v1/chat/history', 200);
    expect(history).toMatchObject({ count: 2, total: 2 });
    const { conversations } = await api.json('/api/v1/chat/conversations', 200);
    expect(conversations).toMatchObject([{ message_count: 2, is_running: true }]);
    expect(history.items[1]).toMatchObject({
      ...{ message_id: place, role: 'user', content: 'more', pending: true },
    });
    gate.open();
    expect(await ended(api, id)).toMatchObject({ status: 'done', sent_messages: [] });
    const { items } = await api.json('/api/v1/chat/history', 200);
    expect(items.map(({ content, pending }: Json) => [content, pending])).toEqual([
      ...[['one'], ['answer 0'], ['more'], ['answer 1']].map(([text]) => [text, undefined]),
    ]);
    expect(items[2]).toMatchObject({
      ...{ message_id: place, timestamp: history.items[1].timestamp },
    });
  });

  it('keeps notes of hooks out of the history, and their answer in a job of its own', async () => {
    const { api, model, gate } = await chatOf(host);
    api.runtime.pipeline('notes', ({ text }) =>
      text === 'known' ? { reply: 'as before' } : { note: 'a note' },
    );
    const { job_id: id } = await startJob(api, { message: 'one' });
    await untilShown(api, id);
    await create(api, 'more', { on_busy: 'steer' });
    const answered = await create(api, 'known', { on_busy: 'steer' });
    expect(answered.job_id).not.toBe(id);
    gate.open();
    expect(await ended(api, answered.job_id)).toMatchObject({ reply: 'as before' });
    expect(model.chatBodies[1]?.messages.at(-1)?.content).toBe('more\n\na note');
    expect(await historyOf(api)).toEqual([
      ...['one', 'answer 0', 'more', 'answer 1', 'known', 'as before'],
    ]);
  });

  it('cuts the answer for a message, once for each key', async () => {
    const { api, model } = await chatOf(host);
    const first = await startJob(api, { message: 'one' });
    await untilShown(api, first.job_id);
    const call = {
      method: 'POST',
      headers: { 'Idempotency-Key': 'k1' },
      json: { message: 'stop that', on_busy: 'interrupt' },
    };
    const interrupted = await api.json('/api/v1/chat/jobs', 202, call);
    expect(interrupted).toMatchObject({ job_id: first.job_id });
    expect(await ended(api, first.job_id)).toMatchObject({ status: 'done' });
    expect(model.chatBodies).toHaveLength(2);
    const sent = model.chatBodies[1]?.messages.map(({ role }) => role);
    expect(sent).toEqual(['user', 'assistant', 'user']);
  });

  it.each([['steer'], ['interrupt'], ['steer', 'interrupt']])(
    'shows for each question what was done for it (%s, %s)',
    async (...verbs) => {
      const gates = verbs.map(() => new Gate());
      const model = await startModel((_body, index) => ({
        text: `answer ${index}`,
        ...(gates[index] && { waits: gates[index].opened }),
      }));
      const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
      const api = await serve(host, { agent: { model: 'openai:scripted', provider } });
      const { job_id: id } = await startJob(api, { message: 'one' });
      for (const [at, on_busy] of verbs.entries()) {
        while (!(await shownTexts(api, id)).includes(`answer ${at}`)) {
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        await create(api, `more ${at}`, { on_busy });
        gates[at]?.open();
      }
      await ended(api, id);
      const { items, total } = await api.json('/api/v1/chat/history', 200);
      const wanted = [
        'one',
        'answer 0',
        ...verbs.flatMap((_, at) => [`more ${at}`, `answer ${at + 1}`]),
      ];
      expect(items.map(({ content }: Json) => content)).toEqual(wanted);
      expect(total).toBe(wanted.length);
      for (const { role, content, webchat } of items) {
        if (role === 'user') continue;
        const texts = webchat.timeline.map((one: Json) => one.content);
        expect(texts).toEqual([content]);
      }
    },
  );

  it('ends each part of an answer by itself', async () => {
    const last = new Gate();
    const model = await startModel((_body, index) => ({
      ...{ text: `answer ${index}`, waits: index === 0 ? new Promise(() => {}) : last.opened },
    }));
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const api = await serve(host, { agent: { model: 'openai:scripted', provider } });
    const { job_id: id } = await startJob(api, { message: 'one' });
    await untilShown(api, id);
    await create(api, 'more', { on_busy: 'interrupt' });
    while (!(await shownTexts(api, id)).includes('answer 1')) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await api.json(`/api/v1/chat/jobs/${id}/cancel`, 200, { method: 'POST' });
    const job = await ended(api, id);
    const { items } = await api.json('/api/v1/chat/history', 200);
    const blocks = items.flatMap(({ webchat }: Json) => (webchat ? [webchat] : []));
    expect(blocks.map(({ status }: Json) => status)).toEqual(['done', 'cancelled']);
    expect(blocks[0].created_at).toBe(job.created_at);
    expect(blocks[1].finished_at).toBe(job.finished_at);
    expect(blocks[1].created_at).toBe(blocks[0].finished_at);
    const times = blocks.map(({ duration_ms: duration }: Json) => duration);
    expect(times[0] + times[1]).toBe(job.duration_ms);
    last.open();
  });

  it('gives the job of a message that comes again, also once it is over', async () => {
    const { api, gate, model } = await chatOf(host);
    const first = await startJob(api, { message: 'one' });
    await untilShown(api, first.job_id);
    const call = (message: string) => ({
      method: 'POST',
      headers: { 'Idempotency-Key': 'k2' },
      json: { message, on_busy: 'steer' },
    });
    await api.json('/api/v1/chat/jobs', 202, call('more'));
    gate.open();
    await ended(api, first.job_id);
    const again = await api.json('/api/v1/chat/jobs', 202, call('more'));
    expect(again).toMatchObject({ job_id: first.job_id, status: 'done' });
    await api.json('/api/v1/chat/jobs', 409, call('something else'));
    expect(model.chatBodies).toHaveLength(2);
  });

  it('begins a turn that waited with what a new conversation has got by then', async () => {
    const { api, model, gate } = await chatOf(host);
    const { conversation } = await api.json('/api/v1/chat/conversations', 201, {
      method: 'POST',
      json: {},
    });
    const conversation_id: string = conversation.id;
    const turn = { conversation_id, on_busy: 'queue' };
    await startJob(api, { message: 'one', ...turn });
    const second = await startJob(api, { message: 'two', ...turn });
    gate.open();
    await ended(api, second.job_id);
    const sent = model.chatBodies[1]?.messages.map(({ content }) => content);
    expect(sent).toEqual(['one', 'answer 0', 'two']);
  });

  it('stops a function for a message that interrupts, and rejects one that steers', async () => {
    const begun = new Gate();
    const api = await serve(host, {
      agent: async ({ text }, { signal }) => {
        if (text !== 'one') return `did ${text}`;
        begun.open();
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      },
    });
    const first = await startJob(api, { message: 'one' });
    await begun.opened;
    expect(await create(api, 'two', { on_busy: 'steer' }, 409)).toMatchObject({
      ...{ code: 'invalid_state', error: expect.stringContaining('with on_busy queue') },
    });
    const second = await create(api, 'two', { on_busy: 'interrupt' });
    expect(second.job_id).not.toBe(first.job_id);
    expect(await ended(api, second.job_id)).toMatchObject({ status: 'done', reply: 'did two' });
    expect(await ended(api, first.job_id)).toMatchObject({ status: 'cancelled' });
  });

  const askingChat = async () => {
    const call = { id: 'c1', name: 'pay', args: { sum: 3 } };
    const model = await startModel((_body, at) =>
      at === 0 ? { calls: [call] } : { text: `answer ${at}` },
    );
    const pay = tool({ name: 'pay', approval: true, run: () => 'paid' });
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const api = await serve(host, { agent: { model: 'openai:scripted', provider, tools: [pay] } });
    const { job_id: id } = await startJob(api, { message: 'pay' });
    const path = `/api/v1/chat/jobs/${id}`;
    let job: Json;
    do job = await api.json(path, 200);
    while (job.waiting_input === null);
    const action = `${path}/actions/${encodeURIComponent(job.waiting_input.action_id)}`;
    const answer = (approved: boolean) => ({ method: 'POST', json: { approved } });
    return { api, model, id, action, answer };
  };

  it('ends a job that waits for an approval for a message that interrupts', async () => {
    const { api, model, id, action, answer } = await askingChat();
    const reading = api.send(`/api/v1/chat/jobs/${id}/events`, {
      headers: { accept: 'text/event-stream' },
    });
    const call = {
      method: 'POST',
      headers: { 'Idempotency-Key': 'k3' },
      json: { message: 'never mind', on_busy: 'interrupt' },
    };
    const second = await api.json('/api/v1/chat/jobs', 202, call);
    expect(second.job_id).not.toBe(id);
    expect(second.queue_position).toBeNull();
    expect(await ended(api, second.job_id)).toMatchObject({ status: 'done', reply: 'answer 1' });
    expect(await ended(api, id)).toMatchObject({ status: 'cancelled', waiting_input: null });
    expect(framesIn(await (await reading).text()).at(-1)).toMatchObject({ event: 'error' });
    expect((await api.send(action, answer(true))).status).toBe(409);
    expect(await api.json('/api/v1/chat/jobs', 202, call)).toMatchObject({ job_id: second.job_id });
    const roles = model.chatBodies[1]?.messages.map(({ role }) => role);
    expect(roles).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(model.chatBodies).toHaveLength(2);
  });

  it('lets a job that waits for an approval take a message behind it', async () => {
    const { api, model, id, action, answer } = await askingChat();
    const call = {
      method: 'POST',
      headers: { 'Idempotency-Key': 'k4' },
      json: { message: 'in euros', on_busy: 'steer' },
    };
    const steer = async () =>
      expect(await api.json('/api/v1/chat/jobs', 202, call)).toMatchObject({
        ...{ job_id: id, status: 'running', waiting_input: { name: 'pay' } },
        ...{ current_stage: 'waiting_input', current_stage_detail: 'pay', finished_at: null },
      });
    await steer();
    await steer();
    const others = await Promise.all(
      ['in pounds', 'in francs'].map((message) =>
        api.json('/api/v1/chat/jobs', 409, { ...call, json: { ...call.json, message } }),
      ),
    );
    expect(others[0]).toEqual({ error: 'Another request has the Idempotency-Key' });
    const sentTo = await api.json('/api/v1/chat/history', 200);
    expect(sentTo.items.at(-1)).toMatchObject({ content: 'in euros', pending: true });
    const waiting = (await api.json('/api/v1/chat/history', 200)).items.at(-2);
    expect(waiting.webchat).toMatchObject({
      ...{ status: 'running', finished_at: null, duration_ms: null },
    });
    await api.json(action, 200, answer(true));
    expect(await ended(api, id)).toMatchObject({ status: 'done' });
    const sent = model.chatBodies[1]?.messages.map(({ role, content }) => [role, content]);
    expect(sent?.slice(2)).toEqual([
      ['tool', 'paid'],
      ['user', 'in euros'],
    ]);
    expect(await historyOf(api)).toEqual(expect.arrayContaining(['pay', 'in euros', 'answer 1']));
  });

  it('takes messages that come while an approval is being decided', async () => {
    const { api, id, action, answer } = await askingChat();
    const decided = api.json(action, 200, answer(true));
    const steered = Array.from({ length: 12 }, (_, at) =>
      api.send('/api/v1/chat/jobs', {
        method: 'POST',
        json: { message: `more ${at}`, on_busy: 'steer' },
      }),
    );
    expect((await Promise.all(steered)).map(({ status }) => status)).toEqual(
      steered.map(() => 202),
    );
    await decided;
    await ended(api, id);
  });

  it('keeps a message in the conversation that a job took while it waited and never read', async () => {
    const { api, id } = await askingChat();
    await create(api, 'in euros', { on_busy: 'steer' });
    await api.json(`/api/v1/chat/jobs/${id}/cancel`, 200, { method: 'POST' });
    await ended(api, id);
    expect(await historyOf(api)).toEqual(expect.arrayContaining(['pay', 'in euros']));
  });
});
