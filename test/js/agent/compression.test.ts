// A compression that fails: told and paid for once, tried again when there is more to be summed up.
import type { AGUIEvent } from 'millrace';
import { AgentRuntime, GeneralChatAgent, createAgent, tool } from 'millrace';

import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';

let model: ScriptedModel | undefined;
afterEach(async () => {
  await model?.close();
  model = undefined;
});

const long = 'word '.repeat(2000);
const rows = [
  { id: 'm1', role: 'user' as const, content: long },
  { id: 'm2', role: 'assistant' as const, content: 'So it is.' },
  { id: 'm3', role: 'user' as const, content: 'And now?' },
];
const isSummary = ({ messages }: { messages: { content: unknown }[] }): boolean =>
  String(messages[0]?.content).startsWith('Condense the conversation');

describe('a compression that fails', () => {
  const ways: [string, Turn][] = [
    ['with an empty summary', { text: '' }],
    ['with a longer one', { text: 'longer '.repeat(4000) }],
  ];

  /** Runs an agent that calls its tool four times, and gives what was asked and told. */
  async function runWith(summary: Turn, result: string) {
    let turns = 0;
    let summaries = 0;
    model = await startModel((body) => {
      if (isSummary(body)) {
        summaries += 1;
        return summary;
      }
      turns += 1;
      return turns > 4 ? { text: 'Done.' } : { calls: [{ id: `c${turns}`, name: 'look' }] };
    });
    const agent = createAgent({
      model: 'openai:scripted',
      provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
      compression: { maxWindowToken: 8000, thresholdRatio: 0.2 },
      tools: [tool({ name: 'look', run: () => result, resultLimit: 100_000 })],
    });
    const events: AGUIEvent[] = [];
    const run = agent.run({ messages: rows });
    for await (const event of run) events.push(event);
    const { status, text } = await run.result;
    const warnings = events.filter(
      (event) => event.type === 'CUSTOM' && event.name === 'millrace.warning',
    );
    return { status, text, turns, summaries, warnings };
  }

  it.each(ways)('%s is told and paid for once', async (_, summary) => {
    const ended = await runWith(summary, 'small');
    expect(ended).toMatchObject({ status: 'completed', text: 'Done.', turns: 5, summaries: 1 });
    expect(ended.warnings).toMatchObject([
      { value: { message: expect.stringContaining('was not compressed') as string } },
    ]);
  });

  it('is tried again when the conversation has grown', async () => {
    const ended = await runWith({ text: '' }, 'word '.repeat(400));
    expect(ended).toMatchObject({ status: 'completed', turns: 5 });
    expect(ended.summaries).toBeGreaterThan(1);
    expect(ended.summaries).toBeLessThan(4);
    expect(ended.warnings).toHaveLength(ended.summaries);
  });

  it('is remembered by the state of an AgentRuntime', async () => {
    let summaries = 0;
    const brain = new GeneralChatAgent({
      compressionConfig: { enabled: true, maxWindowToken: 4000 },
    });
    const agent = Object.assign(Object.create(brain) as GeneralChatAgent, {
      runner: brain.runner.bind(brain),
      modelRuntime: async function* ({ purpose }: { purpose?: string }) {
        if (purpose !== 'compression') {
          yield { content: 'Done.' };
          return;
        }
        summaries += 1;
        if (summaries === 1) throw new Error('no summary');
        yield { content: 'In short.' };
      },
    });
    const runtime = new AgentRuntime(agent, { history: 'engine' });
    const errorsOf = (events: { type: string }[]): number =>
      events.filter(({ type }) => type === 'compression_error').length;
    const first = await runtime.run(AgentRuntime.createInitialState({ messages: rows }));
    expect([summaries, errorsOf(first.events), first.newState.status]).toEqual([1, 1, 'done']);
    expect(first.newState.failedCompression).toMatchObject({ rows: 3 });

    const goOn = async (state: typeof first.newState, content: string) => {
      const messages = [...state.messages, { role: 'user' as const, content }];
      return runtime.run({ ...state, status: 'running', messages } as never);
    };
    const second = await goOn(first.newState, 'Go on.');
    expect([summaries, errorsOf(second.events), second.newState.status]).toEqual([1, 0, 'done']);
    const third = await goOn(second.newState, 'more '.repeat(800));
    expect(summaries).toBe(2);
    expect(third.newState.failedCompression).toBeUndefined();
    expect(third.newState.messages[0]).toMatchObject({ content: 'In short.' });
    // The past of another history says nothing of this one.
    const other = rows.map((row) => ({ ...row, content: `${row.content} ${row.content}` }));
    await runtime.run({ ...first.newState, status: 'running', messages: other } as never);
    expect(summaries).toBe(3);
  });
});
