// What the calls of the model report to the host of an agent's run: notes and facts of the answers.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AgentRuntime,
  createAgent,
  createModelRuntime,
  createRuntime,
  Engine,
  GeneralChatAgent,
  GroupOrchestrationRuntime,
  type GroupInstruction,
  tool,
} from 'millrace';

import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';

const models: ScriptedModel[] = [];
afterEach(async () => {
  await Promise.all(models.splice(0).map((one) => one.close()));
});

async function modelOf(turns: Turn[]): Promise<ScriptedModel> {
  const model = await startModel(turns);
  models.push(model);
  return model;
}

const look = tool({ name: 'look', description: 'Looks.', run: () => 'seen' });
const twoTurns: Turn[] = [
  { text: 'I look. ', calls: [{ id: 'c1', name: 'look' }] },
  { text: 'Done.' },
];
// GPT-5 takes no temperature of the caller.
const settings = (model: ScriptedModel) => ({
  model: 'openai:gpt-5' as const,
  provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
  parameters: { temperature: 0.5 },
});
const aboutTemperature = expect.stringContaining('`temperature`');

describe('the result of a run', () => {
  it('has each note of its turns once, and what the answers report', async () => {
    const agent = createAgent({ ...settings(await modelOf(twoTurns)), tools: [look] });
    const { status, notes, answers } = await agent.run('Hi').result;
    expect(status).toBe('completed');
    expect(notes).toEqual([aboutTemperature]);
    expect(answers).toMatchObject([
      { provider: 'openai', model: 'gpt-5', finishReason: 'tool_calls' },
      { provider: 'openai', model: 'gpt-5', finishReason: 'stop' },
    ]);
  });

  it('has those of a turn that failed', async () => {
    const agent = createAgent(settings(await modelOf([{ text: 'Hel', cut: true }])));
    const { status, notes } = await agent.run('Hi').result;
    expect(status).toBe('error');
    expect(notes).toEqual([aboutTemperature]);
  });

  it('has those of the agents that the run called', async () => {
    const helper = createAgent(settings(await modelOf([{ text: 'Helped.' }])));
    const outer = await modelOf([
      { calls: [{ id: 'c1', name: 'helper', args: { task: 'help' } }] },
      { text: 'Done.' },
    ]);
    const agent = createAgent({
      model: 'openai:gpt-4o',
      provider: { baseURL: outer.url, apiKey: 'k', maxRetries: 0 },
      agents: [{ name: 'helper', description: 'Helps.', agent: helper }],
    });
    const { notes, answers } = await agent.run('Hi').result;
    expect(notes).toEqual([aboutTemperature]);
    expect(answers?.map(({ model }) => model).sort()).toEqual(['gpt-4o', 'gpt-4o', 'gpt-5']);
  });
});

it('is in the state of an AgentRuntime', async () => {
  const { provider } = settings(await modelOf([{ text: 'Done.' }]));
  const agent = Object.assign(
    new GeneralChatAgent({ modelRuntimeConfig: { temperature: 0.5 } } as never),
    {
      modelRuntime: createModelRuntime('openai', provider),
    },
  );
  const state = AgentRuntime.createInitialState({
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: '' },
      { role: 'user', content: 'So?' },
    ],
    modelRuntimeConfig: { model: 'gpt-5', provider: 'openai' },
  });
  const { newState } = await new AgentRuntime(agent, { history: 'engine' }).run(state);
  expect(newState.report?.answers).toMatchObject([{ model: 'gpt-5', finishReason: 'stop' }]);
});

it('is in the result of an Engine', async () => {
  const model = await modelOf([{ text: 'Done.' }]);
  const engine = new Engine({ baseURL: model.url, apiKey: 'k', model: 'gpt-5', temperature: 0.5 });
  const { answers } = await engine.run('Hi');
  expect(answers).toMatchObject([{ model: 'gpt-5', finishReason: 'stop' }]);
});

it('is known of a durable run after a restart', async () => {
  const model = await modelOf(twoTurns);
  const storage = `file:${join(mkdtempSync(join(tmpdir(), 'notes-')), 'runs.db')}` as const;
  const make = () => {
    const runtime = createRuntime({ storage });
    const agent = createAgent({ ...settings(model), tools: [look], runtime, name: 'looker' });
    return { runtime, agent };
  };
  const first = make();
  const run = first.agent.run('Hi');
  expect((await run.result).notes).toEqual([aboutTemperature]);
  await first.runtime.close();
  const { runtime } = make();
  const again = runtime.attach(run.id);
  expect((await again.result).notes).toEqual([aboutTemperature]);
  await runtime.close();
});

describe('the result of a job', () => {
  const make = async (turns: Turn[]) => {
    const runtime = createRuntime({ storage: 'memory' });
    createAgent({ ...settings(await modelOf(turns)), runtime, name: 'looker' });
    return runtime;
  };

  it('has the notes of the runs that worked for it, each once', async () => {
    const runtime = await make([{ text: 'One.' }, { text: 'Two.' }, { text: 'Cut', cut: true }]);
    const inner = runtime.job('inner', (self) => self.agent('looker', 'Hi'));
    const job = runtime.job('outer', async (self) => {
      const { notes } = await self.agent('looker', 'Hi');
      await self.run(inner);
      await self.agent('looker', 'Hi').catch(() => undefined);
      return notes;
    });
    const { id } = await job.start(null);
    const { value, notes } = await runtime.attach(id).result;
    expect(value).toEqual([aboutTemperature]);
    expect(notes).toEqual([aboutTemperature]);
    expect((await runtime.attach(id).result).notes).toEqual([aboutTemperature]);
    await runtime.close();
  });

  it('has those of the members of a group', async () => {
    const runtime = await make([{ text: 'Spoken.' }]);
    const instructions: GroupInstruction[] = [
      { type: 'call_agent', payload: { agentId: 'looker', instruction: 'Hi' } },
      { type: 'finish', reason: 'done' },
    ];
    const supervisor = { decide: () => instructions.shift() as GroupInstruction };
    const group = new GroupOrchestrationRuntime(supervisor, { runtime, name: 'talk' });
    const { id } = await group.start(AgentRuntime.createInitialState());
    expect((await runtime.attach(id).result).notes).toEqual([aboutTemperature]);
    await runtime.close();
  });
});
