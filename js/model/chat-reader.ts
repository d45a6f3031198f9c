// Reads the records of a LobeHub chat stream: chunks for a reader, and what the answer was.
import type {
  ChatFinishContext,
  ChatImageChunk,
  ChatMessageError,
  ChatPart,
  ChatStreamChunk,
  Grounding,
  ModelSpeed,
  ModelUsage,
} from '../../types/chat-stream';
import { randomId } from '../random-id';
import { defined, filled } from '../plain-values';
import { memberOf, messageOf } from '../thrown';
import type { TextAnimation, TextChannel } from './text-channel';
import { makeTextChannel } from './text-channel';
import type { ToolCallList, ToolCallPiece } from './tool-calls';
import { toolCallList } from './tool-calls';

/** Who is told; neither function throws. */
export interface ChatReaderTarget {
  chunk(chunk: ChatStreamChunk): void;
  error(error: ChatMessageError): void;
}

/** What another attempt begins anew. */
interface Answer {
  reasoning: string;
  signature?: string | undefined;
  responseItems: unknown[];
  calls: ToolCallList;
  images: ChatImageChunk[];
}

const begun = (): Answer => ({
  reasoning: '',
  responseItems: [],
  calls: toolCallList(),
  images: [],
});

type Take = (data: never) => void;

/** Takes the records of an answer. */
export class ChatReader {
  /** The text so far. */
  output = '';
  #type: ChatFinishContext['type'] = 'done';
  #answer = begun();
  readonly #last: { grounding?: Grounding; usage?: ModelUsage; speed?: ModelSpeed } = {};

  readonly #target: ChatReaderTarget;
  readonly #showsGrowth: boolean;
  readonly #text: TextChannel;
  readonly #reasoningText: TextChannel;

  constructor(
    target: ChatReaderTarget,
    animation: TextAnimation,
    speed: number,
    showsGrowth: boolean,
  ) {
    this.#target = target;
    this.#showsGrowth = showsGrowth;
    const channel = (type: 'text' | 'reasoning'): TextChannel =>
      makeTextChannel(animation, speed, (text) => target.chunk({ type, text }));
    this.#text = channel('text');
    this.#reasoningText = channel('reasoning');
  }

  /** Hands over all text that waits. */
  flush(): void {
    this.#reasoningText.flush();
    this.#text.flush();
  }

  /** The answer ended with an error, or before its end. */
  ended(type: 'error' | 'abort'): void {
    this.#type = type;
  }

  context(): ChatFinishContext {
    const { reasoning, signature, responseItems: items, calls, images } = this.#answer;
    const { grounding, usage, speed } = this.#last;
    const content = reasoning || items.map(summaryOf).filter(Boolean).join('\n\n') || undefined;
    return defined({
      type: this.#type,
      reasoning: filled(defined({ content, signature, responseItems: filled(items) })),
      toolCalls: filled(calls.calls()),
      grounding: grounding || undefined,
      images: filled(images),
      usage: usage || undefined,
      speed: speed || undefined,
    }) as ChatFinishContext;
  }

  /** Takes a record: its name and its JSON text. */
  take(name: string, payload: string): void {
    try {
      this.#takers[name]?.(JSON.parse(payload) as never);
    } catch (error) {
      this.#target.error(chunkError(payload, error));
    }
  }

  // What each record does; a record that has no row is a later addition to the protocol.
  readonly #takers: Partial<Record<string, Take>> = {
    text: (data: unknown) => {
      if (!isText(data)) return;
      this.#reasoningText.flush();
      this.output += data;
      this.#text.push(data);
    },
    reasoning: (data: unknown) => {
      if (!isText(data)) return;
      this.#text.flush();
      this.#answer.reasoning += data;
      this.#reasoningText.push(data);
    },
    reasoning_signature: (signature: unknown) => this.#onSignature(signature),
    flagged_reasoning_signature: (signature: unknown) => this.#onSignature(signature),
    reasoning_response_item: (item: unknown) => void this.#answer.responseItems.push(item),
    reasoning_part: (part: ChatPart) => {
      if (part.partType === 'text') this.#answer.reasoning += part.content;
      this.#onPart('reasoning_part', part);
    },
    content_part: (part: ChatPart) => {
      if (part.partType === 'text') this.output += part.content;
      this.#onPart('content_part', part);
    },
    tool_calls: (pieces: ToolCallPiece[]) => {
      if (!Array.isArray(pieces) || pieces.length === 0) return;
      const { calls } = this.#answer;
      const changed = calls.add(pieces);
      if (!changed.includes(true)) return;
      const animation = this.#showsGrowth && { isAnimationActives: changed };
      this.#give({ type: 'tool_calls', tool_calls: calls.calls(), ...animation });
    },
    base64_image: (data: string) => {
      const image: ChatImageChunk = { id: `tmp_img_${randomId()}`, data, isBase64: true };
      const images = [...this.#answer.images, image];
      this.#answer.images = images;
      this.#give({ type: 'base64_image', id: image.id, image, images });
    },
    grounding: (grounding: Grounding) => this.#keep({ grounding }),
    usage: (usage: ModelUsage) => this.#keep({ usage }),
    speed: (speed: ModelSpeed) => this.#keep({ speed }),
    stop: (reason: string) => {
      if (reason === 'abort' && this.#type === 'done') this.#type = 'abort';
      this.#give({ type: 'stop', reason });
    },
    error: (error: ChatMessageError) => {
      this.ended('error');
      this.flush();
      this.#target.error(error);
    },
    data: (data: unknown) => this.#onData(data),
  };

  // Chunks come in the order of the stream: text that waits goes first.
  #give(chunk: ChatStreamChunk): void {
    this.flush();
    this.#target.chunk(chunk);
  }

  #keep(one: { grounding: Grounding } | { usage: ModelUsage } | { speed: ModelSpeed }): void {
    Object.assign(this.#last, one);
    this.#give({ type: Object.keys(one)[0], ...one } as ChatStreamChunk);
  }

  #onSignature(signature: unknown): void {
    if (typeof signature !== 'string') return;
    this.#answer.signature = signature;
    this.#give({ type: 'reasoning', signature });
  }

  #onPart(
    type: 'reasoning_part' | 'content_part',
    { partType, content, mimeType, thoughtSignature }: ChatPart,
  ): void {
    this.#give(defined({ type, partType, content, mimeType, thoughtSignature }) as ChatStreamChunk);
  }

  // The one diagnostic that changes the answer: another attempt begins it anew.
  #onData(data: unknown): void {
    const { name, value } = (data ?? {}) as { name?: unknown; value?: { reason?: unknown } };
    if (name !== 'millrace.reset') return;
    const reason = value?.reason;
    this.#give({ type: 'reset', ...(typeof reason === 'string' && { reason }) });
    this.output = '';
    this.#answer = begun();
    delete this.#last.grounding;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

function chunkError(chunk: string, error: unknown): ChatMessageError {
  return {
    type: 'StreamChunkError',
    message: 'parse error',
    body: {
      message: 'A record of the stream cannot be read; it was skipped.',
      context: { chunk, error: { name: memberOf(error, 'name'), message: messageOf(error) } },
    },
  };
}

// The text of a reasoning item of the Responses API.
function summaryOf(item: unknown): string {
  const { summary } = (item ?? {}) as { summary?: unknown };
  if (!Array.isArray(summary)) return '';
  const texts = (summary as { text?: unknown }[]).map((part) => part?.text);
  return texts.filter((text) => typeof text === 'string').join('\n\n');
}
