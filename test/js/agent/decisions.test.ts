// The scripts are plain data of many shapes, as JavaScript callers give them.
/* eslint-disable @typescript-eslint/no-explicit-any */
import {
  DEFAULT_SECURITY_BLACKLIST,
  AgentRuntime,
  GeneralChatAgent,
  GroupOrchestrationRuntime,
  GroupOrchestrationSupervisor,
  InterventionChecker,
  getCompressionThreshold,
  shouldCompress,
} from 'millrace';

// The figures here are estimates: no vocabulary is installed.
jest.mock('gpt-tokenizer/encoding/o200k_base', () => {
  throw new Error('not installed');
});

const modelRuntimeConfig = { model: 'm', provider: 'p' };
const agent = (config = {}) => new GeneralChatAgent({ modelRuntimeConfig, ...config });
const running = (extra = {}) => ({
  ...AgentRuntime.createInitialState({ operationId: 'op', status: 'running' }),
  ...extra,
});
const call = (id: string, identifier: string, apiName = 'go', args = '{}') => ({
  id,
  identifier,
  apiName,
  arguments: args,
  type: 'default',
});
const withCalls = (...toolsCalling: object[]) => ({
  phase: 'llm_result' as const,
  payload: { hasToolsCalling: true, toolsCalling, parentMessageId: 'a1' },
});

