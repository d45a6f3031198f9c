// The page of an exported run: its clock, and what it shows at each moment.
import { Clock, timeText } from '../../../console/src/player/clock';
import type { View } from '../../../console/src/player/fold';
import type { RunRecord } from '../../../console/src/player/run-record';
import { Timeline } from '../../../console/src/player/timeline';

let seq = 0;
const event = (at: number, type: string, fields: object = {}, branch = 0): RunRecord => ({
  ...{ seq: ++seq, at: 1000 + at, branch, event: { type, ...fields } },
});
const fact = (at: number, type: string, fields: object = {}, branch = 0): RunRecord => ({
  ...{ seq: ++seq, at: 1000 + at, branch, fact: { type, ...fields } },
});

function recordsOfRun(): RunRecord[] {
  seq = 0;
  return [
    fact(0, 'Accepted'),
    fact(0, 'ModelRequested', { step: 1, attempt: 1 }),
    event(10, 'ReasoningStart', { id: 'r' }),
    event(20, 'ReasoningDelta', { id: 'r', delta: 'Hm.' }),
    event(30, 'ReasoningEnd', { id: 'r' }),
    event(40, 'TextStart', { id: 'm', role: 'assistant' }),
    event(50, 'TextDelta', { id: 'm', delta: 'I ' }),
    event(60, 'TextDelta', { id: 'm', delta: 'look.' }),
    event(70, 'TextEnd', { id: 'm' }),
    event(80, 'ToolStart', { id: 'c', name: 'send' }),
    event(90, 'ToolArgs', { id: 'c', delta: '{"to":"Ada"}' }),
    event(100, 'ToolEnd', { id: 'c' }),
    fact(110, 'ApprovalRequested', { id: 'a', call: 'c', kind: 'approval' }),
    fact(9000, 'ApprovalDecided', {
      id: 'a',
      decision: { payload: { approved: true } },
      by: 'ada',
    }),
    fact(9010, 'ToolIntent', { call: 'c', name: 'send', args: { to: 'Bob' }, kind: 'tool' }),
    fact(9010, 'ToolStarted', { call: 'c', attempt: 1 }),
    event(9020, 'SubagentStart', { runId: 's', name: 'helper' }, 1),
    event(9030, 'TextStart', { id: 'm', role: 'assistant' }, 1),
    event(9030, 'TextDelta', { id: 'm', delta: 'Inner' }, 1),
    event(9040, 'SubagentFailed', { runId: 's', message: 'gone', code: 'cancelled' }, 1),
    fact(9050, 'ToolResult', { call: 'c', status: 'ok', content: 'sent' }),
    event(9050, 'Reset', { reason: 'process_ended', messageIds: ['m'] }),
    event(9060, 'ConstructorOfLater', { id: 'x' }),
    fact(9100, 'Terminal', { status: 'completed', reason: 'completed' }),
  ];
}

const given = [
  {
    id: 'u',
    role: 'user',
    content: [{ type: 'text', text: 'Go' }, { type: 'image' }],
    createdAt: 990,
  },
];
const shown = (view: View): string[] =>
  view.blocks.map(({ kind, branch, title, text, args, result, state }) =>
    [`${kind}${branch || ''}`, title, text, args, result, state].filter(Boolean).join(' | '),
  );

describe('the page of an exported run', () => {
  it('shows what was there at each moment', () => {
    const timeline = new Timeline(recordsOfRun(), given);
    expect(timeline.end).toBe(8100 + 1000);
    expect(shown(timeline.at(0))).toEqual(['user | User | Go\n[image]']);
    expect(shown(timeline.at(55))).toEqual([
      'user | User | Go\n[image]',
      'reasoning | Reasoning | Hm.',
      'text | Answer | I  | open',
    ]);
    expect(timeline.seq).toBe(7);
    expect(timeline.nextAt).toBe(60);
    expect(shown(timeline.at(500)).slice(3)).toEqual([
      'call | send | {"to":"Ada"} | waits',
      'approval | approval | send {"to":"Ada"} | waits for the user',
    ]);
    expect(timeline.at(500).status).toBe('waits for the user');
    expect(shown(timeline.at(9100)).slice(3)).toEqual([
      'call | send | {"to":"Bob"} | sent | done',
      'approval | approval | send {"to":"Ada"} | {"approved":true} by ada | approved',
      'agent1 | helper | gone (cancelled) | failed',
      'text1 | Answer | Inner | open',
      'note | The answer begins again | process_ended',
      'end | The run is completed',
    ]);
    // Of the branch on which the answer begins again.
    expect(timeline.at(9100).blocks.filter(({ isDropped }) => isDropped)).toHaveLength(1);
    expect(timeline.nextAt).toBeUndefined();
  });

  it('shows the same wherever it comes from', () => {
    const records = recordsOfRun();
    const whole = new Timeline(records, given);
    for (const { at } of records) {
      const time = at - 1000;
      const fresh = shown(new Timeline(records, given).at(time));
      whole.at(whole.end);
      expect(shown(whole.at(time))).toEqual(fresh);
    }
  });

  it('shows a message once that was sent to the run at work', () => {
    const content = 'Stop that.';
    const sent = fact(5, 'MessageSent', { id: 'u2', message: { id: 'u2', content } });
    const messages = [...given, { id: 'u2', role: 'user', content, createdAt: 1005 }];
    const timeline = new Timeline([fact(0, 'Accepted'), sent], messages);
    expect(shown(timeline.at(5)).slice(1)).toEqual([`user | User | ${content}`]);
  });

  it('has a clock that plays at a speed, stops at the end and begins again', () => {
    const clock = new Clock(1000);
    expect(clock.isAtEnd).toBe(true);
    clock.play(50);
    expect([clock.time, clock.isPlaying]).toEqual([0, true]);
    clock.tick(150);
    expect(clock.time).toBe(100);
    clock.speed = 5;
    clock.tick(250);
    expect(clock.time).toBe(600);
    clock.pause();
    clock.tick(9999);
    expect(clock.time).toBe(600);
    clock.play(10_000);
    clock.tick(10_090);
    expect([clock.time, clock.isPlaying]).toEqual([1000, false]);
    clock.seek(-5);
    expect(clock.time).toBe(0);
    expect([0, 61_250, 3_723_400].map(timeText)).toEqual(['0:00.0', '1:01.2', '1:02:03.4']);
  });
});
