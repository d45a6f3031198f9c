// Reads the records of a LobeHub chat stream: chunks for a reader, and what the answer was.
import type {
  ChatFinishContext,
  ChatImageChunk,
  ChatMessageError,
  ChatPart,
  ChatReasoning,
  ChatStreamChunk,
  Grounding,
  ModelSpeed,
  ModelUsage,
} from '../../types/chat-stream';
import { randomId } from '../random-id';
import { memberOf, messageOf } from '../thrown';
import { textsOf, throwError } from '../transport/batches';
import type { TextAnimation, TextChannel } from './text-channel';
import { makeTextChannel } from './text-channel';
import type { ToolCallPiece } from './tool-calls';
import { ToolCallList } from './tool-calls';

/** Who is told; neither function throws. */
export interface ChatReaderTarget {
  chunk(chunk: ChatStreamChunk): void;
  error(error: ChatMessageError): void;
}

type Take = (data: never) => void;

/** Takes the outputs of a "records" pipe. */
export class ChatReader {
  /** The text so far. */
  output = '';
  #type: ChatFinishContext['type'] = 'done';
  #reasoning = '';
  #signature: string | undefined;
  readonly #responseItems: unknown[] = [];
  readonly #toolCalls = new ToolCallList();
  #grounding: Grounding | undefined;
  #images: ChatImageChunk[] = [];
  #usage: ModelUsage | undefined;
  #speed: ModelSpeed | undefined;

  readonly #target: ChatReaderTarget;
  readonly #animated: boolean;
  readonly #text: TextChannel;
  readonly #thoughts: TextChannel;
  readonly #takers: Partial<Record<string, Take>>;