describe('GeneralChatAgent', () => {
  it('calls the model with the input', async () => {
    const state = running({ messages: [{ role: 'user', content: 'Hello' }] });
    const payload = { model: 'x', isFirstMessage: true };
    expect(await agent().runner({ phase: 'init', payload }, state)).toEqual({
      type: 'call_llm',
      payload: { ...payload, messages: state.messages },
    });
  });

  it.each(['tool_result', 'tools_batch_result', 'task_result', 'sub_agent_result'] as const)(
    'calls the model again after %s',
    async (phase) => {
      const state = running({ messages: [{ role: 'user', content: 'x' }], tools: [{ name: 't' }] });
      expect(await agent().runner({ phase, payload: { parentMessageId: 't1' } }, state)).toEqual({
        type: 'call_llm',
        payload: {
          ...modelRuntimeConfig,
          messages: state.messages,
          parentMessageId: 't1',
          tools: state.tools,
        },
      });
    },
  );

  it('asks the model to sum up several tasks', async () => {
    const result: any = await agent().runner(
      { phase: 'tasks_batch_result', payload: {} },
      running(),
    );
    expect(result.payload.messages).toMatchObject([{ role: 'user' }]);
  });

  it('finishes without calls', async () => {
    const payload = { hasToolsCalling: false, toolsCalling: [] };
    expect(await agent().runner({ phase: 'llm_result', payload }, running())).toMatchObject({
      type: 'finish',
      reason: 'completed',
    });
    expect(
      await agent().runner({ phase: 'llm_result', payload }, running({ forceFinish: true })),
    ).toMatchObject({ reason: 'max_steps_completed' });
  });

  it('splits calls by policy', async () => {
    const toolManifestMap = { safe: {}, risky: { humanIntervention: 'required' } };
    const safe = call('1', 'safe');
    const risky = call('2', 'risky');
    expect(await agent().runner(withCalls(safe, risky), running({ toolManifestMap }))).toEqual([
      { type: 'call_tool', payload: { parentMessageId: 'a1', toolCalling: safe } },
      {
        type: 'request_human_approve',
        pendingToolsCalling: [risky],
        reason: 'human_intervention_required',
      },
    ]);
    expect(
      await agent().runner(withCalls(safe, call('3', 'safe')), running({ toolManifestMap })),
    ).toMatchObject([{ type: 'call_tools_batch' }]);
    const unattended = { toolManifestMap, userInterventionConfig: { approvalMode: 'reject' } };
    expect(await agent().runner(withCalls(safe, risky), running(unattended))).toMatchObject([
      { type: 'call_tool' },
      { type: 'resolve_blocked_tools', payload: { toolsCalling: [risky] } },
    ]);
  });

  it('asks resolvers, in order, until one objects', async () => {
    const order: string[] = [];
    const audit = (type: string, answer: boolean) => ({
      type,
      policy: 'always' as const,
      resolver: async (_args: object, metadata: any) => {
        order.push(type);
        expect(Array.isArray(metadata.securityBlacklist)).toBe(true);
        return answer;
      },
    });
    const globalInterventionAudits = [audit('a', false), audit('b', true), audit('c', true)];
    const state = running({ toolManifestMap: { t: {} } });
    const result = await agent({ globalInterventionAudits }).runner(
      withCalls(call('1', 't')),
      state,
    );
    expect(order).toEqual(['a', 'b']);
    expect(result).toMatchObject([{ type: 'request_human_approve' }]);
  });

  it('asks when a resolver fails', async () => {
    const dynamicInterventionAudits = { scope: () => Promise.reject(new Error('x')) };
    const toolManifestMap = { t: { humanIntervention: { dynamic: { type: 'scope' } } } };
    const result = await agent({ dynamicInterventionAudits }).runner(
      withCalls(call('1', 't')),
      running({ toolManifestMap }),
    );
    expect(result).toMatchObject([{ type: 'request_human_approve' }]);
  });

  it('looks at open rows of the current turn only', async () => {
    const pending = (id: string, parentId: string) => ({
      id: `row-${id}`,
      parentId,
      role: 'tool',
      content: '',
      tool_call_id: id,
      plugin: call(id, 't'),
      pluginIntervention: { status: 'pending' },
    });
    const turn = (id: string, callId: string) => ({
      id,
      role: 'assistant',
      content: '',
      tool_calls: [{ id: callId, type: 'function', function: { name: 't', arguments: '{}' } }],
    });
    const context = { phase: 'tool_result' as const, payload: { parentMessageId: 'x' } };
    const open = running({ messages: [turn('a1', 'c1'), pending('c1', 'a1')] });
    expect(await agent().runner(context, open)).toEqual({
      type: 'request_human_approve',
      pendingToolsCalling: [call('c1', 't')],
      reason: 'Some tools still pending approval',
      skipCreateToolMessage: true,
    });
    const stale = running({ messages: [turn('a0', 'c0'), pending('c0', 'a0'), turn('a1', 'c1')] });
    expect(await agent().runner(context, stale)).toMatchObject({ type: 'call_llm' });
    expect(await agent().runner(context, { ...open, status: 'interrupted' } as any)).toMatchObject({
      type: 'resolve_aborted_tools',
      payload: { parentMessageId: 'x', toolsCalling: [call('c1', 't')] },
    });
  });

  it('fills the row that was made for the next answer', async () => {
    const state = running({ pendingAssistantMessageId: 'seed' });
    for (const phase of ['user_input', 'tool_result', 'compression_result'] as const) {
      const result: any = await agent().runner({ phase, payload: {} }, state);
      expect(result.payload.assistantMessageId).toBe('seed');
      expect(result.payload).not.toHaveProperty('createAssistantMessage');
    }
    const fresh: any = await agent().runner(
      { phase: 'compression_result', payload: {} },
      running(),
    );
    expect(fresh.payload.createAssistantMessage).toBe(true);
  });

  it('counts tools against the window, but not those of the last answer', async () => {
    const config = { compressionConfig: { maxWindowToken: 4000 } };
    const tools = [
      { type: 'function', function: { name: 't', description: 'word '.repeat(3000) } },
    ];
    const messages = [{ role: 'user', content: 'x' }];
    const context = { phase: 'user_input' as const, payload: {} };
    expect(await agent(config).runner(context, running({ messages, tools }))).toMatchObject({
      type: 'compress_context',
    });
    const forced = running({ messages, tools, forceFinish: true });
    expect(await agent(config).runner(context, forced)).toMatchObject({ type: 'call_llm' });
    const small = running({ messages, tools, modelRuntimeConfig: { contextWindowTokens: 4000 } });
    expect(await agent().runner(context, small)).toMatchObject({ type: 'compress_context' });
  });

  it('gives way to queued messages, sub-tasks, compression and errors', async () => {
    const queued = {
      phase: 'tool_result' as const,
      payload: {},
      stepContext: { hasQueuedMessages: true },
    };
    for (const phase of [
      'tool_result',
      'tools_batch_result',
      'tasks_batch_result',
      'sub_agents_batch_result',
    ] as const) {
      expect(await agent().runner({ ...queued, phase }, running())).toEqual({
        type: 'finish',
        reason: 'queued_message_interrupt',
        reasonDetail: expect.any(String) as string,
      });
    }
    const task = { type: 'execSubAgent', parentMessageId: 'p', task: { instruction: 'x' } };
    expect(
      await agent().runner(
        { phase: 'tool_result', payload: { stop: true, data: { state: task } } },
        running(),
      ),
    ).toEqual({
      type: 'exec_sub_agent',
      payload: { parentMessageId: 'p', task: { instruction: 'x' } },
    });
    const messages = [{ role: 'user', content: 'long '.repeat(100) }];
    expect(
      await agent({ compressionConfig: { maxWindowToken: 50 } }).runner(
        { phase: 'user_input', payload: {} },
        running({ messages }),
      ),
    ).toEqual({
      type: 'compress_context',
      payload: { currentTokenCount: expect.any(Number), messages },
    });
    expect(
      await agent().runner({ phase: 'error', payload: { error: new Error('bad') } }, running()),
    ).toEqual({ type: 'finish', reason: 'error_recovery', reasonDetail: 'bad' });
    expect(await agent().runner({ phase: 'odd' as any }, running())).toMatchObject({
      reason: 'agent_decision',
    });
    expect(
      await agent().runner({ phase: 'human_abort', payload: { reason: 'user' } }, running()),
    ).toEqual({ type: 'finish', reason: 'user_requested', reasonDetail: 'user' });
  });

  it('runs a chat with a tool and an approval to its end', async () => {
    const chunks = [
      [
        {
          tool_calls: [
            {
              id: 'c1',
              type: 'function',
              function: { name: 'mail____send', arguments: '{"to":"a"}' },
            },
          ],
        },
      ],
      [{ content: 'Sent.' }],
    ];
    const brain: any = agent();
    brain.tools = { mail____send: jest.fn().mockResolvedValue('ok') };
    brain.modelRuntime = async function* () {
      yield* chunks.shift() ?? [];
    };
    const runtime = new AgentRuntime(brain, { history: 'engine' });
    let result: any = {
      newState: AgentRuntime.createInitialState({
        operationId: 'op',
        messages: [{ role: 'user', content: 'Mail a' }],
        toolManifestMap: { mail: { humanIntervention: 'required' } },
      }),
    };
    const loop = async () => {
      do result = await runtime.step(result.newState, result.nextContext);
      while (result.nextContext);
    };
    await loop();
    expect(result.newState.status).toBe('waiting_for_human');
    expect(brain.tools.mail____send).not.toHaveBeenCalled();
    result = await runtime.decide(result.newState, { action: 'approve', toolCallId: 'c1' });
    await loop();
    expect(brain.tools.mail____send).toHaveBeenCalledWith({ to: 'a' });
    expect(result.newState.status).toBe('done');
    expect(result.newState.messages.map(({ role, content }: any) => [role, content])).toEqual([
      ['user', 'Mail a'],
      ['assistant', ''],
      ['tool', 'ok'],
      ['assistant', 'Sent.'],
    ]);
  });
});

