// Tools by name: those that a GeneralChatAgent may call, and those that nobody knows.
/* eslint-disable @typescript-eslint/no-explicit-any */
import { AgentRuntime, GeneralChatAgent } from 'millrace';

const call = (identifier: string, apiName: string) => ({
  id: `${identifier}-${apiName}`,
  identifier,
  apiName,
  arguments: '{}',
  type: 'default' as const,
});
const running = (more = {}) => ({
  ...AgentRuntime.createInitialState({ operationId: 'op', status: 'running' }),
  ...more,
});
const decide = (config: object, phase: string, payload: object, state: object = {}): any =>
  new GeneralChatAgent(config).runner({ phase, payload } as any, running(state));
const called = (...toolsCalling: object[]) => ({
  hasToolsCalling: true,
  toolsCalling,
  parentMessageId: 'a1',
});
const definition = (name: string) => ({ type: 'function', function: { name } });

describe('allowedToolNames', () => {
  const [read, erase, run] = [call('disk', 'read'), call('disk', 'erase'), call('disk', 'run')];
  const toolManifestMap = {
    disk: { api: [{ name: 'read' }, { name: 'erase', humanIntervention: 'required' }] },
  };
  const notAllowed = (...toolsCalling: object[]) => ({
    type: 'resolve_blocked_tools',
    payload: {
      blockedContent: expect.stringContaining('may not call') as string,
      blockedReason: 'tool_not_allowed',
      parentMessageId: 'a1',
      toolsCalling,
    },
  });

  it('answers calls of other tools, and executes or asks for the rest', async () => {
    const config = { allowedToolNames: ['disk____read', 'disk____erase'] };
    expect(
      await decide(config, 'llm_result', called(read, erase, run), { toolManifestMap }),
    ).toEqual([
      { type: 'call_tool', payload: { parentMessageId: 'a1', toolCalling: read } },
      notAllowed(run),
      {
        type: 'request_human_approve',
        pendingToolsCalling: [erase],
        reason: 'human_intervention_required',
      },
    ]);
  });

  it('may be empty, and knows tools of a plain name', async () => {
    expect(await decide({ allowedToolNames: [] }, 'llm_result', called(run))).toEqual([
      notAllowed(run),
    ]);
    const find = call('find', 'find');
    const state = { toolManifestMap: { find: {} } };
    const config = { allowedToolNames: ['find'] };
    expect(await decide(config, 'llm_result', called(find), state)).toMatchObject([
      { type: 'call_tool' },
    ]);
  });

  it('goes with each turn of the model, from the first', async () => {
    const allowedToolNames = ['disk____read'];
    const messages = [{ role: 'user', content: 'x' }];
    for (const phase of ['init', 'user_input', 'tool_result', 'compression_result']) {
      expect(await decide({ allowedToolNames }, phase, {}, { messages })).toMatchObject({
        type: 'call_llm',
        payload: { allowedToolNames },
      });
      const { payload } = await decide({}, phase, {}, { messages });
      expect(payload).not.toHaveProperty('allowedToolNames');
    }
  });

  it('leaves the other tools out of what the model gets', async () => {
    const requested: any[] = [];
    const run = async (allowedToolNames: string[]) => {
      const agent: any = new GeneralChatAgent({ allowedToolNames });
      agent.modelRuntime = async function* (payload: any) {
        requested.push(payload.tools);
        yield { content: 'ok' };
      };
      const messages = [{ role: 'user', content: 'x' }];
      const tools = ['disk____read', 'disk____erase____builtin', 'find'].map(definition);
      await new AgentRuntime(agent).step(running({ messages, tools }), {
        phase: 'user_input',
        payload: {},
        session: {} as any,
      });
    };
    await run(['disk____erase', 'find']);
    await run([]);
    expect(requested).toEqual([['disk____erase____builtin', 'find'].map(definition), undefined]);
  });
});

it('the first turn of the model has the tools of the state', async () => {
  const tools = [definition('find')];
  const messages = [{ role: 'user', content: 'x' }];
  expect(await decide({}, 'user_input', {}, { messages, tools })).toMatchObject({
    payload: { tools },
  });
  const own = [definition('own')];
  expect(await decide({}, 'user_input', { tools: own }, { messages, tools })).toMatchObject({
    payload: { tools: own },
  });
});

it('an answer whose calls nobody knows names them where it ends', async () => {
  const toolCalls = ['open', 'close'].map((name) => ({
    id: name,
    type: 'function',
    function: { name, arguments: '{}' },
  }));
  const payload = { ...called(), result: { content: '', tool_calls: toolCalls } };
  expect(await decide({}, 'llm_result', payload)).toMatchObject({
    type: 'finish',
    reason: 'completed',
    reasonDetail: expect.stringContaining('open, close') as string,
  });
});
