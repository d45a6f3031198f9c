// What an answer says, gathered from its events; what a reset takes back is left out.
import type { ChatImageChunk, Grounding, MessageToolCall } from '../../types/chat-stream';
import type { AGUIEvent } from '../../types/events';
import { MillraceError } from '../errors';
import { GrowingText } from '../growing-text';
import { randomUUID } from '../node-crypto';
import { filled } from '../plain-values';
import { providerCallOf } from './provider-calls';
import { Sources } from './sources';

type EncryptedValue = Extract<AGUIEvent, { type: 'REASONING_ENCRYPTED_VALUE' }>;

interface Part {
  id: string;
  content: GrowingText;
}

interface Call {
  id: string;
  name: string;
  arguments: GrowingText;
  /** As it was shown last, until more comes. */
  shown?: MessageToolCall | undefined;
}

/** Characters of text, reasoning, arguments and citations that are gathered at most, by default. */
export const mostAnswer: number = 1 << 21;

export interface AnswerReasoning {
  content?: string;
  signature?: string;
  responseItems?: object[];
}

export class AnswerText {
  readonly #limit: number;
  #size = 0;
  #texts: Part[] = [];
  #reasoning: Part[] = [];
  #calls: Call[] = [];
  // Most answers have none: made when there is one.
  #signatures: Map<string, string> | undefined;
  #callSignatures: Map<string, string> | undefined;
  #ownSignature: string | undefined;
  #images: ChatImageChunk[] = [];
  #issuer = '';
  #sources = new Sources();
  #providers: Set<string> | undefined;

  constructor(limit: number = mostAnswer) {
    this.#limit = limit;
  }

