// Every instruction, status, phase, finish reason and event of the agent runtime is named by a test. The
// table says by which; the words themselves are those of the types. Words that no other file tests are
// tested here.
/* eslint-disable @typescript-eslint/no-explicit-any */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { AgentRuntime, GeneralChatAgent } from 'millrace';

const steps = 'runtime-steps.test.ts';
const toolCalls = 'runtime-tools.test.ts';
const runLimits = 'runtime-limits.test.ts';
const states = 'runtime-states.test.ts';
const decisions = 'decisions.test.ts';
const bounds = 'limits.test.ts';
const here = 'instruction-coverage.test.ts';

// The word, and the file and title of a test that names it.
const table: Record<string, Record<string, [file: string, title: string]>> = {
  AgentInstruction: {
    call_llm: [decisions, 'calls the model with the input'],
    call_tool: [decisions, 'splits calls by policy'],
    call_tools_batch: [decisions, 'splits calls by policy'],
    resolve_aborted_tools: [toolCalls, 'get a row that says so'],
    resolve_blocked_tools: [toolCalls, 'get a row that says so'],
    exec_sub_agent: [here, 'gives work to others: %s'],
    exec_sub_agents: [here, 'gives work to others: %s'],
    exec_client_sub_agent: [here, 'gives work to others: %s'],
    exec_client_sub_agents: [here, 'gives work to others: %s'],
    exec_task: [here, 'gives work to others: %s'],
    exec_tasks: [here, 'gives work to others: %s'],
    exec_client_task: [here, 'gives work to others: %s'],
    exec_client_tasks: [here, 'gives work to others: %s'],
    request_human_approve: [decisions, 'splits calls by policy'],
    request_human_prompt: [runLimits, 'answer questions'],
    request_human_select: [runLimits, 'answer questions'],
    compress_context: [states, 'nest four deep at most'],
    finish: [decisions, 'finishes without calls'],
  },
  AgentStatus: {
    idle: [here, 'leads from status to status'],
    running: [here, 'leads from status to status'],
    waiting_for_human: [here, 'leads from status to status'],
    waiting_for_async_tool: [toolCalls, 'of the client park the run until the result is there'],
    done: [here, 'leads from status to status'],
    error: [here, 'leads from status to status'],
    interrupted: [here, 'leads from status to status'],
  },
  AgentPhase: {
    init: [decisions, 'calls the model with the input'],
    user_input: [decisions, 'fills the row that was made for the next answer'],
    llm_result: [decisions, 'finishes without calls'],
    tool_result: [decisions, 'calls the model again after %s'],
    tools_batch_result: [decisions, 'calls the model again after %s'],
    task_result: [here, 'gives work to others: %s'],
    tasks_batch_result: [here, 'gives work to others: %s'],
    sub_agent_result: [here, 'gives work to others: %s'],
    sub_agents_batch_result: [here, 'gives work to others: %s'],
    human_response: [runLimits, 'answer questions'],
    human_approved_tool: [here, 'leads from status to status'],
    human_abort: [decisions, 'gives way to queued messages, sub-tasks, compression and errors'],
    compression_result: [states, 'sums up what is old and keeps the newest question'],
    error: [decisions, 'gives way to queued messages, sub-tasks, compression and errors'],
  },
  FinishReason: {
    completed: [here, 'ends a run for the reason %s'],
    user_requested: [here, 'ends a run for the reason %s'],
    user_aborted: [runLimits, 'stop, twice if they like'],
    max_steps_exceeded: [here, 'ends an agent that goes on for ever'],
    max_steps_completed: [decisions, 'finishes without calls'],
    cost_limit_exceeded: [runLimits, 'of cost stop, interrupt or warn'],
    token_limit_exceeded: [runLimits, 'of tokens and time end the run with a reason'],
    tool_call_repeat_limit: [bounds, 'the general agent names the repetition as well'],
    timeout: [runLimits, 'of tokens and time end the run with a reason'],
    agent_decision: [here, 'ends a run for the reason %s'],
    error_recovery: [here, 'ends a run for the reason %s'],
    system_shutdown: [here, 'ends a run for the reason %s'],
    queued_message_interrupt: [here, 'ends a run for the reason %s'],
  },
  AgentEvent: {
    init: [here, 'passes on what a custom executor tells'],
    llm_start: [steps, 'streams a model’s answer, live and at the end'],
    llm_stream: [steps, 'streams a model’s answer, live and at the end'],
    llm_result: [steps, 'streams a model’s answer, live and at the end'],
    stream_retry: [here, 'passes on what a custom executor tells'],
    tool_pending: [here, 'tells of questions'],
    tool_result: [toolCalls, 'run with their arguments and give a row'],
    human_approve_required: [here, 'tells of questions'],
    human_prompt_required: [here, 'tells of questions'],
    human_select_required: [here, 'tells of questions'],
    done: [here, 'ends a run for the reason %s'],
    error: [toolCalls, 'that are unknown, fail or get no JSON tell the model, and the run goes on'],
    interrupted: [runLimits, 'is recorded and undone'],
    resumed: [runLimits, 'is recorded and undone'],
    compression_complete: [states, 'sums up what is old and keeps the newest question'],
    compression_error: [states, 'goes on without a summary when it fails or does not help'],
  },
};

