// What plain JavaScript gives by mistake is named, whichever function it is given to.
import {
  answerWithSearch,
  contextEngineering,
  InterventionChecker,
  invokeBuiltinTool,
  invokeTool,
  MillraceError,
  runPresetTask,
  shouldCompress,
  toAGUIResponse,
} from 'millrace';

import { readEvents } from '../../support/events';

const calls: [string, (value: never) => unknown][] = [
  ['shouldIntervene', (value) => InterventionChecker.shouldIntervene(value)],
  ['contextEngineering', (value) => contextEngineering(value)],
  ['shouldCompress', (value) => shouldCompress(value)],
  ['runPresetTask', (value) => runPresetTask(value)],
  ['answerWithSearch', (value) => answerWithSearch(value)],
];
const wrong: unknown[] = [undefined, null, 5, 'text'];

describe.each(calls)('%s', (name, call) => {
  it.each(wrong)('names itself when it is given %j', async (value) => {
    const error: unknown = await Promise.resolve()
      .then(() => call(value as never))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MillraceError);
    expect(error).toMatchObject({ code: 'invalid_argument' });
    expect((error as Error).message).toContain(name);
  });
});

it.each(wrong)('a call of a tool that is %j is a failure with a sentence', async (value) => {
  for (const invoke of [invokeTool, invokeBuiltinTool]) {
    const { success, content, error } = await invoke(value as never);
    expect(success).toBe(false);
    expect(content).toContain('must be an object');
    expect(error).toMatchObject({ type: 'invalid_argument' });
  }
});

describe('a source without one AG-UI event', () => {
  const chunk = {
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ delta: { content: 'a' } }],
  };

  it.each([[[chunk, chunk]], [['text', 5]]])('ends in an error: %j', async (source) => {
    const response = toAGUIResponse(source as never, { threadId: 't', runId: 'r' });
    const events = readEvents(await response.text());
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'not_a_stream' });
    expect(events.filter(({ name }) => name === 'millrace.warning').length).toBeGreaterThan(0);
  });

  it('may be empty', async () => {
    const events = readEvents(await toAGUIResponse([], { threadId: 't', runId: 'r' }).text());
    expect(events.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
  });
});