describe('InterventionChecker', () => {
  it('knows patterns, keys and hashes', () => {
    expect(InterventionChecker.matchPattern('git add:*', 'git add .')).toBe(true);
    expect(InterventionChecker.matchesArgument({ type: 'regex', pattern: '^a(?=b)' }, 'ab')).toBe(
      true,
    );
    expect(InterventionChecker.matchesArgument({ type: 'regex', pattern: '(' }, 'ab')).toBe(false);
    expect(InterventionChecker.generateToolKey('bash', 'run', 'x')).toBe('bash/run#x');
    expect(InterventionChecker.hashArguments({ a: 1, b: [2] })).toBe(
      InterventionChecker.hashArguments({ b: [2], a: 1 }),
    );
  });

  it('takes the default blacklist, another one, or none', () => {
    const toolArgs = { command: 'sudo rm -rf /' };
    expect(InterventionChecker.shouldIntervene({ config: 'never', toolArgs })).toBe('required');
    expect(
      InterventionChecker.shouldIntervene({ config: 'never', securityBlacklist: [], toolArgs }),
    ).toBe('never');
    const extended = [
      ...DEFAULT_SECURITY_BLACKLIST,
      { description: 'db', match: { command: { type: 'regex' as const, pattern: 'psql.*prod' } } },
    ];
    expect(
      InterventionChecker.checkSecurityBlacklist(extended, { command: 'psql -h prod' }),
    ).toEqual({
      blocked: true,
      reason: 'db',
      policy: 'always',
    });
    expect(InterventionChecker.checkSecurityBlacklist(extended, toolArgs)).toMatchObject({
      reason: 'securityBlacklist.rmRootDir',
      policy: 'always',
    });
    const soft = { description: 'db', match: { command: 'psql*' }, policy: 'required' as const };
    const policyOf = (rules: any, command: string) =>
      InterventionChecker.checkSecurityBlacklist(rules, { command }).policy;
    expect(policyOf([soft], 'psql')).toBe('required');
    expect(policyOf(undefined, 'cat .env')).toBe('required');
    expect(policyOf(undefined, 'rm -rf /')).toBe('always');
    expect(InterventionChecker.checkSecurityBlacklist(undefined, {})).toEqual({ blocked: false });
    expect(DEFAULT_SECURITY_BLACKLIST.filter(({ match }) => match.command).length).toBeGreaterThan(
      20,
    );
    expect(Array.isArray(DEFAULT_SECURITY_BLACKLIST)).toBe(true);
    expect(DEFAULT_SECURITY_BLACKLIST.length).toBeGreaterThan(25);
    expect(JSON.parse(JSON.stringify(DEFAULT_SECURITY_BLACKLIST))).toEqual([
      ...DEFAULT_SECURITY_BLACKLIST,
    ]);
  });
});

