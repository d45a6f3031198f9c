// What the histories show of a run that took messages while it worked, once messages are removed or another conversation
// begins with some of them: nothing of what is not there.
import { startModel } from '../../support/agents';

import { cleanUp, ended, Gate, hosts, type Api, type Json, serve, startJob } from './kit';

afterEach(cleanUp);

const conversations = '/api/v1/chat/conversations';

// A conversation whose run is at its second answer: the first one was cut by a message.
async function chatAtWork(host: Parameters<typeof serve>[0]) {
  const last = new Gate();
  const model = await startModel((_body, index) => ({
    text: `answer ${index}`,
    waits: index === 0 ? new Promise<void>(() => undefined) : last.opened,
  }));
  const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
  const api = await serve(host, { agent: { model: 'openai:scripted', provider } });
  const { conversation } = await api.json(conversations, 201, { method: 'POST', json: {} });
  const id: string = conversation.id;
  const job = await startJob(api, { message: 'one', conversation_id: id });
  await untilShown(api, job.job_id, 'answer 0');
  await startJob(api, { message: 'more', conversation_id: id, on_busy: 'interrupt' });
  await untilShown(api, job.job_id, 'answer 1');
  return { api, id, job: job.job_id as string, last };
}

async function untilShown(api: Api, job: string, text: string): Promise<void> {
  for (;;) {
    const log = await api.json(`/api/v1/chat/jobs/${job}/events?deltas=1`, 200);
    const deltas = log.events.filter(({ event }: Json) => event === 'message_delta');
    if (
      deltas
        .map(({ payload }: Json) => payload.text as string)
        .join('')
        .includes(text)
    )
      return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const itemsOf = async (api: Api, id: string): Promise<Json[]> =>
  (await api.json(`/api/v1/chat/history?conversation_id=${id}`, 200)).items;

// Each text, with what the timeline of an answer has in its place.
const shownOf = async (api: Api, id: string): Promise<string[]> =>
  (await itemsOf(api, id)).map(({ content, webchat }) => {
    const texts = (webchat?.timeline ?? []).map((one: Json) => one.content as string);
    return webchat ? `${content} (${texts.join(', ')})` : content;
  });

describe.each(hosts)('a run with several answers (%s)', (host) => {
  it.each([
    ['the first answer', 1, ['one', 'more', 'answer 1 (answer 1)']],
    ['the second one', 3, ['one', 'answer 0 (answer 0)', 'more']],
    ['the first question', 0, ['answer 0 (answer 0)', 'more', 'answer 1 (answer 1)']],
    // Its answers are one then.
    ['the second question', 2, ['one', 'answer 0\n\nanswer 1 (answer 0, answer 1)']],
  ])('shows nothing of %s where that is removed', async (_what, at, shown) => {
    const { api, id, job, last } = await chatAtWork(host);
    last.open();
    await ended(api, job);
    const { message_id: message } = (await itemsOf(api, id))[at];
    await api.json(`${conversations}/${id}/messages/${message}`, 200, { method: 'DELETE' });
    expect(await shownOf(api, id)).toEqual(shown);
  });

  it('shows nothing of what it does later in a conversation that began with its messages', async () => {
    const { api, id, job, last } = await chatAtWork(host);
    // Its message is in the conversation at once, behind that of the run at work.
    const other = await startJob(api, { message: 'other', conversation_id: id, on_busy: 'queue' });
    await api.json(`/api/v1/chat/jobs/${other.job_id}/cancel`, 200, { method: 'POST' });
    const items = await itemsOf(api, id);
    expect(items.map(({ content }) => content)).toEqual(['one', 'answer 0', 'more', 'other']);
    const made: string[] = [];
    for (const { message_id: message } of items) {
      const { conversation } = await api.json(
        `${conversations}/${id}/messages/${message}/branch`,
        201,
        {
          method: 'POST',
        },
      );
      made.push(conversation.id as string);
    }
    last.open();
    await ended(api, job);
    const whole = ['one', 'answer 0 (answer 0)', 'more', 'other'];
    for (const [at, conversation] of made.entries()) {
      expect(await shownOf(api, conversation)).toEqual(whole.slice(0, at + 1));
    }
    expect((await shownOf(api, id)).filter((text) => text.startsWith('answer 1'))).toHaveLength(1);
  });
});
