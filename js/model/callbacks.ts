// Tells the callbacks of a chat what its events say.
import type { ChatImageChunk, ChatPart, Grounding, ModelSpeed } from '../../types/chat-stream';
import type { AGUIEvent } from '../../types/events';
import type {
  CallReport,
  ChatCallbacks,
  ChatFinish,
  UsageMissingDiagnostics,
} from '../../types/model';
import { MillraceError } from '../errors';
import { isPart } from './answer-parts';
import { AnswerText, imageOf } from './answer-text';

export class CallbackDriver {
  readonly #callbacks: ChatCallbacks;
  readonly #answer = new AnswerText();
  readonly #startedAt = performance.now();
  readonly #indexes = new Map<string, number>();
  #firstAt: number | undefined;
  #lastAt = 0;
  #started = false;
  #grounding: Grounding | undefined;

  constructor(callbacks: ChatCallbacks) {
    this.#callbacks = callbacks;
  }

  async take(events: readonly AGUIEvent[]): Promise<void> {
    for (const event of events) {
      this.#answer.add(event);
      if (this.#answer.tooLarge) throw this.#answer.tooLarge;
      await this.#report(event);
    }
  }

  /** The call is over. One that was stopped came to an end, and did not fail. */
  async end(
    report: CallReport | undefined,
    failure: unknown,
    stopped: boolean = isStop(failure),
  ): Promise<void> {
    const error = stopped ? undefined : failure;
    const data = this.#finish(report, error);
    if (stopped) data.finishReason ??= 'abort';
    if (data.usage) await this.#callbacks.onUsage?.(data.usage);
    if (error === undefined) await this.#callbacks.onCompletion?.(data);
    else await this.#callbacks.onError?.(error);
    await this.#callbacks.onFinal?.(data);
  }

  async #report(event: AGUIEvent): Promise<void> {
    switch (event.type) {
      case 'RUN_STARTED':
        if (!this.#started) await this.#callbacks.onStart?.();
        this.#started = true;
        break;
      case 'TEXT_MESSAGE_CONTENT':
        this.#effective();
        await this.#reportText(event.delta, isPart(event));
        break;
      case 'REASONING_MESSAGE_CONTENT':
        this.#effective();
        await this.#reportReasoning(event.delta, isPart(event));
        break;
      case 'TOOL_CALL_START':
        if (this.#answer.isProviders(event.toolCallId)) break;
        this.#indexes.set(event.toolCallId, this.#indexes.size);
        await this.#reportCall(event.toolCallId, event.toolCallName, '');
        break;
      case 'TOOL_CALL_ARGS':
        await this.#reportCall(event.toolCallId, null, event.delta);
        break;
      case 'CUSTOM':
        await this.#reportCustom(event.name, event.value, isPart(event));
        break;
      default:
        break;
    }
  }

  // A part is one piece of the answer, not a second copy. Without a callback for parts, onText gets the piece.
  async #reportText(content: string, asPart: boolean): Promise<void> {
    const callbacks = this.#callbacks;
    const part: ChatPart = { partType: 'text', content };
    if (asPart && callbacks.onContentPart) await callbacks.onContentPart(part);
    else await callbacks.onText?.(content);
  }

  async #reportReasoning(content: string, asPart: boolean): Promise<void> {
    const callbacks = this.#callbacks;
    const part: ChatPart = { partType: 'text', content };
    if (asPart && callbacks.onReasoningPart) await callbacks.onReasoningPart(part);
    else await callbacks.onThinking?.(content);
  }

  async #reportCustom(name: string, value: unknown, asPart: boolean): Promise<void> {
    if (name === 'millrace.citation') {
      const { grounding } = this.#answer;
      if (grounding === this.#grounding) return;
      this.#grounding = grounding;
      if (grounding) await this.#callbacks.onGrounding?.(grounding);
    } else if (name === 'millrace.reset') {
      this.#indexes.clear();
      await this.#callbacks.onReset?.(value as Parameters<Required<ChatCallbacks>['onReset']>[0]);
    } else {
      await this.#reportImage(name, value, asPart);
    }
  }

  async #reportImage(name: string, value: unknown, asPart: boolean): Promise<void> {
    const imageData = imageOf(name, value);
    if (!imageData) return;
    this.#effective();
    const part: ChatPart = {
      partType: 'image',
      content: imageData.base64,
      ...(imageData.mimeType === '' ? {} : { mimeType: imageData.mimeType }),
      ...(imageData.signature === undefined ? {} : { thoughtSignature: imageData.signature }),
    };
    const callbacks = this.#callbacks;
    if (imageData.thought) {
      await callbacks.onReasoningPart?.(part);
    } else if (asPart && callbacks.onContentPart) {
      await callbacks.onContentPart(part);
    } else {
      const images = this.#answer.images;
      await callbacks.onBase64Image?.({ image: images.at(-1) as ChatImageChunk, images });
    }
  }

  async #reportCall(id: string, name: string | null, text: string): Promise<void> {
    this.#effective();
    const index = this.#indexes.get(id);
    if (index === undefined) return;
    const first = name !== null;
    await this.#callbacks.onToolsCalling?.({
      chunk: [
        {
          index,
          type: 'function',
          ...(first ? { id } : {}),
          function: { name, arguments: text },
        },
      ],
      toolsCalling: this.#answer.openCalls,
    });
  }

  #effective(): void {
    this.#lastAt = performance.now();
    this.#firstAt ??= this.#lastAt;
  }

  #finish(report: CallReport | undefined, error: unknown): ChatFinish {
    const { text, thinking, reasoning, toolCalls, grounding, images } = this.#answer;
    const speed = this.#speed(report?.usage.totalOutputTokens);
    return {
      text,
      ...(thinking === '' ? {} : { thinking }),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(images.length === 0 ? {} : { images }),
      ...(toolCalls.length === 0 ? {} : { toolsCalling: toolCalls }),
      ...(grounding ? { grounding } : {}),
      ...(report ? { usage: report.usage } : {}),
      ...(report?.finishReason === undefined ? {} : { finishReason: report.finishReason }),
      ...(speed ? { speed } : {}),
      ...(error === undefined ? {} : { error }),
      ...(report && !isReported(report) ? { usageMissingDiagnostics: missing(report, error) } : {}),
    };
  }

  #speed(tokens: number | undefined): ModelSpeed | undefined {
    if (this.#firstAt === undefined) return undefined;
    const duration = this.#lastAt - this.#firstAt;
    const speed: ModelSpeed = {
      ttft: this.#firstAt - this.#startedAt,
      duration,
      latency: performance.now() - this.#startedAt,
    };
    if (tokens !== undefined && tokens > 1 && duration > 0) speed.tps = (tokens / duration) * 1000;
    return speed;
  }
}

function isStop(failure: unknown): boolean {
  if (MillraceError.is(failure)) return failure.code === 'cancelled';
  return (Object(failure) as { name?: unknown }).name === 'AbortError';
}

// Whether who answered last counted; an attempt before it may be an estimate.
function isReported({ usage, attempts }: CallReport): boolean {
  return (attempts.at(-1)?.usage ?? usage).source === 'reported';
}

function missing(report: CallReport, error: unknown): UsageMissingDiagnostics {
  const { provider, model, finishReason } = report;
  return {
    hasUsageMetadata: false,
    provider,
    model,
    ...(finishReason === undefined ? {} : { finishReason }),
    terminalEventType: error === undefined ? 'stop' : 'error',
  };
}