describe('group orchestration', () => {
  const state = () => GroupOrchestrationRuntime.createInitialState({ operationId: 'g' });
  const decided = (decision: string, params: object, skipCallSupervisor = false) => ({
    type: 'supervisor_decided',
    payload: { decision, params, skipCallSupervisor },
  });

  it('decides by rules', async () => {
    const supervisor = new GroupOrchestrationSupervisor({ maxRounds: 2, supervisorAgentId: 's' });
    const rows: [object, object][] = [
      [
        { type: 'init', payload: { groupId: 'g' } },
        { type: 'call_supervisor', payload: { groupId: 'g', round: 0, supervisorAgentId: 's' } },
      ],
      [
        decided('speak', { agentId: 'a', instruction: 'i' }),
        { type: 'call_agent', payload: { agentId: 'a', instruction: 'i' } },
      ],
      [
        { type: 'agent_spoke', payload: {} },
        { type: 'call_supervisor', payload: { round: 1, supervisorAgentId: 's' } },
      ],
      [
        decided('broadcast', { agentIds: ['a'], toolMessageId: 't' }),
        {
          type: 'parallel_call_agents',
          payload: { agentIds: ['a'], disableTools: true, toolMessageId: 't' },
        },
      ],
      [
        { type: 'agents_broadcasted', payload: {} },
        { type: 'finish', reason: 'max_rounds_exceeded' },
      ],
      [
        decided('delegate', { agentId: 'a', reason: 'r' }),
        { type: 'delegate', payload: { agentId: 'a', reason: 'r' } },
      ],
      [
        { type: 'delegated', payload: { agentId: 'a' } },
        { type: 'finish', reason: 'delegated_to_a' },
      ],
      [decided('finish', {}), { type: 'finish', reason: 'supervisor_finished' }],
      [decided('sing', {}), { type: 'finish', reason: 'unknown_decision: sing' }],
      [decided('speak', { agentId: 'a' }, true), { type: 'call_agent', payload: { agentId: 'a' } }],
      [
        { type: 'agent_spoke', payload: {} },
        { type: 'finish', reason: 'skip_call_supervisor' },
      ],
      [{ type: 'odd' }, { type: 'finish', reason: 'unknown_result_type' }],
    ];
    for (const [result, instruction] of rows) {
      expect(await supervisor.decide(result as any)).toEqual(instruction);
    }
  });

  it('runs members, whose failures and delays are results', async () => {
    const decisions = [
      decided('speak', { agentId: 'a' }),
      decided('broadcast', { agentIds: ['b', 'slow'] }),
      decided('finish', { reason: 'all said' }),
    ];
    const seen: any[] = [];
    const events: any[] = [];
    const runtime = new GroupOrchestrationRuntime(
      new GroupOrchestrationSupervisor({ supervisorAgentId: 's' }),
      {
        agentTimeoutMs: 30,
        onEvent: (event) => events.push(event),
        executors: {
          call_supervisor: (_instruction, given) => ({
            events: [],
            newState: given,
            result: decisions.shift() as any,
          }),
        },
        callAgent: (agentId) => {
          seen.push(agentId);
          if (agentId === 'a') throw new Error('no');
          return agentId === 'slow' ? new Promise(() => undefined) : 'said';
        },
      },
    );
    const { status } = await runtime.run(state(), 'g');
    expect(seen).toEqual(['a', 'b', 'slow']);
    expect(status).toBe('done');
    expect(events.at(-1)).toEqual({ type: 'done', reason: 'all said' });
  });

  it('stops in the middle of a step', async () => {
    const controller = new AbortController();
    const runtime = new GroupOrchestrationRuntime(
      new GroupOrchestrationSupervisor({ supervisorAgentId: 's' }),
      {
        signal: controller.signal,
        executors: { call_supervisor: () => new Promise(() => undefined) },
      },
    );
    const run = runtime.run(state());
    setTimeout(() => controller.abort(), 5);
    expect((await run).status).toBe('done');
  });

  it('gives each member of a large broadcast its own time, and a task the time it asks for', async () => {
    const results: any[] = [];
    const decisions = [
      decided('broadcast', { agentIds: ['a', 'b', 'c', 'd'] }),
      decided('execute_task', { agentId: 'e', task: 't', timeout: 2000 }),
      decided('delegate', { agentId: 'f' }),
    ];
    const supervisor = new GroupOrchestrationSupervisor({ supervisorAgentId: 's' });
    const runtime = new GroupOrchestrationRuntime(
      {
        decide: (result) => {
          results.push(result);
          return supervisor.decide(result);
        },
      },
      {
        agentTimeoutMs: 200,
        concurrency: 1,
        executors: {
          call_supervisor: (_instruction, given) => ({
            events: [],
            newState: given,
            result: decisions.shift() as any,
          }),
        },
        callAgent: (agentId) =>
          new Promise((resolve) => setTimeout(resolve, agentId === 'e' ? 300 : 80, agentId)),
      },
    );
    expect((await runtime.run(state())).status).toBe('done');
    expect(results.filter(({ payload }) => payload.completed === false)).toEqual([]);
    expect(results.map(({ type }) => type)).toEqual([
      'init',
      'supervisor_decided',
      'agents_broadcasted',
      'supervisor_decided',
      'task_completed',
      'supervisor_decided',
      'delegated',
    ]);
    expect(results[4].payload).toEqual({ agentId: 'e', success: true, result: 'e' });
  });

  it('takes an executor that gives no state for one that failed', async () => {
    const supervisor = new GroupOrchestrationSupervisor({ supervisorAgentId: 's', maxRounds: 1 });
    const executors: any = { call_supervisor: () => undefined };
    const events: any[] = [];
    const onEvent = (event: object) => events.push(event);
    const runtime = new GroupOrchestrationRuntime(supervisor, { executors, onEvent });
    expect(await runtime.run(state())).toMatchObject({ status: 'error', operationId: 'g' });
    expect(events).toMatchObject([{ type: 'error', error: { type: 'invalid_state' } }]);
  });

  it.each<[string, any, string]>([
    ['answers with nothing', { decide: () => undefined }, 'invalid_instruction'],
    ['answers with null', { decide: () => null }, 'invalid_instruction'],
    ['answers with a text', { decide: () => 'finish' }, 'invalid_instruction'],
    ['throws', { decide: () => Promise.reject(new RangeError('lost')) }, 'RangeError'],
    ['names an unknown instruction', { decide: () => ({ type: 'odd' }) }, 'unknown_instruction'],
    ['cannot decide', {}, 'invalid_argument'],
  ])('ends with an error when its supervisor %s', async (_name, supervisor, type) => {
    const events: any[] = [];
    const runtime = new GroupOrchestrationRuntime(supervisor, {
      onEvent: (event) => events.push(event),
    });
    const ended = await runtime.run(state());
    expect(ended).toMatchObject({ status: 'error', operationId: 'g', error: { type } });
    expect(events).toMatchObject([{ type: 'error', error: { type } }]);
    await expect(runtime.step(state(), { type: 'init' })).rejects.toThrow();
  });

  it('needs no configuration', async () => {
    const runtime = new GroupOrchestrationRuntime({
      decide: () => ({ type: 'finish', reason: 'quiet' }),
    });
    expect((await runtime.run(state())).status).toBe('done');
  });

  it('serves supervisors with a runner', async () => {
    const runtime = new GroupOrchestrationRuntime(
      {
        runner: ({ phase }) => ({
          type: phase === 'call_supervisor' ? 'speak' : 'odd',
          payload: {},
        }),
      },
      {
        executors: {
          speak: (_instruction, given) => ({
            events: [{ type: 'agent_spoke' }],
            newState: { ...given, stepCount: 99 },
            nextContext: { phase: 'agent_spoke' },
          }),
        },
      },
    );
    const first = await runtime.step(state(), { phase: 'call_supervisor' });
    expect(first).toMatchObject({
      newState: { stepCount: 1 },
      nextContext: { phase: 'agent_spoke' },
    });
    await expect(runtime.step(state(), { phase: 'x' })).rejects.toThrow(
      'No executor found for instruction type: odd',
    );
    const limited = { ...state(), maxSteps: 2, stepCount: 2 };
    expect(await runtime.step(limited, { phase: 'call_supervisor' })).toMatchObject({
      events: [{ type: 'done', reason: 'Maximum steps exceeded: 2' }],
    });
  });
});

