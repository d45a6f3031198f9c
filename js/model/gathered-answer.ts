// What a chat answers when an object is asked for: its text and calls, and the object as far as it has come.
import type { ModelUsage } from '../../types/chat-stream';
import type { AGUIEvent } from '../../types/events';
import { addon } from '../addon';
import { MillraceError } from '../errors';
import { isRefusal, mostAnswer } from './answer-text';
import { GrowingText } from '../growing-text';

/** A chat as an object needs it: events, a text, tokens. */
export interface ObjectRunSource extends AsyncIterable<AGUIEvent> {
  stop(): void;
  /** Rejects with what the call failed of. */
  text(): Promise<string>;
  readonly usage: Promise<ModelUsage>;
  readonly report?: Promise<{ readonly notes: readonly string[] }>;
}

/** Characters that an answer may have, by the options of its call. */
export function replayBufferSizeOf(options: object): number {
  const { replayBufferSize } = options as { replayBufferSize?: unknown };
  return typeof replayBufferSize === 'number' ? Math.max(replayBufferSize, mostAnswer) : mostAnswer;
}

/** Reads a chat to its end. Rejects with the error of the call, and with `response_too_large`. */
export async function gathered(
  run: ObjectRunSource,
  limit: number,
  onChange: (answer: GatheredAnswer) => void,
): Promise<GatheredAnswer> {
  const answer = new GatheredAnswer();
  for await (const event of run) {
    if (answer.add(event)) onChange(answer);
    if (answer.size > limit) {
      // Leaving the loop ends the call.
      throw new MillraceError(
        'response_too_large',
        `The answer has more than ${limit} characters, too many for an object. Raise \`replayBufferSize\`.`,
      );
    }
  }
  await run.text();
  return answer;
}

/** What an answer says; what a reset takes back is forgotten. */
export class GatheredAnswer {
  text: GrowingText = new GrowingText();
  calls: { id: string; name: string; arguments: GrowingText }[] = [];
  /** It reached the limit of its tokens. */
  isCut = false;
  /** The model said that it refuses. */
  isRefusal = false;
  /** Of its text and arguments, in characters. */
  size = 0;
  #partial = new (addon().PartialJson)();
  #read: GrowingText | undefined;
  #readLength = 0;

  /** Where the object is. */
  get object(): GrowingText {
    return this.calls[0]?.arguments ?? this.text;
  }

  /** True when the event belongs to the object. */
  add(event: AGUIEvent): boolean {
    if (event.type === 'TEXT_MESSAGE_CONTENT') {
      this.#grow(this.text, event.delta);
      return this.calls.length === 0;
    }
    if (event.type === 'TOOL_CALL_START') {
      const { toolCallId: id, toolCallName: name } = event;
      this.calls.push({ id, name, arguments: new GrowingText() });
    } else if (event.type === 'TOOL_CALL_ARGS') {
      const call = this.calls.findLast(({ id }) => id === event.toolCallId);
      if (call) this.#grow(call.arguments, event.delta);
      return call !== undefined && call === this.calls[0];
    } else if (event.type === 'CUSTOM' && event.name === 'millrace.reset') {
      this.text = new GrowingText();
      this.calls = [];
      this.size = 0;
      this.isRefusal = false;
    } else if (isRefusal(event)) {
      this.isRefusal = true;
    } else if (event.type === 'RUN_ERROR') {
      this.isCut = event.code === 'output_limit_reached';
    }
    return false;
  }

  /**
   * The JSON of the object so far, "" while there is none, or not much more than there was: each time
   * all of it is written, so that a long one is shown in fewer and larger steps.
   */
  partial(): string {
    const { object } = this;
    if (object !== this.#read) {
      this.#partial = new (addon().PartialJson)();
      this.#read = object;
      this.#readLength = 0;
    }
    const more = object.length - this.#readLength;
    if (more === 0 || more < (object.length - shortObject) / steps) return '';
    const rest = object.from(this.#readLength);
    this.#readLength += rest.length;
    return this.#partial.feed(rest);
  }

  #grow(text: GrowingText, delta: string): void {
    text.add(delta);
    this.size += delta.length;
  }
}

// Characters up to which each piece of an object is shown.
const shortObject = 4096;
// In how many steps a longer one doubles its length.
const steps = 64;
