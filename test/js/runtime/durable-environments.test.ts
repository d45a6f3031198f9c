// Who may work on a store: one process with all its threads; others read.
import { startModel, type ScriptedModel } from '../../support/scripted-model';
import { cleanUp, makeStore, recordsIn, startChild } from '../support/durable-child';

let model: ScriptedModel;
afterEach(async () => {
  await cleanUp();
  await model.close();
});

describe('a store of durable runs', () => {
  it('belongs to one process, which the error of a second one names; readers see all', async () => {
    let release: (() => void) | undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    model = await startModel([{ text: 'one two', hang: true }]);
    const answer = model.answer;
    model.answer = async (response, call) => {
      const hanging = answer(response, call);
      void released.then(() => {
        const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
        response.end(`data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`);
      });
      await hanging;
    };
    const { store, log } = makeStore();
    const options = { store, log, model: model.url };
    const owner = startChild({ ...options, do: 'run' });
    await owner.until(({ event }) => event?.type === 'TEXT_MESSAGE_CONTENT');
    const { id } = owner.lines.find((line) => line['id']) as { id: string };

    const [rejected] = await startChild({ ...options, do: 'second' }).ended();
    expect(rejected).toMatchObject({ code: 'store_in_use' });
    expect(rejected?.['message']).toContain(String(owner.process.pid));

    const reader = startChild({ ...options, do: 'read', id });
    await reader.until(({ event }) => event?.type === 'TEXT_MESSAGE_CONTENT');
    expect(reader.lines[0]).toEqual({ runs: [{ id, state: 'running' }] });
    release?.();
    const lines = await owner.ended();
    expect(lines.at(-1)).toMatchObject({ status: 'completed', text: 'one two' });
    expect(recordsIn(await reader.ended())).toEqual(recordsIn(lines));
    expect(reader.lines.at(-1)).toEqual(lines.at(-1));
  });

  it('lets a process end that has nothing to do, and keeps one that has', async () => {
    model = await startModel(() => ({ text: 'done' }));
    const { store, log } = makeStore();
    const options = { store, log, model: model.url };
    expect(await startChild({ ...options, do: 'idle' }).ended()).toEqual([{ runs: 0 }]);
    const [begun] = await startChild({ ...options, do: 'unread' }).ended();
    const { id } = begun as { id: string };
    const lines = await startChild({ ...options, do: 'attach', id, after: 0 }).ended();
    expect(lines.at(-1)).toMatchObject({ status: 'completed', text: 'done' });
    expect(model.calls).toHaveLength(1);
  });

  it('is left at once by process.exit(), and a process that only opens it goes on', async () => {
    model = await startModel((_body, index) => ({ text: 'one two', hang: index === 0 }));
    const { store, log } = makeStore();
    const options = { store, log, model: model.url };
    const [begun] = await startChild({ ...options, do: 'exit' }).ended();
    const { id } = begun as { id: string };
    await startChild({ ...options, do: 'serve' }).ended();
    expect(model.calls).toHaveLength(2);
    const lines = await startChild({ ...options, do: 'attach', id, after: 0 }).ended();
    expect(lines.at(-1)).toMatchObject({ status: 'completed', text: 'one two' });
    expect(model.calls).toHaveLength(2);
  });

  it.each(['by itself', 'terminated'])(
    'counts the readers of other threads: one leaves %s',
    async (leaves) => {
      model = await startModel(() => ({ text: 'one two', hang: true }));
      const { store, log } = makeStore();
      const lines = await startChild({ store, log, model: model.url, do: 'leave', leaves }).ended();
      expect(lines).toEqual([
        { behind: 'the reader here', state: 'running' },
        { behind: 'the reader there', state: 'cancelled' },
      ]);
    },
  );

  it('is shared by threads, and one goes on with what a terminated one left', async () => {
    model = await startModel([{ calls: [{ id: 'c1', name: 'do_keyed' }] }, { text: 'done' }]);
    const { store, log, logged } = makeStore();
    const lines = await startChild({ store, log, model: model.url, do: 'worker' }).ended();
    expect(lines.at(-1)).toMatchObject({ status: 'completed', text: 'done' });
    expect(logged()).toHaveLength(2);
    expect(new Set(logged()).size).toBe(1);
  });
});