  /** The answer is larger than its limit: nothing is gathered any more, and what was is gone. */
  get tooLarge(): MillraceError | undefined {
    if (this.#size <= this.#limit) return undefined;
    const sentence = `The answer has more than ${this.#limit} characters. Read its events one by one, or raise \`replayBufferSize\`.`;
    return new MillraceError('response_too_large', sentence);
  }

  get text(): string {
    return textOf(this.#texts);
  }

  get thinking(): string {
    return textOf(this.#reasoning);
  }

  /**
   * Of several reasoning parts the one signature that says which belongs to which piece of the text; without
   * any, that of the text itself.
   */
  get signature(): string | undefined {
    const last = this.#reasoning.at(-1);
    const value = (last && this.#signatures?.get(last.id)) ?? this.#ownSignature;
    if (value === undefined) return undefined;
    const isOwn = last === undefined || !this.#signatures?.has(last.id);
    if (isOwn || this.#issuer === '' || last.id.startsWith('rs_'))
      return scoped(this.#issuer, value);
    if (this.#reasoning.length === 1) return scoped(this.#issuer, value);
    const blocks = this.#reasoning.map(({ id, content }) => ({
      length: Buffer.byteLength(content.text),
      value: this.#signatures?.get(id) ?? '',
    }));
    return scoped(this.#issuer, JSON.stringify({ blocks }));
  }

  /** What the next request may bring back of the reasoning; undefined where there was none. */
  get reasoning(): AnswerReasoning | undefined {
    const { thinking, signature, responseItems } = this;
    return filled({
      ...(thinking === '' ? {} : { content: thinking }),
      ...(signature === undefined ? {} : { signature }),
      ...(responseItems.length === 0 ? {} : { responseItems }),
    });
  }

  get images(): ChatImageChunk[] {
    return [...this.#images];
  }

  /** Reasoning items of the Responses API, as the next request may bring them back. */
  get responseItems(): object[] {
    const items: object[] = [];
    for (const { id, content } of this.#reasoning) {
      const { text } = content;
      const value = this.#signatures?.get(id);
      if (!id.startsWith('rs_') || value === undefined) continue;
      const encrypted = scoped(this.#issuer, value);
      const summary = text === '' ? [] : [{ type: 'summary_text', text }];
      items.push({ type: 'reasoning', id, summary, encrypted_content: encrypted });
    }
    return items;
  }

  get toolCalls(): MessageToolCall[] {
    return this.#calls.map((call) => (call.shown ??= this.#show(call)));
  }

  /** The calls that the provider did not run itself. */
  get openCalls(): MessageToolCall[] {
    return this.toolCalls.filter(({ id }) => !this.isProviders(id));
  }

  isProviders(callId: string): boolean {
    return this.#providers?.has(callId) === true;
  }

  /** The sources so far. */
  get grounding(): Grounding | undefined {
    return this.#sources.grounding;
  }

  add(event: AGUIEvent): void {
    if (this.#size > this.#limit) return;
    const theirs = providerCallOf(event);
    if (theirs !== undefined) (this.#providers ??= new Set()).add(theirs);
    switch (event.type) {
      case 'TEXT_MESSAGE_START':
        this.#texts.push({ id: event.messageId, content: new GrowingText() });
        break;
      case 'TEXT_MESSAGE_CONTENT':
        this.#append(this.#texts, event.messageId, event.delta);
        break;
      case 'REASONING_MESSAGE_START':
        this.#reasoning.push({ id: event.messageId, content: new GrowingText() });
        break;
      case 'REASONING_MESSAGE_CONTENT':
        this.#append(this.#reasoning, event.messageId, event.delta);
        break;
      case 'REASONING_ENCRYPTED_VALUE':
        this.#grow(event.encryptedValue.length);
        this.#sign(event);
        break;
      case 'TOOL_CALL_START':
        this.#calls.push({
          id: event.toolCallId,
          name: event.toolCallName,
          arguments: new GrowingText(),
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

  #sign({ entityId, subtype, encryptedValue }: EncryptedValue): void {
    if (subtype === 'tool-call') {
      (this.#callSignatures ??= new Map()).set(entityId, encryptedValue);
      const call = this.#calls.findLast(({ id }) => id === entityId);
      if (call) call.shown = undefined;
    } else if (this.#reasoning.some(({ id }) => id === entityId)) {
      (this.#signatures ??= new Map()).set(entityId, encryptedValue);
    } else {
      this.#ownSignature = encryptedValue;
    }
  }

  #show(call: Call): MessageToolCall {
    const value = this.#callSignatures?.get(call.id);
    const { id, name, arguments: args } = call;
    return {
      id,
      type: 'function',
      function: { name, arguments: args.text },
      ...(value === undefined ? {} : { thoughtSignature: scoped(this.#issuer, value) }),
    };
  }

  #extend(id: string, delta: string): void {
    const call = this.#calls.findLast((one) => one.id === id);
    if (!call) return;
    call.arguments.add(delta);
    call.shown = undefined;
    this.#grow(delta.length);
  }

  #append(parts: readonly Part[], id: string, delta: string): void {
    parts.findLast((one) => one.id === id)?.content.add(delta);
    this.#grow(delta.length);
  }

  #grow(size: number): void {
    this.#size += size;
    if (this.#size <= this.#limit) return;
    this.#texts = [];
    this.#reasoning = [];
    this.#calls = [];
    this.#sources = new Sources();
    this.#images = [];
    this.#signatures = this.#callSignatures = undefined;
    this.#ownSignature = undefined;
  }

  #onCustom(name: string, value: unknown): void {
    if (name === 'millrace.citation') {
      const json = JSON.stringify((value as { citation?: unknown }).citation ?? null);
      this.#sources.add(json);
      this.#grow(json.length);
    }
    if (name === 'millrace.provider_state') this.#onState(value as Record<string, unknown>);
    const data = answerImage(name, value);
    if (data !== undefined) {
      this.#images.push({ id: `tmp_img_${randomUUID()}`, data, isBase64: true });
    }
    if (name === 'millrace.reset') this.#reset(value as { messageIds?: readonly string[] });
  }

  // Without ids everything is void that was said.
  #reset({ messageIds }: { messageIds?: readonly string[] }): void {
    const stays = ({ id }: Part): boolean => messageIds?.includes(id) === false;
    this.#texts = this.#texts.filter(stays);
    this.#reasoning = this.#reasoning.filter(stays);
    this.#sources = new Sources();
    this.#calls = [];
    this.#callSignatures = undefined;
    this.#ownSignature = undefined;
    this.#images = [];
  }

  #onState({ provider, kind, state }: Record<string, unknown>): void {
    if (provider === 'millrace' && kind === 'issuer') this.#issuer = String(state);
  }
}

/** True for the event that says that the message is a refusal. */
export function isRefusal(event: AGUIEvent): boolean {
  if (event.type !== 'CUSTOM' || event.name !== 'millrace.provider_state') return false;
  return (event.value as { kind?: unknown }).kind === 'refusal';
}

/** An image inside an answer. */
export interface Image {
  base64: string;
  mimeType: string;
  /** It is of the reasoning, and no part of the answer. */
  thought: boolean;
  signature?: string;
}

interface ImageState {
  kind?: unknown;
  state?: {
    inlineData?: { mimeType?: string; data?: string };
    thought?: boolean;
    thoughtSignature?: string;
    image_url?: { url?: string };
  };
}

/** The image that a CUSTOM event carries: of Gemini, or of a chat completion. */
export function imageOf(name: string, value: unknown): Image | undefined {
  if (name !== 'millrace.provider_state') return undefined;
  const { kind, state = {} } = value as ImageState;
  if (kind === 'part') {
    const { mimeType = '', data = '' } = state.inlineData ?? {};
    if (!mimeType.startsWith('image/')) return undefined;
    const signature = state.thoughtSignature;
    return {
      base64: data,
      mimeType,
      thought: state.thought === true,
      ...(signature === undefined ? {} : { signature }),
    };
  }
  if (kind !== 'image') return undefined;
  const found = /^data:([^;,]*);base64,(.*)$/s.exec(state.image_url?.url ?? '');
  return found ? { base64: found[2] ?? '', mimeType: found[1] ?? '', thought: false } : undefined;
}

/** The `data:` URL of an image of the answer; undefined for one of its reasoning, and for other values. */
export function answerImage(name: string, value: unknown): string | undefined {
  const image = imageOf(name, value);
  return image && !image.thought ? dataUriOf(image) : undefined;
}

function dataUriOf({ mimeType, base64 }: Image): string {
  return `data:${mimeType};base64,${base64}`;
}

// As lib/model/call/scope.hpp writes it: the value goes back to its issuer only.
function scoped(issuer: string, value: string): string {
  return issuer === '' ? value : `mr1.${Buffer.byteLength(issuer)}.${issuer}.${value}`;
}

function textOf(parts: readonly Part[]): string {
  return parts.map(({ content }) => content.text).join('');
}
