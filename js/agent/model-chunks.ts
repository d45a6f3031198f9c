// A ModelRuntime as the model of an AgentRuntime: its runs as the chunks that a step reads.
import type {
  AgentMessage,
  AgentStreamingRuntime,
  ModelChunk,
  OpenAIToolCall,
} from '../../types/agent';
import type { AGUIEvent } from '../../types/events';
import { providerCallOf } from '../model/provider-calls';

// Members of a row that a provider reads; the others are the host's.
const sent = ['role', 'content', 'name', 'tool_calls', 'tool_call_id', 'reasoning'] as const;
// Members of an instruction's payload that are the loop's.
const own = new Set([
  'provider',
  'parentMessageId',
  'assistantMessageId',
  'createAssistantMessage',
  'isFirstMessage',
  'message',
  'allowedToolNames',
  'additionalContexts',
  'purpose',
]);

function rowOf(message: AgentMessage): object {
  return Object.fromEntries(
    sent.flatMap((member) => (message[member] === undefined ? [] : [[member, message[member]]])),
  );
}

function requestOf(payload: Record<string, unknown>): never {
  const kept = Object.entries(payload).filter(([name]) => !own.has(name));
  const messages = (payload['messages'] as AgentMessage[]).map(rowOf);
  return { ...Object.fromEntries(kept), messages } as never;
}

// The calls that the agent has work with: not those that the provider ran itself.
class Calls {
  readonly #calls = new Map<string, OpenAIToolCall>();

  take(event: AGUIEvent): void {
    if (event.type === 'TOOL_CALL_START') {
      const { toolCallId: id, toolCallName: name } = event;
      this.#calls.set(id, { id, type: 'function', function: { name, arguments: '' } });
    } else if (event.type === 'TOOL_CALL_ARGS') {
      const call = this.#calls.get(event.toolCallId);
      if (call) call.function.arguments += event.delta;
    } else {
      const id = providerCallOf(event);
      if (id !== undefined) this.#calls.delete(id);
    }
  }

  get all(): OpenAIToolCall[] {
    return [...this.#calls.values()];
  }
}

/** Asks the runtime; an answer that fails throws its error. */
export async function* chunksOf(
  runtime: AgentStreamingRuntime,
  payload: Record<string, unknown>,
  signal: AbortSignal,
): AsyncGenerator<ModelChunk> {
  const run = runtime.stream(requestOf(payload), { signal });
  const calls = new Calls();
  for await (const event of run) {
    if (event.type === 'TEXT_MESSAGE_CONTENT') yield { content: event.delta };
    else if (event.type === 'REASONING_MESSAGE_CONTENT') yield { reasoning: event.delta };
    else calls.take(event);
  }
  await run.text();
  const { usage, finishReason } = await run.report;
  yield { tool_calls: calls.all, usage, ...(finishReason && { finishReason }) };
}