  constructor(target: ChatReaderTarget, animation: TextAnimation, speed: number) {
    this.#target = target;
    this.#animated = animation !== 'none';
    this.#text = makeTextChannel(animation, speed, (text) => target.chunk({ type: 'text', text }));
    this.#thoughts = makeTextChannel(animation, speed, (text) =>
      target.chunk({ type: 'reasoning', text }),
    );
    this.#takers = this.#table();
  }

  /** Takes an output apart. Throws when the framing failed. */
  load(output: string): void {
    const records = textsOf(output);
    for (let at = 0; at < records.length; at += 1) {
      throwError(records, at);
      const record = records[at] as string;
      const nameEnd = record.indexOf('\n');
      const idEnd = record.indexOf('\n', nameEnd + 1);
      this.#take(record.slice(0, nameEnd), record.slice(idEnd + 1));
    }
  }

  /** Hands over all text that waits. */
  flush(): void {
    this.#thoughts.flush();
    this.#text.flush();
  }

  /** The answer ended with an error. */
  failed(): void {
    this.#type = 'error';
  }

  aborted(): void {
    this.#type = 'abort';
  }

  context(): ChatFinishContext {
    const context: ChatFinishContext = { type: this.#type };
    const reasoning: ChatReasoning = {};
    const thoughts =
      this.#reasoning || this.#responseItems.map(summaryOf).filter(Boolean).join('\n\n');
    if (thoughts !== '') reasoning.content = thoughts;
    if (this.#signature !== undefined) reasoning.signature = this.#signature;
    if (this.#responseItems.length > 0) reasoning.responseItems = this.#responseItems;
    if (Object.keys(reasoning).length > 0) context.reasoning = reasoning;
    if (this.#toolCalls.size > 0) context.toolCalls = this.#toolCalls.calls;
    if (this.#grounding) context.grounding = this.#grounding;
    if (this.#images.length > 0) context.images = this.#images;
    if (this.#usage) context.usage = this.#usage;
    if (this.#speed) context.speed = this.#speed;
    return context;
  }

  #take(name: string, payload: string): void {
    try {
      this.#takers[name]?.(JSON.parse(payload) as never);
    } catch (error) {
      this.#target.error(chunkError(payload, error));
    }
  }

  // What each record does; a record that has no row is a later addition to the protocol.
  #table(): Partial<Record<string, Take>> {
    return {
      text: (data: unknown) => this.#onText(data),
      reasoning: (data: unknown) => this.#onThought(data),
      reasoning_signature: (signature: unknown) => this.#onSignature(signature),
      flagged_reasoning_signature: (signature: unknown) => this.#onSignature(signature),
      reasoning_response_item: (item: unknown) => void this.#responseItems.push(item),
      reasoning_part: (part: ChatPart) => this.#onPart('reasoning_part', part),
      content_part: (part: ChatPart) => this.#onPart('content_part', part),
      tool_calls: (pieces: ToolCallPiece[]) => this.#onToolCalls(pieces),
      base64_image: (data: string) => this.#onImage(data),
      grounding: (grounding: Grounding) => {
        this.#grounding = grounding;
        this.#give({ type: 'grounding', grounding });
      },
      usage: (usage: ModelUsage) => {
        this.#usage = usage;
        this.#give({ type: 'usage', usage });
      },
      speed: (speed: ModelSpeed) => {
        this.#speed = speed;
        this.#give({ type: 'speed', speed });
      },
      stop: (reason: string) => {
        if (reason === 'abort' && this.#type === 'done') this.#type = 'abort';
        this.#give({ type: 'stop', reason });
      },
      error: (error: ChatMessageError) => {
        this.failed();
        this.flush();
        this.#target.error(error);
      },
      data: (data: unknown) => this.#onData(data),
    };
  }

  // Chunks come in the order of the stream: text that waits goes first.
  #give(chunk: ChatStreamChunk): void {
    this.flush();
    this.#target.chunk(chunk);
  }

  #onText(data: unknown): void {
    if (typeof data !== 'string' || data === '') return;
    this.#thoughts.flush();
    this.output += data;
    this.#text.push(data);
  }

  #onThought(data: unknown): void {
    if (typeof data !== 'string' || data === '') return;
    this.#text.flush();
    this.#reasoning += data;
    this.#thoughts.push(data);
  }

  #onSignature(signature: unknown): void {
    if (typeof signature !== 'string') return;
    this.#signature = signature;
    this.#give({ type: 'reasoning', signature });
  }

  #onPart(type: 'reasoning_part' | 'content_part', part: ChatPart): void {
    const { partType, content, mimeType, thoughtSignature } = part;
    if (partType === 'text' && type === 'content_part') this.output += content;
    if (partType === 'text' && type === 'reasoning_part') this.#reasoning += content;
    const chunk: ChatStreamChunk = { type, partType, content };
    if (mimeType !== undefined) chunk.mimeType = mimeType;
    if (thoughtSignature !== undefined) chunk.thoughtSignature = thoughtSignature;
    this.#give(chunk);
  }

  #onToolCalls(pieces: ToolCallPiece[]): void {
    if (!Array.isArray(pieces) || pieces.length === 0) return;
    const isAnimationActives = this.#toolCalls.add(pieces);
    const tool_calls = this.#toolCalls.calls;
    this.#give(
      this.#animated
        ? { type: 'tool_calls', tool_calls, isAnimationActives }
        : { type: 'tool_calls', tool_calls },
    );
  }

  #onImage(data: string): void {
    const image: ChatImageChunk = { id: `tmp_img_${randomId()}`, data, isBase64: true };
    this.#images = [...this.#images, image];
    this.#give({ type: 'base64_image', id: image.id, image, images: this.#images });
  }

  // The one diagnostic that changes the answer: another attempt begins it anew.
  #onData(data: unknown): void {
    const { name, value } = (data ?? {}) as { name?: unknown; value?: { reason?: unknown } };
    if (name !== 'millrace.reset') return;
    const reason = value?.reason;
    this.#give(typeof reason === 'string' ? { type: 'reset', reason } : { type: 'reset' });
    this.output = '';
    this.#reasoning = '';
    this.#signature = undefined;
    this.#responseItems.length = 0;
    this.#toolCalls.clear();
    this.#grounding = undefined;
    this.#images = [];
  }
}

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

// What a reasoning item of the Responses API tells of its thoughts.
function summaryOf(item: unknown): string {
  const { summary } = (item ?? {}) as { summary?: unknown };
  if (!Array.isArray(summary)) return '';
  const texts = (summary as { text?: unknown }[]).map((part) => part?.text);
  return texts.filter((text) => typeof text === 'string').join('\n\n');
}
