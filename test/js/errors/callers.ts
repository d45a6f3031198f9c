// Mistakes of callers and of their agents.
import {
  AgentRuntime,
  builtinTools,
  createAgent,
  createModelRuntime,
  imageTool,
  inMemoryStorage,
  invokeBuiltinTool,
  openAIAdapter,
  SessionManager,
  tool,
} from 'millrace';

import { agentOf, requestsToPay, errorOf, looks, pay, payload } from './kit';
import { openSource } from '../../../dist/cjs/transport/source';
import { endOf, type Failure, type Rows } from './row';

/* eslint-disable @typescript-eslint/no-explicit-any */
const anything = (value: unknown): any => value;

// A tool's failure is a record { error: { type, message } }.
const failureIn = ({ error }: any): Failure => ({ code: error.type, message: error.message });

const invoked = async (run: () => unknown, options: object = {}): Promise<Failure> => {
  const call = { id: 'c', identifier: 'b', apiName: 'look', arguments: '{}', type: 'builtin' };
  const look = tool({ name: 'look', run });
  return failureIn(await invokeBuiltinTool(anything(call), [look], options));
};

const state = (more: object = {}) =>
  AgentRuntime.createInitialState({
    operationId: 'op',
    messages: [{ role: 'user', content: 'Hi' }],
    ...more,
  });

async function stepped(instruction: unknown): Promise<Failure> {
  const runtime = new AgentRuntime(anything({ runner: () => instruction }));
  const { events } = await runtime.step(state());
  return failureIn(events.find(({ type }) => type === 'error'));
}

async function limited(limits: object, script = [looks, { text: 'done' }]): Promise<unknown> {
  const look = tool({ name: 'look', run: () => 'nothing' });
  const { agent } = await agentOf(script, { tools: [look], limits });
  return agent.run('Look twice.').text();
}

// Some runtimes throw no Error.
const paint: Error = anything('out of paint');

async function answeredTwice(): Promise<unknown> {
  const { agent } = await agentOf([requestsToPay, { text: 'done' }], { tools: [pay] });
  const run = agent.run('Pay.', { threadId: 'twice' });
  const { interrupts = [] } = await run.result;
  await (
    await run.resume(true)
  ).result;
  const interruptId = interrupts[0]?.id ?? '';
  const resume = [{ interruptId, status: 'resolved' as const, payload: { approved: true } }];
  const failed = await errorOf(agent, [], { threadId: 'twice', resume });
  if (!failed?.message.includes(interruptId)) throw new Error(`not its id: ${failed?.message}`);
  return failed;
}

