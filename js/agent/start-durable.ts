// Begins the runs of an agent with a runtime.
import type { ResumeEntry } from '../../types/events';
import { checkSignal } from '../abort';
import { checkNames } from '../known-names';
import { createHash, randomUUID } from '../node-crypto';
import { toJson } from '../serialize';
import { checkChoice, checkValues, milliseconds, text } from '../value-checks';
import type { AgentRun } from './agent-run';
import { DurableRun } from './durable-run';
import type { DurablePart, DurableTarget, InnerRun } from './durable-types';
import type { ResumeOptions, RunHost } from './run-host';
import { inputOf, isFromClient } from './run-input';
import type { AgentInput, DurableRunOptions } from './types';

/** Characters of events that a durable run keeps for a second reading. */
export const defaultReplaySize: number = 1 << 24;

/** What a run has that is read without the options of an agent. */
export const plainReader: Omit<RunHost<AgentRun>, 'threadId' | 'runId' | 'durable' | 'goOn'> = {
  protocolVersion: undefined,
  tools: new Map(),
  send: undefined,
  suspended: undefined,
  signal: undefined,
  onCheckpoint: undefined,
  replayBufferSize: defaultReplaySize,
};

const names: readonly (keyof DurableRunOptions)[] = [
  'signal',
  'threadId',
  'runId',
  'clientTools',
  'resume',
  'format',
  'checkpoint',
  'replayBufferSize',
  'throttleMs',
  'idempotencyKey',
  'principal',
  'context',
  'onDisconnect',
  'busy',
  'priority',
];

function check(options: DurableRunOptions): void {
  checkNames('A durable run', options, names, { abortSignal: 'signal' });
  const { signal, throttleMs, principal, idempotencyKey, onDisconnect } = options;
  checkSignal('A run', signal);
  checkValues(
    'A run',
    { throttleMs, principal, idempotencyKey },
    { throttleMs: milliseconds, principal: text, idempotencyKey: text },
  );
  checkChoice('A run', 'onDisconnect', onDisconnect, ['continue', 'stop']);
  checkTurn(options);
}

const last = { ms: 0, count: 0 };
const mostCount = 0xfff;

/**
 * The id of a run that is about to begin, as the store gives them: milliseconds and a counter before random digits, so that runs
 * of the same millisecond keep their order.
 * Source: RFC 9562, UUID version 7.
 */
export function newRunId(): string {
  const now = Date.now();
  if (now > last.ms) Object.assign(last, { ms: now, count: 0 });
  else if (last.count < mostCount) last.count += 1;
  else Object.assign(last, { ms: last.ms + 1, count: 0 });
  const ms = last.ms.toString(16).padStart(12, '0');
  const count = last.count.toString(16).padStart(3, '0');
  return `run_${ms}7${count}${randomUUID().replaceAll('-', '').slice(16)}`;
}

/** When a run begins, and what it works for. */
export function innerOptions(
  inner: InnerRun | undefined,
  priority: string | undefined,
): Record<string, unknown> {
  if (!inner) return { priority };
  return { priority: 'inner', parent: inner.parent, parentCall: inner.call };
}

/** Checks the options for when a run begins. */
export function checkTurn({ busy, priority }: Pick<DurableRunOptions, 'busy' | 'priority'>): void {
  checkChoice('A run', 'busy', busy, ['reject', 'queue']);
  checkChoice('A run', 'priority', priority, ['high', 'normal', 'low']);
}

/** Begins a run, or goes on with the one that waits: `answered`, or that of the thread. */
export function durableRun(
  target: DurableTarget,
  input: AgentInput,
  options: DurableRunOptions,
  answered?: string,
): DurableRun {
  check(options);
  const { runtime, name, agent, isUnread } = target;
  const body = inputOf(input, options);
  const isAnswer = (body.resume ?? []).length > 0;
  const id = answered ?? target.inner?.id ?? newRunId();
  const { format, checkpoint, throttleMs, principal, idempotencyKey, context } = options;
  const { busy, priority, onDisconnect } = options;
  const texts = {
    plan: agent.planJson,
    input: toJson(body, 'input'),
    options: {
      ...{ name, format, checkpoint, throttleMs, principal, idempotencyKey, busy },
      onDisconnect,
      ...innerOptions(target.inner, priority),
      fromClient: isFromClient(input),
      context:
        context === undefined ? undefined : (JSON.parse(toJson(context, 'context')) as unknown),
      run: isAnswer ? answered : id,
      unread: isUnread,
      stopped: options.signal?.aborted,
      inputHash: hashOf(name, input, options),
    },
  };
  const { threadId, runId, protocolVersion } = body;
  const durable: DurablePart = { id, name, runtime, principal };
  return new DurableRun(runtime.openRun(texts), {
    ...{ threadId, runId, durable },
    protocolVersion: typeof protocolVersion === 'string' ? protocolVersion : undefined,
    tools: agent.tools,
    send: undefined,
    suspended: undefined,
    signal: options.signal,
    onCheckpoint: undefined,
    replayBufferSize: options.replayBufferSize ?? defaultReplaySize,
    goOn: goingOn({ runtime, name, agent }, options, threadId, durable),
  });
}

// What a request is known by that comes again: all but the ids that were made for it.
function hashOf(name: string, input: AgentInput, options: DurableRunOptions): string | undefined {
  const { idempotencyKey, runId, threadId, clientTools, resume } = options;
  const isKnown = [idempotencyKey, runId, (input as { runId?: unknown }).runId];
  if (isKnown.every((one) => one === undefined)) return undefined;
  const text = toJson([name, input, threadId ?? null, clientTools ?? [], resume ?? []], 'input');
  return createHash('sha256').update(text).digest('hex');
}

// Made where the input is out of reach: the run holds it for as long as it lives.
function goingOn(
  target: DurableTarget,
  options: DurableRunOptions,
  threadId: string,
  durable: DurablePart,
): (resume: ResumeEntry[], more: ResumeOptions) => AgentRun {
  const { runId: _runId, format: _format, idempotencyKey: _key, signal: first, ...rest } = options;
  return (resume, { signal = first }) =>
    durableRun(target, [], { ...rest, threadId, resume, signal: signal ?? undefined }, durable.id);
}