describe('compression', () => {
  const answered = (totalOutputTokens: number) => [
    { role: 'assistant', content: '', metadata: { usage: { totalOutputTokens } } },
  ];

  it('is due at half of the window, with room for error', () => {
    expect(getCompressionThreshold()).toBe(64_000);
    expect(getCompressionThreshold({ maxWindowToken: 100, thresholdRatio: 0.33 })).toBe(33);
    expect(shouldCompress([])).toEqual({
      currentTokenCount: 0,
      needsCompression: false,
      threshold: 64_000,
    });
    expect(shouldCompress(answered(64_000)).needsCompression).toBe(true);
    expect(shouldCompress(answered(64_000), { driftMultiplier: 1 }).needsCompression).toBe(false);
  });

  // A summary is not far below the share at which it was made.
  it('is due later once there is a summary', () => {
    const options = { maxWindowToken: 64_000, driftMultiplier: 1 };
    const summed = { ...options, hasExistingSummary: true };
    expect(getCompressionThreshold(options)).toBe(32_000);
    expect(getCompressionThreshold(summed)).toBe(41_600);
    expect(getCompressionThreshold({ ...summed, thresholdRatio: 0.8 })).toBe(51_200);
    const own = { ...summed, thresholdRatio: 0.8, recompressionThresholdRatio: 0.6 };
    expect(getCompressionThreshold(own)).toBe(38_400);
    const rows = [{ role: 'compressedGroup', content: 'S' }, ...answered(34_000)];
    expect(shouldCompress(answered(34_000), options).needsCompression).toBe(true);
    expect(shouldCompress(rows, options).needsCompression).toBe(false);
  });

  it('counts the definitions of tools', () => {
    const options = { driftMultiplier: 1, maxWindowToken: 100_000, thresholdRatio: 0.6 };
    const tools = [
      { type: 'function', function: { name: 'big', description: 'word '.repeat(20_000) } },
    ];
    expect(shouldCompress(answered(50_000), options).needsCompression).toBe(false);
    expect(shouldCompress(answered(50_000), { ...options, tools }).needsCompression).toBe(true);
  });
});
