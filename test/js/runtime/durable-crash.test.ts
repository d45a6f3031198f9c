// Durable runs whose process is killed at work: another one goes on, and readers miss nothing.
import { startModel, type ScriptedModel } from '../../support/scripted-model';
import {
  cleanUp,
  makeStore,
  recordsIn,
  startChild,
  textIn,
  type Line,
} from '../support/durable-child';

let model: ScriptedModel;
afterEach(async () => {
  await cleanUp();
  await model.close();
});

const ended = { status: 'completed' };

describe('a durable run whose process is killed', () => {
  it('in the middle of an answer is asked again, and its readers get the rest', async () => {
    model = await startModel([{ text: 'one two three', hang: true }, { text: 'all of it' }]);
    const { store, log } = makeStore();
    const options = { store, log, model: model.url };
    const first = startChild({ ...options, do: 'run' });
    await first.until(({ event }) => event?.type === 'TEXT_MESSAGE_CONTENT');
    await first.kill();
    const { id } = first.lines.find((line) => line['id']) as { id: string };
    const after = recordsIn(first.lines).at(-1)?.['seq'] as number;

    const second = await startChild({ ...options, do: 'attach', id, after }).ended();
    expect(second.at(-1)).toMatchObject({ ...ended, text: 'all of it' });
    const whole = await startChild({ ...options, do: 'attach', id, after: 0 }).ended();
    const records = recordsIn(whole);
    expect(recordsIn(second)).toEqual(records.filter(({ seq }) => seq > after));
    expect(recordsIn(first.lines)).toEqual(records.filter(({ seq }) => seq <= after));
    expect(textIn([...first.lines, ...second])).toBe('all of it');
    expect(model.calls).toHaveLength(2);
  });

  it.each(['read', 'idempotent', 'keyed', 'once'])(
    'in the middle of a tool of effect %s',
    async (effect) => {
      // Harmless calls begin before their record is safe: the model may be asked for them again.
      model = await startModel(({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? { text: 'done' }
          : { calls: [{ id: 'c1', name: `do_${effect}` }] },
      );
      const { store, log, logged } = makeStore();
      const options = { store, log, model: model.url };
      const first = startChild({ ...options, do: 'run', hang: true });
      await first.until(({ tool }) => tool === effect);
      const { id } = await first.until((line) => line['id'] !== undefined);
      await first.kill();

      const second = await startChild({ ...options, do: 'attach', id, after: 0 }).ended();
      expect(second.at(-1)).toMatchObject({ ...ended, text: 'done' });
      const results = recordsIn(second).filter(({ event }) => event.type === 'TOOL_CALL_RESULT');
      expect(results).toHaveLength(1);
      const read = model.calls.at(-1)?.body;
      if (effect === 'once') {
        expect(logged()).toHaveLength(1);
        expect(read).not.toContain('did once');
      } else {
        expect(logged()).toHaveLength(2);
        expect(second).toContainEqual({ tool: effect, context: { user: 'ada' } });
        // The same key, by which the other side knows the call.
        expect(new Set(logged()).size).toBe(1);
        expect(read).toContain(`did ${effect}`);
      }
    },
  );

  it.each(['ran', 'did_not_run', 'stop'])(
    'in a tool that must not run twice asks the user, who says: %s',
    async (value) => {
      model = await startModel([{ calls: [{ id: 'c1', name: 'do_once' }] }, { text: 'done' }]);
      const { store, log, logged } = makeStore();
      const options = { store, log, model: model.url, unknown: 'ask' };
      const first = startChild({ ...options, do: 'run', hang: true });
      await first.until(({ tool }) => tool === 'once');
      const { id } = await first.until((line) => line['id'] !== undefined);
      await first.kill();

      const paused = await startChild({ ...options, do: 'attach', id, after: 0 }).ended();
      expect(paused.at(-1)).toMatchObject({ status: 'interrupted', interrupts: ['c1'] });
      expect(logged()).toHaveLength(1);
      const decision = { value };
      const last = await startChild({ ...options, do: 'approve', id, decision }).ended();
      expect(last[0]).toEqual({ open: ['c1'] });
      const isStopped = value === 'stop';
      expect(last.at(-1)).toMatchObject(isStopped ? { status: 'cancelled' } : ended);
      expect(logged()).toHaveLength(value === 'did_not_run' ? 2 : 1);
      const read = model.calls.at(-1)?.body;
      if (value === 'ran') expect(read).toContain('The call was made');
      if (value === 'did_not_run') expect(read).toContain('did once');
      expect(model.calls).toHaveLength(isStopped ? 1 : 2);
    },
  );

  it('again and again, wherever it is, shows each reader the same records', async () => {
    model = await startModel(({ messages }) => {
      const results = messages.filter(({ role }) => role === 'tool').length;
      const call = (name: string) => ({ text: 'I call', calls: [{ id: `c${results}`, name }] });
      return [call('do_keyed'), call('do_once'), { text: 'all done now' }][results] ?? {};
    });
    const { store, log, logged } = makeStore();
    const options = { store, log, model: model.url };
    const first = startChild({ ...options, do: 'run' });
    const { id } = await first.until((line) => line['id'] !== undefined);
    // The last one in the third request: one request is made three times at most.
    const cuts: ((event: Line) => boolean)[] = [
      ({ type }) => type === 'STEP_STARTED',
      ({ type }) => type === 'TOOL_CALL_START',
      ({ type }) => type === 'TOOL_CALL_RESULT',
      ({ delta }) => `${delta}`.includes('done'),
    ];
    let child = first;
    const seen: ReturnType<typeof recordsIn>[] = [];
    for (const cut of cuts) {
      await child.until(({ status, event }) => status !== undefined || (event && cut(event)));
      await child.kill();
      seen.push(recordsIn(child.lines));
      const after = seen.flat().at(-1)?.['seq'] ?? 0;
      child = startChild({ ...options, do: 'attach', id, after });
    }
    const last = await child.ended();
    expect(last.at(-1)).toEqual({ ...ended, text: 'all done now', interrupts: [] });
    seen.push(recordsIn(last));
    const whole = await startChild({ ...options, do: 'attach', id, after: 0 }).ended();
    expect(seen.flat()).toEqual(recordsIn(whole));
    expect(textIn(whole)).toMatch(/all done now$/);
    // It may have been cut before it began.
    const once = logged().filter((line) => line.startsWith('once'));
    expect(once.length).toBeLessThanOrEqual(1);
  });

  it('while an approval is pending can be approved in another process', async () => {
    model = await startModel([{ calls: [{ id: 'c1', name: 'do_once' }] }, { text: 'done' }]);
    const { store, log, logged } = makeStore();
    const options = { store, log, model: model.url, approval: true };
    const first = startChild({ ...options, do: 'run' });
    const waiting = await first.until(({ status }) => status !== undefined);
    expect(waiting).toMatchObject({ status: 'interrupted', interrupts: ['c1'] });
    await first.kill();
    const { id } = first.lines.find((line) => line['id']) as { id: string };
    expect(logged()).toEqual([]);

    const second = await startChild({ ...options, do: 'approve', id }).ended();
    expect(second[0]).toEqual({ open: ['c1'] });
    expect(second.at(-1)).toMatchObject({ ...ended, text: 'done' });
    expect(logged()).toHaveLength(1);
    const third = await startChild({ ...options, do: 'approve', id }).ended();
    expect(third[0]).toEqual({ open: [] });
    expect(recordsIn(third)).toEqual(recordsIn(second));
  });
});
