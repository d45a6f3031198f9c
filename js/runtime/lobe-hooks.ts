// Hooks of an operation: its stream, as calls of functions.
import type {
  LobeCompletionReason,
  LobeEvent,
  LobeHook,
  LobeHookEvent,
  LobeState,
} from '../../types/lobe-server';
import { messageOf } from '../thrown';
import { LobeSteps, totalsOf } from './lobe-steps';

type About = Pick<LobeHookEvent, 'operationId' | 'agentId' | 'userId' | 'threadId' | 'topicId'>;

/** What is known of an operation whose first events a watcher does not see. */
export interface KnownOperation {
  agentId: string;
  userId?: string;
  threadId?: string;
  /** Units: milliseconds since 1970. */
  createdAt: number;
}

/** Calls the hooks of one operation, one after another and in the order of its events. */
export class HookCalls {
  readonly #hooks: readonly LobeHook[];
  readonly #steps = new LobeSteps();
  #about: About;
  #began = 0;
  #lastAnswer = '';
  #errorType: string | undefined;

  constructor(operationId: string, hooks: readonly LobeHook[]) {
    this.#hooks = hooks;
    this.#about = { operationId, agentId: '', userId: '', threadId: '', topicId: '' };
  }

  /** What each event of a hook has. */
  know({ agentId, userId = '', threadId = '', createdAt }: KnownOperation): void {
    const { operationId } = this.#about;
    this.#about = { operationId, agentId, userId, threadId, topicId: threadId };
    this.#began = createdAt;
  }

  /** Resolves when each hook has seen it; a hook that fails is reported. */
  async take({ type, data, stepIndex, timestamp }: LobeEvent): Promise<void> {
    const { stepLabel } = data as { stepLabel?: string };
    const event = { ...this.#about, stepIndex, ...(stepLabel !== undefined && { stepLabel }) };
    if (type === 'agent_runtime_init') {
      this.know(data as unknown as KnownOperation);
    } else if (type === 'stream_end') {
      this.#lastAnswer = (data['finalContent'] as string) || this.#lastAnswer;
      this.#steps.takeAnswer(data as never);
    } else if (type === 'tool_end') {
      this.#steps.takeResult(data as never);
    } else if (type === 'step_start') {
      this.#steps.begin();
      await this.#call('beforeStep', { ...event, stepType: data['stepType'] as string });
    } else if (type === 'step_complete') {
      const elapsedMs = timestamp - this.#began;
      await this.#call('afterStep', { ...event, ...this.#steps.end(data as never), elapsedMs });
    } else if (type === 'error') {
      this.#errorType = data['errorType'] as string | undefined;
      const errorMessage = data['error'] as string;
      await this.#call('onError', { ...event, errorMessage, ...this.#errorMembers() });
    } else if (type === 'agent_runtime_end') {
      const reason = data['reason'] as LobeCompletionReason;
      await this.#call('onComplete', {
        ...event,
        ...totalsOf(data['finalState'] as LobeState),
        ...(reason === 'error' && this.#errorMembers()),
        reason,
        duration: timestamp - this.#began,
        lastAssistantContent: this.#lastAnswer,
        finalState: data['finalState'] as LobeState,
      });
    }
  }

  #errorMembers(): Pick<LobeHookEvent, 'errorType'> {
    return this.#errorType === undefined ? {} : { errorType: this.#errorType };
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