const types = readFileSync(join(__dirname, '../../../types/agent.d.ts'), 'utf8');

// The words of a union: its members, or the `type`s of its objects.
function wordsOf(name: string): string[] {
  const start = types.indexOf(`export type ${name} =`);
  const end = types.indexOf('\nexport ', start + 1);
  const text = types.slice(start, end === -1 ? undefined : end);
  const members = text.includes('type:')
    ? [...text.matchAll(/\btype:\s*((?:'\w+'[\s|]*)+)/g)].map(([, found]) => found ?? '').join('|')
    : text;
  return [...new Set([...members.matchAll(/'(\w+)'/g)].map(([, word]) => word ?? ''))];
}

// From its title to the next test.
function testOf(file: string, title: string): string {
  const text = readFileSync(join(__dirname, file), 'utf8');
  const from = [`'${title}'`, `\`${title}\``]
    .map((quoted) => text.indexOf(quoted))
    .find((at) => at >= 0);
  if (from === undefined) return '';
  const rows = text.lastIndexOf('\n  it', from);
  const next = /\n {0,4}it[.(]/g;
  next.lastIndex = from;
  return text.slice(Math.max(rows, 0), next.exec(text)?.index);
}

describe.each(Object.keys(table))('%s', (name) => {
  it('has no word without a row', () => {
    expect(wordsOf(name).sort()).toEqual(Object.keys(table[name] ?? {}).sort());
  });

  it.each(Object.entries(table[name] ?? {}))('%s is named by its test', (word, [file, title]) => {
    expect(testOf(file, title)).toMatch(new RegExp(`\\b${word}\\b`));
  });
});

const call = { id: 'c1', identifier: 'f', apiName: 'f', arguments: '{}', type: 'default' };
const requested = (more = {}) =>
  AgentRuntime.createInitialState({ messages: [{ role: 'user', content: 'x' }], ...more });
const agentOf = (...instructions: object[]): any => {
  let at = 0;
  return {
    runner: () => instructions[Math.min(at++, instructions.length - 1)],
    tools: { f: () => 1 },
  };
};
const finish = { type: 'finish', reason: 'completed' };

describe('the runtime', () => {
  const task = { description: 'd', instruction: 'i' };

  it.each([
    ['exec_sub_agent', 'sub_agent_result'],
    ['exec_sub_agents', 'sub_agents_batch_result'],
    ['exec_client_sub_agent', 'sub_agent_result'],
    ['exec_client_sub_agents', 'sub_agents_batch_result'],
    ['exec_task', 'task_result'],
    ['exec_tasks', 'tasks_batch_result'],
    ['exec_client_task', 'task_result'],
    ['exec_client_tasks', 'tasks_batch_result'],
  ])('gives work to others: %s', async (type, phase) => {
    const several = type.endsWith('s');
    const payload = { parentMessageId: 'p', ...(several ? { tasks: [task, task] } : { task }) };
    const runSubAgent = jest.fn(() => Promise.resolve({ success: true, threadId: 't' }));
    const runtime = new AgentRuntime(agentOf({ type, payload }), { runSubAgent });
    const { nextContext, newState } = await runtime.step(requested());
    const result = { success: true, threadId: 't' };
    expect(runSubAgent).toHaveBeenCalledTimes(several ? 2 : 1);
    expect(newState.status).toBe('running');
    expect(nextContext).toMatchObject({
      phase,
      payload: several ? { results: [result, result] } : { result },
    });
  });

  it.each([
    ['execSubAgent', 'exec_sub_agent'],
    ['execSubAgents', 'exec_sub_agents'],
    ['execClientSubAgent', 'exec_client_sub_agent'],
    ['execClientSubAgents', 'exec_client_sub_agents'],
    ['execTask', 'exec_task'],
    ['execTasks', 'exec_tasks'],
    ['execClientTask', 'exec_client_task'],
    ['execClientTasks', 'exec_client_tasks'],
  ])('takes %s of a tool as %s', async (work, type) => {
    const given = { parentMessageId: 'p', ...(type.endsWith('s') ? { tasks: [task] } : { task }) };
    const payload = { parentMessageId: 't', stop: true, data: { state: { type: work, ...given } } };
    const context: any = { phase: 'tool_result', payload };
    expect(await new GeneralChatAgent().runner(context, requested())).toEqual({
      type,
      payload: given,
    });
  });

  it.each([
    'completed',
    'user_requested',
    'agent_decision',
    'error_recovery',
    'system_shutdown',
    'queued_message_interrupt',
  ])('ends a run for the reason %s', async (reason) => {
    const runtime = new AgentRuntime(agentOf({ type: 'finish', reason, reasonDetail: 'why' }));
    const { newState, events, nextContext } = await runtime.step(requested());
    expect(newState.status).toBe('done');
    expect(nextContext).toBeUndefined();
    expect(events).toMatchObject([{ type: 'done', reason, reasonDetail: 'why' }]);
  });

  it('ends an agent that goes on for ever', async () => {
    const { newState, events } = await new AgentRuntime(agentOf(finish)).step(
      requested({ maxSteps: 3, stepCount: 26, forceFinish: true }),
    );
    expect(newState.status).toBe('done');
    expect(events).toMatchObject([{ type: 'done', reason: 'max_steps_exceeded' }]);
  });

  it('leads from status to status', async () => {
    const batch = { type: 'call_tool', payload: { parentMessageId: 'p', toolCalling: call } };
    const request = { type: 'request_human_approve', pendingToolsCalling: [call] };
    const runtime = new AgentRuntime(agentOf(batch, request, finish));
    const idle = requested();
    expect(idle.status).toBe('idle');
    const first = await runtime.step(idle);
    expect(first.newState.status).toBe('running');
    const second = await runtime.step(first.newState, first.nextContext);
    expect(second.newState.status).toBe('waiting_for_human');
    expect(second.nextContext).toBeUndefined();
    const third = await runtime.step(second.newState, {
      phase: 'human_approved_tool',
      payload: { approvedToolCall: call },
    } as any);
    expect(third.newState.status).toBe('running');
    expect(third.nextContext?.phase).toBe('tool_result');
    const stopped = runtime.interrupt(third.newState, 'pause');
    expect(stopped.newState.status).toBe('interrupted');
    const resumed = await runtime.resume(stopped.newState);
    const last = await runtime.step(resumed.newState, third.nextContext);
    expect(last.newState.status).toBe('done');
    const failed = await new AgentRuntime(agentOf({ type: 'nonsense' })).step(idle);
    expect(failed.newState.status).toBe('error');
  });

  it('passes on what a custom executor tells', async () => {
    const retry = { attempt: 1, delayMs: 5, errorType: 'busy', kind: 'retry', maxAttempts: 6 };
    const reported = [{ type: 'init' }, { type: 'stream_retry', data: retry }];
    const executors = {
      call_llm: (_instruction: unknown, state: any) => ({ events: reported, newState: state }),
    };
    const seen: unknown[] = [];
    const runtime = new AgentRuntime(agentOf({ type: 'call_llm', payload: {} }), {
      executors: executors as any,
      onEvent: (event) => seen.push(event),
    });
    const { events } = await runtime.step(requested());
    expect(events).toEqual(reported);
    expect(seen).toEqual(reported);
  });

  it('tells of questions', async () => {
    const options = [{ label: 'A', value: 'a' }];
    const questions = [
      [{ type: 'request_human_prompt', prompt: '?' }, ['human_prompt_required']],
      [{ type: 'request_human_select', options, prompt: '?' }, ['human_select_required']],
      [
        { type: 'request_human_approve', pendingToolsCalling: [call] },
        ['human_approve_required', 'tool_pending'],
      ],
    ] as const;
    for (const [instruction, expected] of questions) {
      const runtime = new AgentRuntime(agentOf(instruction), { history: 'engine' });
      const { events, newState } = await runtime.step(requested({ operationId: 'op' }));
      expect(events.map(({ type }) => type)).toEqual(expected);
      expect(events[0]).toMatchObject({ operationId: 'op' });
      expect(newState.status).toBe('waiting_for_human');
    }
  });
});
