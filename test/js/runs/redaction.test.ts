// What an exported run leaves out, record by record.
import { Redaction, secretNames } from '../../../dist/cjs/runs/redaction.js';
import type { ExportedRecord } from '../../../dist/cjs/runs/redaction.js';

type Event = Record<string, unknown>;

function cleaned(events: Event[], declared: string[] = []): Event[] {
  const records: ExportedRecord[] = events.map((event, at) => ({ seq: at + 1, at: 1, event }));
  const redaction = new Redaction(secretNames(declared));
  redaction.learn(records);
  redaction.learned();
  return redaction.clean(records).map(({ event = {} }) => event);
}

const call = (args: object | string, id = 'c1'): Event[] => [
  { type: 'ToolStart', id },
  { type: 'ToolArgs', id, delta: typeof args === 'string' ? args : JSON.stringify(args) },
  { type: 'ToolEnd', id },
];

const text = (...deltas: string[]): Event[] => [
  ...deltas.map((delta) => ({ type: 'TextDelta', id: 't', delta })),
  { type: 'TextEnd', id: 't' },
];

const shownIn = (events: Event[], type: string): string =>
  events.map((event) => (event['type'] === type ? String(event['delta']) : '')).join('');

describe('a cleaned run', () => {
  it('has nothing of a list or an object under a secret name', () => {
    const args = { secrets: ['first-one', { deep: 471100 }], headers: { 'X-A': 'second' }, a: 1 };
    const events = cleaned([...call(args), ...text('first-one 471100 second')], ['headers']);
    expect(JSON.parse(shownIn(events, 'ToolArgs'))).toEqual({
      ...{ secrets: '[redacted]', headers: '[redacted]', a: 1 },
    });
    expect(shownIn(events, 'TextDelta')).toBe('[redacted] [redacted] [redacted]');
  });

  it.each([
    ['in one piece', ['hunter2-production, hunter2.']],
    ['in pieces', ['hunt', 'er2', '-produc', 'tion, hunter', '2', '.']],
  ])('has no rest of a secret that begins like another: %s', (_what, deltas) => {
    const calls = [...call({ password: 'hunter2' }), ...call({ password: 'hunter2-production' })];
    const events = cleaned([...calls, ...text(...deltas)]);
    expect(shownIn(events, 'TextDelta')).toBe('[redacted], [redacted].');
  });

  it.each([
    ['in one piece', ['see first-half-of-it and half-of-it-all.']],
    ['in pieces', ['see first-', 'half-of-it', ' and half-', 'of-it-', 'all.']],
  ])('has no rest of a secret that overlaps others: %s', (_what, deltas) => {
    const secrets = ['first-half', 'half-of-it', 'it and', 'of-it-all'];
    const events = cleaned([...call({ secrets }), ...text(...deltas)]);
    expect(shownIn(events, 'TextDelta')).toBe('see [redacted] [redacted].');
    const [shown] = cleaned([{ type: 'Stage', json: 'half-of-it-all' }, ...call({ secrets })]);
    expect(shown).toEqual({ type: 'Stage', json: '[redacted]' });
  });

  it('has two secrets that only touch as two', () => {
    const events = cleaned([...call({ secrets: ['first', 'second'] }), ...text('firstsecond')]);
    expect(shownIn(events, 'TextDelta')).toBe('[redacted][redacted]');
  });

  it('has a text that only begins like a secret, and a secret at its end', () => {
    const calls = [...call({ password: 'hunter2' }), ...call({ password: 'hunter2-production' })];
    expect(shownIn(cleaned([...calls, ...text('a hunter')]), 'TextDelta')).toBe('a hunter');
    expect(shownIn(cleaned([...calls, ...text('a hunter2')]), 'TextDelta')).toBe('a [redacted]');
    expect(shownIn(cleaned([...calls, ...text('a hunter2-p')]), 'TextDelta')).toBe(
      'a [redacted]-p',
    );
  });

  it.each([
    ['a text', '{"password":"first-secret'],
    ['what follows', '{"password":"first-secret","x":1'],
    ['a name', '{"password":"first-secret","x'],
    ['an escape', '{"password":"first-secret\\u00'],
    ['a literal', '{"password":"first-secret","x":tru'],
    ['a list', '{"passwords":1,"secrets":["first-secret",'],
    ['a text that is no JSON', '{"password" : "first-secret", x: 1}'],
  ])('knows the secrets of arguments that were cut in %s', (_what, args) => {
    const events = cleaned([
      { type: 'ToolArgs', id: 'c1', delta: args },
      ...text('used first-secret'),
    ]);
    expect(shownIn(events, 'ToolArgs')).toBe('[redacted]');
    expect(shownIn(events, 'TextDelta')).toBe('used [redacted]');
  });

  it.each([
    ['a reset', { type: 'Reset', reason: 'retry' }],
    ['another start', { type: 'ToolStart', id: 'c1' }],
  ])('keeps the arguments of two attempts apart: %s', (_what, between) => {
    const events = cleaned([
      { type: 'ToolArgs', id: 'c1', delta: '{"password":"first-secret","' },
      between,
      { type: 'ToolArgs', id: 'c1', delta: '{"password":"second-' },
      { type: 'ToolArgs', id: 'c1', delta: 'secret","user":"ada"}' },
      { type: 'ToolEnd', id: 'c1' },
      ...text('first-secret second-secret'),
    ]);
    const args = events.filter(({ type }) => type === 'ToolArgs').map(({ delta }) => delta);
    expect(args).toEqual(['[redacted]', '{"password":"[redacted]","user":"ada"}']);
    expect(shownIn(events, 'TextDelta')).toBe('[redacted] [redacted]');
  });
});
