// `versions: 'strict'`: a run goes on with what it began with, or is parked until that is there.
import { createAgent, type Runtime, tool } from 'millrace';

import { startModel } from '../../support/agents';
import { makeStore } from '../support/durable-child';
import { runtimeOf } from '../support/runtimes';

const sender = (name: string) =>
  tool({ name, description: 'Sends it.', approval: true, run: () => 'sent' });
const postcard = sender('send_postcard');
const parcel = sender('send_parcel');

const fileRuntime = (store: string, versions: 'continue' | 'strict' = 'strict'): Runtime =>
  runtimeOf({ storage: `file:${store}`, versions });

const mailModel = () =>
  startModel(({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? { text: 'It is sent.' }
      : { calls: [{ id: 'c1', name: 'send_postcard' }] },
  );

const mailAgent = (
  runtime: Runtime,
  baseURL: string,
  more = [] as (typeof parcel)[],
  apiKey = 'k',
) =>
  createAgent({
    ...{ model: 'openai:scripted', provider: { baseURL, apiKey, maxRetries: 0 } },
    ...{ tools: [postcard, ...more], runtime, name: 'mail' },
  });

const stateOf = async (runtime: Runtime, id: string) => {
  const { state, waitsFor } = (await runtime.get(id)) ?? {};
  return [state, waitsFor?.reason];
};

async function untilParked(runtime: Runtime, id: string): Promise<void> {
  while ((await stateOf(runtime, id))[0] !== 'parked') await new Promise(setImmediate);
}

/** A job that waits for an event, in a process that is over. */
async function waitingJob(store: string, version: string): Promise<string> {
  const runtime = fileRuntime(store);
  const job = runtime.job('order', (self) => self.wait('paid'), { version });
  const { id } = await job.start(null);
  while ((await stateOf(runtime, id))[0] !== 'sleeping') await new Promise(setImmediate);
  await runtime.close();
  return id;
}

describe("versions: 'strict'", () => {
  it('parks a job of another version, which keeps what it is sent', async () => {
    const { store } = makeStore();
    const id = await waitingJob(store, '1');
    const second = fileRuntime(store);
    second.job('order', (self) => self.wait('paid'), { version: '2' });
    await second.send(id, 'paid', 7);
    await untilParked(second, id);
    expect(await stateOf(second, id)).toEqual(['parked', 'version_changed']);
    const { recoveries } = (await second.get(id)) ?? {};
    await second.close();

    const third = fileRuntime(store);
    third.job('order', (self) => self.wait('paid'), { version: '1' });
    expect((await third.attach(id).result).value).toBe(7);
    expect((await third.get(id))?.recoveries).toBe(recoveries);
  });

  it('goes on with the version that is registered later, and stops a parked run', async () => {
    const { store } = makeStore();
    const ids = [await waitingJob(store, '1'), await waitingJob(store, '1')];
    const runtime = fileRuntime(store);
    runtime.job('order', (self) => self.wait('paid'), { version: '2' });
    for (const id of ids) {
      await runtime.send(id, 'paid', 'now');
      await untilParked(runtime, id);
    }
    const [first, other] = ids as [string, string];
    expect(await runtime.stop(other)).toMatchObject({ state: 'cancelled' });
    runtime.job('order', (self) => self.wait('paid'), { version: '1' });
    expect((await runtime.attach(first).result).value).toBe('now');
  });

  it('parks a run whose tools changed, but not for another key', async () => {
    const { store } = makeStore();
    const { url } = await mailModel();
    const begin = async (): Promise<string> => {
      const runtime = fileRuntime(store);
      const run = mailAgent(runtime, url).run('Write a postcard.');
      expect((await run.result).status).toBe('interrupted');
      await runtime.close();
      return run.id;
    };
    const decide = async (runtime: Runtime, id: string): Promise<void> => {
      for (const open of await runtime.approvals.list({ run: id })) {
        await runtime.approvals.decide(open.id, true);
      }
    };
    const [same, changed] = [await begin(), await begin()];

    const second = fileRuntime(store);
    mailAgent(second, url, [], 'another');
    await decide(second, same);
    expect((await second.attach(same).result).status).toBe('completed');
    await second.close();

    const third = fileRuntime(store);
    mailAgent(third, url, [parcel]);
    await decide(third, changed);
    await untilParked(third, changed);
    await third.close();

    const fourth = fileRuntime(store);
    mailAgent(fourth, url);
    expect((await fourth.attach(changed).result).status).toBe('completed');
  });

  it('rejects other values', () => {
    expect(() => runtimeOf({ versions: 'some' as never })).toThrow(
      "versions must be 'continue' or 'strict', not 'some'",
    );
  });
});
