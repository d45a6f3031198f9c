// Functions of plugins by the names that LobeHub gives them: short ones, and without the plugin.
import { createHash } from 'node:crypto';

import { AgentRuntime, GeneralChatAgent } from 'millrace';

const hashed = (name: string): string =>
  `MD5HASH_${createHash('md5').update(name).digest('hex').slice(0, 12)}`;

// What becomes of a call of `name` where `api` of the plugin `files` needs the user.
async function called(name: string, api: string, config = {}) {
  const agent = Object.assign(new GeneralChatAgent(config), {
    tools: { [api]: () => 'ran' },
    modelRuntime: async function* () {
      const call = { id: 'c1', type: 'function' as const, function: { name, arguments: '{}' } };
      yield await Promise.resolve({ tool_calls: [call] });
    },
  });
  const offered = `files____${/^[\w-]+$/.test(api) ? api : hashed(api)}`;
  const state = AgentRuntime.createInitialState({
    operationId: 'op',
    messages: [{ role: 'user', content: 'Go.' }],
    tools: [{ type: 'function', function: { name: offered } }],
    toolManifestMap: {
      files: { identifier: 'files', api: [{ name: api, humanIntervention: 'always' }] },
    },
    userInterventionConfig: { approvalMode: 'auto-run' },
  });
  const runtime = new AgentRuntime(agent, { history: 'engine' });
  const { newState, nextContext } = await runtime.step(state);
  const { newState: waiting } = await runtime.step(newState, nextContext);
  return waiting;
}

it.each([
  ['a hash', `files____${hashed('löschen')}`, 'löschen'],
  ['a hash with a type', `files____${hashed('löschen')}____mcp`, 'löschen'],
  ['the function alone', 'remove', 'remove'],
])('a call by %s has the approval of its function', async (_what, name, api) => {
  const waiting = await called(name, api);
  expect(waiting).toMatchObject({
    status: 'waiting_for_human',
    pendingToolsCalling: [{ identifier: 'files', apiName: api }],
  });
});

it('allows a function by its short name', async () => {
  const allowedToolNames = [`files____${hashed('löschen')}`];
  const config = { agentConfig: {}, allowedToolNames };
  const waiting = await called(`files____${hashed('löschen')}`, 'löschen', config);
  expect(waiting.status).toBe('waiting_for_human');
});
