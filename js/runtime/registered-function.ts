// Functions that a runtime has as agents.
import type { AgentFunction, FunctionOptions, RunInfo } from '../../types/runtime';
import type { DurableRun } from '../agent/durable-run';
import type { DurableTarget, RegisteredAgent } from '../agent/durable-types';
import { AgentRuntime } from '../agent/runtime';
import { policyChecks } from '../agent/run-policies';
import { durableRun } from '../agent/start-durable';
import type { AgentInput, DurableRunOptions } from '../agent/types';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { shown } from '../shown';
import { checkValues, text } from '../value-checks';

/** Throws for an AgentRuntime, which takes the runtime itself. */
export function rejectAgentRuntime(name: string, given: unknown): void {
  if (!(given instanceof AgentRuntime)) return;
  throw new MillraceError(
    'invalid_option',
    `An AgentRuntime takes the runtime itself: new AgentRuntime(agent, { runtime, name: ${shown(name)} }).`,
  );
}

export function registeredFunction(
  name: string,
  run: AgentFunction,
  options: FunctionOptions,
): RegisteredAgent {
  if (typeof name !== 'string' || name === '') {
    throw new MillraceError('invalid_option', `runtime.agent() needs a name, not ${shown(name)}.`);
  }
  checkNames('runtime.agent()', options, [
    ...['version', 'onRestart', 'description'],
    ...Object.keys(policyChecks),
  ]);
  const { version, onRestart, onDisconnect, approvalTimeoutMs } = options;
  checkValues('runtime.agent()', options, { version: text, description: text, ...policyChecks });
  if (onRestart !== undefined && onRestart !== 'rerun') {
    throw new MillraceError(
      'invalid_option',
      `runtime.agent(): onRestart must be 'rerun' or absent, not ${shown(onRestart)}.`,
    );
  }
  return {
    ...{ planJson: '', work: { run, onRestart }, tools: new Map(), version },
    ...{ onDisconnect, approvalTimeoutMs },
  };
}

/** A function as an agent. */
export class FunctionAgent {
  readonly name: string;
  readonly #target: DurableTarget;

  /** @internal */
  constructor(target: DurableTarget) {
    this.name = target.name;
    this.#target = target;
  }

  /** Begins a run and reads it. It goes on whether or not it is read. */
  run(input: AgentInput, options: DurableRunOptions = {}): DurableRun {
    return durableRun(this.#target, input, options);
  }

  /** Begins a run and resolves when it is stored. */
  async start(input: AgentInput, options: DurableRunOptions = {}): Promise<RunInfo> {
    const run = this.run(input, options);
    await run.started;
    run.leave();
    return this.#target.runtime.ask<RunInfo>('get', { run: run.id });
  }
}
