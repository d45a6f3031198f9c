// Hooks of an operation: its stream, as calls of functions.
import type {
  LobeCompletionReason,
  LobeEvent,
  LobeHook,
  LobeHookEvent,
  LobeState,
  LobeToolCall,
  LobeToolOutput,
} from '../../types/lobe-server';
import { messageOf } from '../thrown';

interface Usage {
  llm?: { apiCalls?: number; tokens?: { total?: number } };
  tools?: { totalCalls?: number };
}

type StepContent = Pick<LobeHookEvent, 'content' | 'reasoning' | 'toolsCalling' | 'toolsResult'>;

/** Calls the hooks of one operation, one after another and in the order of its events. */
export class HookCalls {
  readonly #hooks: readonly LobeHook[];
  #about: Pick<LobeHookEvent, 'operationId' | 'agentId' | 'userId'>;
  #began = 0;
  #lastAnswer = '';
  #step: StepContent = {};

  constructor(operationId: string, hooks: readonly LobeHook[]) {
    this.#hooks = hooks;
    this.#about = { operationId, agentId: '', userId: '' };
  }

  /** Resolves when each hook has seen it; a hook that fails is reported. */
  async take({ type, data, stepIndex, timestamp }: LobeEvent): Promise<void> {
    const event = { ...this.#about, stepIndex };
    if (type === 'agent_runtime_init') {
      const { agentId, userId } = data as { agentId: string; userId?: string };
      this.#about = { ...this.#about, agentId, userId: userId ?? '' };
      this.#began = timestamp;
    } else if (type === 'stream_end') {
      this.#lastAnswer = (data['finalContent'] as string) || this.#lastAnswer;
      this.#step = answerOf(data as unknown as StreamEnd);
    } else if (type === 'tool_end') {
      (this.#step.toolsResult ??= []).push(resultOf(data as unknown as ToolEnd));
    } else if (type === 'step_start') {
      this.#step = {};
      await this.#call('beforeStep', { ...event, stepType: data['stepType'] as string });
    } else if (type === 'step_complete') {
      await this.#call('afterStep', {
        ...event,
        ...totals(data['finalState'] as LobeState),
        ...this.#step,
        executionTimeMs: data['executionTime'] as number,
        stepType: data['stepType'] as string,
        shouldContinue: data['nextStepScheduled'] as boolean,
      });
    } else if (type === 'error') {
      await this.#call('onError', { ...event, errorMessage: data['error'] as string });
    } else if (type === 'agent_runtime_end') {
      await this.#call('onComplete', {
        ...event,
        ...totals(data['finalState'] as LobeState),
        reason: data['reason'] as LobeCompletionReason,
        duration: timestamp - this.#began,
        lastAssistantContent: this.#lastAnswer,
        finalState: data['finalState'] as LobeState,
      });
    }
  }

  async #call(type: LobeHook['type'], event: LobeHookEvent): Promise<void> {
    for (const hook of this.#hooks) {
      if (hook.type !== type) continue;
      try {
        await hook.handler(event);
      } catch (thrown) {
        process.emitWarning(`The hook '${hook.id}' of an operation failed: ${messageOf(thrown)}`, {
          code: 'MILLRACE_RUNTIME',
        });
      }
    }
  }
}

interface StreamEnd {
  finalContent: string;
  reasoning?: string;
  toolsCalling?: LobeToolCall[];
}

function answerOf({ finalContent, reasoning, toolsCalling }: StreamEnd): StepContent {
  return {
    content: finalContent,
    ...(reasoning && { reasoning }),
    ...(toolsCalling && { toolsCalling }),
  };
}

interface ToolEnd {
  isSuccess: boolean;
  payload: { toolCalling: LobeToolCall };
  result: { content?: string };
}

function resultOf({ isSuccess, payload, result }: ToolEnd): LobeToolOutput {
  const { id, identifier, apiName } = payload.toolCalling;
  return { id, identifier, apiName, isSuccess, output: result.content ?? '' };
}

function totals({ status, stepCount, usage, cost, error }: LobeState): Partial<LobeHookEvent> {
  const { llm, tools } = (usage ?? {}) as Usage;
  return {
    status,
    steps: stepCount,
    ...(cost?.total !== undefined && { cost: cost.total }),
    ...(llm?.apiCalls !== undefined && { llmCalls: llm.apiCalls }),
    ...(llm?.tokens?.total !== undefined && { totalTokens: llm.tokens.total }),
    ...(tools?.totalCalls !== undefined && { toolCalls: tools.totalCalls }),
    ...(error && { errorMessage: error.message }),
  };
}
