// What an answer says, gathered from its events; what a reset takes back is left out.
import type { MessageToolCall } from '../../types/chat-stream';
import type { AGUIEvent } from '../../types/events';

interface Piece {
  id: string;
  text: string;
}

export class AnswerText {
  #texts: Piece[] = [];
  #thoughts: Piece[] = [];
  #calls: MessageToolCall[] = [];
  #signatures = new Map<string, string>();
  #issuer = '';
  #citations: unknown[] = [];

  get text(): string {
    return this.#texts.map(({ text }) => text).join('');
  }

  get thinking(): string {
    return this.#thoughts.map(({ text }) => text).join('');
  }

  get signature(): string | undefined {
    const last = this.#thoughts.at(-1);
    return last && this.#signatures.get(last.id);
  }

  get toolCalls(): MessageToolCall[] {
    return this.#calls.map((call) => ({ ...call, function: { ...call.function } }));
  }

  get citations(): unknown[] {
    return this.#citations;
  }

  add(event: AGUIEvent): void {
    switch (event.type) {
      case 'TEXT_MESSAGE_START':
        this.#texts.push({ id: event.messageId, text: '' });
        break;
      case 'TEXT_MESSAGE_CONTENT':
        append(this.#texts, event.messageId, event.delta);
        break;
      case 'REASONING_MESSAGE_START':
        this.#thoughts.push({ id: event.messageId, text: '' });
        break;
      case 'REASONING_MESSAGE_CONTENT':
        append(this.#thoughts, event.messageId, event.delta);
        break;
      case 'REASONING_ENCRYPTED_VALUE':
        this.#signatures.set(event.entityId, scoped(this.#issuer, event.encryptedValue));
        break;
      case 'TOOL_CALL_START':
        this.#calls.push({
          id: event.toolCallId,
          type: 'function',
          function: { name: event.toolCallName, arguments: '' },
        });
        break;
      case 'TOOL_CALL_ARGS':
        this.#extend(event.toolCallId, event.delta);
        break;
      case 'CUSTOM':
        this.#onCustom(event.name, event.value);
        break;
      default:
        break;
    }
  }

  #extend(id: string, delta: string): void {
    const call = this.#calls.findLast((one) => one.id === id);
    if (call) call.function.arguments += delta;
  }

  #onCustom(name: string, value: unknown): void {
    if (name === 'millrace.citation')
      this.#citations.push((value as { citation: unknown }).citation);
    if (name === 'millrace.provider_state') {
      const { kind, provider, state } = value as Record<string, unknown>;
      if (provider === 'millrace' && kind === 'issuer') this.#issuer = String(state);
    }
    if (name !== 'millrace.reset') return;
    const ids = new Set((value as { messageIds?: string[] }).messageIds);
    this.#texts = this.#texts.filter(({ id }) => !ids.has(id));
    this.#thoughts = this.#thoughts.filter(({ id }) => !ids.has(id));
    this.#citations = [];
  }
}

// As lib/model/scope.hpp writes it: the value goes back to its issuer only.
function scoped(issuer: string, value: string): string {
  return issuer === '' ? value : `mr1.${Buffer.byteLength(issuer)}.${issuer}.${value}`;
}

function append(pieces: Piece[], id: string, delta: string): void {
  const piece = pieces.findLast((one) => one.id === id);
  if (piece) piece.text += delta;
}