export const callerRows: Rows = {
  invalid_argument: {
    provoke: () => createModelRuntime(anything(5)),
    says: '5',
  },
  invalid_option: {
    provoke: () => createAgent({ model: 'openai:m', limits: { maxSteps: -1 } }),
    says: '-1',
  },
  invalid_url: {
    provoke: () => createModelRuntime('openai', { apiKey: 'k', baseURL: 'ftp://files.example' }),
    says: "'ftp://files.example'",
  },
  unknown_wire: {
    provoke: () =>
      openSource(new Response('x'), { kind: 'events', options: { wire: 'morse' } }).read(),
    says: "'morse'",
  },
  unknown_format: {
    provoke: async () => {
      const { agent } = await agentOf([]);
      return errorOf(agent, 'Hi', { format: 'morse' });
    },
    says: "'morse'",
  },
  unknown_provider: {
    provoke: () => createModelRuntime('nobody', {}),
    says: 'nobody',
  },
  invalid_messages: {
    provoke: () =>
      createModelRuntime('openai', { apiKey: 'k' })
        .stream(anything({ model: 'm', messages: [{ role: 'pilot', content: 'Hi' }] }))
        .text(),
    says: /messages\[0\].*pilot/,
  },
  missing_api_key: {
    provoke: () => createModelRuntime('openai', { apiKey: '' }).stream(payload).text(),
    says: 'OPENAI_API_KEY',
  },
  response_used: {
    provoke: async () => {
      const response = new Response('data: [DONE]\n\n', { status: 203 });
      await response.text();
      return endOf(openAIAdapter().parse(response));
    },
    says: '203',
  },
  state_not_serializable: {
    provoke: () => {
      const content: Record<string, unknown> = {};
      content['again'] = content;
      return inMemoryStorage().artifact.create({ title: 't', type: 'x', threadId: 't', content });
    },
    says: 'value.content.again',
  },
  invalid_state: {
    provoke: () => new AgentRuntime(anything({ runner: () => [] })).resume(anything('nothing')),
    says: "'nothing'",
  },
  invalid_instruction: { provoke: () => stepped(42), says: '42' },
  unknown_instruction: { provoke: () => stepped({ type: 'dance' }), says: 'dance' },
  approval_mismatch: {
    provoke: async () => {
      const { agent } = await agentOf([]);
      const resume = [{ interruptId: 'stray', status: 'resolved' as const, payload: true }];
      return errorOf(agent, [], { threadId: 'none', resume: anything(resume) });
    },
    says: "'stray'",
  },
  approval_answered: { provoke: answeredTwice, says: /^The interrupt '.+' was already answered/ },
  tool_not_found: {
    provoke: async () => {
      const call = { id: 'c', identifier: 'b', apiName: 'missing', arguments: '{}' };
      return failureIn(await invokeBuiltinTool(anything(call), []));
    },
    says: 'missing',
  },
  tool_failed: {
    provoke: () =>
      imageTool({
        runtime: { createImage: () => Promise.reject(paint) },
        model: 'm',
        store: () => 'https://files.example/1',
      }).run({ prompt: 'a cat' }, anything({})),
    says: 'out of paint',
  },
  tool_timeout: {
    provoke: () => invoked(() => new Promise(() => undefined), { timeoutMs: 20 }),
    says: 'look did not answer within 20 ms',
  },
  program_not_allowed: {
    provoke: async () => {
      const [run] = builtinTools({ runProcess: { programs: ['git'] } });
      return failureIn(await run?.run(anything({ argv: ['sh'] }), anything({})));
    },
    says: "'sh'",
  },
  too_much_work: {
    provoke: async () => {
      const sessions = new SessionManager({ maxQueued: 0 });
      const hangs = () => new Promise<never>(() => undefined);
      void sessions.run('lobby', hangs);
      return sessions.run('lobby', hangs);
    },
    says: 'lobby',
  },
  cost_limit_exceeded: { provoke: () => limited({ maxCost: 0.000_001 }), says: /\d/ },
  token_limit_exceeded: { provoke: () => limited({ maxTokens: 1 }), says: /15/ },
  timeout: {
    provoke: () => limited({ maxDurationMs: 300 }, [{ text: 'half', hang: true }]),
    says: /300/,
  },
  run_interrupted: {
    provoke: async () => {
      const { agent } = await agentOf([requestsToPay], { tools: [pay] });
      return agent.run('Pay.').text();
    },
    says: 'pay is waiting for approval',
  },
  model_runtime_missing: {
    provoke: () => stepped({ type: 'call_llm', payload: { messages: payload.messages } }),
    says: 'modelRuntime',
  },
  cancelled: {
    provoke: async () => {
      const { agent } = await agentOf([{ hang: true }]);
      const run = agent.run('Wait.');
      run.stop();
      return run.text();
    },
    says: 'run was stopped',
  },
  replay_unavailable: {
    provoke: async () => {
      const { agent } = await agentOf([{ text: 'once' }]);
      const run = agent.run('Tell.', { replayBufferSize: 0 });
      await run.response().text();
      return endOf(run);
    },
    says: 'replayBufferSize',
  },
  internal: {
    native: ['net/client_test.cpp', 'Client.AHandlerThatThrowsEndsItsOwnTransferOnly'],
  },
};
