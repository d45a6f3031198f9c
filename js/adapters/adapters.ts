// The stream adapters: each reads one wire as AG-UI events.
import type { StreamAdapter } from '../../types/channels';
import { MillraceError } from '../errors';
import type { PipeSpec } from '../transport/engine-body';
import { openSource } from '../transport/source';
import type { AgUIAdapterOptions, StreamLimits } from './limits';
import { checkLimits } from './limits';

export type { AgUIAdapterOptions, StreamLimits } from './limits';
import type { DiagnosticHooks, ProviderState, UsageReport } from './diagnostics';
import { EngineEventReader } from './engine-events';
import type { EventReader } from './event-stream';
import { EventStream } from './event-stream';
import { PayloadEventReader } from './payload-events';
import { shown } from '../shown';

export interface AdapterOptions {
  /** Called with the tokens that the provider reports. */
  onUsage?: ((usage: UsageReport) => void) | undefined;
  /** Called with opaque state that the next request must carry. */
  onState?: ((state: ProviderState) => void) | undefined;
  /**
   * Give everything else of the answer as CUSTOM `millrace.*` events: usage, state, citations, interrupts, what
   * it reports of itself, probabilities of its words, unfinished images and further answers.
   */
  extended?: boolean | undefined;
  /**
   * In a run and where an adapter reads strictly: whether what an answer says in `<think>` tags at its
   * beginning is reasoning; default true.
   */
  thinkTags?: boolean | undefined;
  limits?: StreamLimits | undefined;
}

export interface LangGraphAdapterOptions extends AdapterOptions {
  /** Called with the value of `__interrupt__` when the graph waits for a human. */
  onInterrupt?: (interrupt: unknown) => void;
}

// OpenUI takes our options for its own, whose callback is absent and never undefined; here it may be either.
type Given<Options> = { [Name in keyof Options]: Options[Name] | undefined };

/** `usage` of an OpenAI response, as it is. */
export interface ResponseUsage {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  input_tokens_details?: { cached_tokens?: number };
  output_tokens_details?: { reasoning_tokens?: number };
}

export interface OpenAIResponsesAdapterOptions extends Omit<AdapterOptions, 'onUsage'> {
  /** Called with the usage of a response, in OpenAI's own shape. */
  onUsage?: ((usage: ResponseUsage) => void) | undefined;
}

/** What the rest of the package knows about an adapter made here. */
export interface AdapterTraits {
  wire: string;
  limits: StreamLimits;
  thinkTags?: boolean | undefined;
  /**
   * Of an adapter with callbacks, which need events as objects: reads a response for a run of
   * AG-UI, that is, everything that a client of a run must know is among the events.
   */
  parseForRun?: (response: Response) => EventStream;
}

const known = new WeakMap<object, AdapterTraits>();

/** The traits of an adapter of this package; undefined for anybody else's. */
export function traitsOf(adapter: object): AdapterTraits | undefined {
  return known.get(adapter);
}

function eventsOf(response: Response, spec: PipeSpec, reader: EventReader): EventStream {
  return new EventStream(response, (body) => openSource(body, spec), reader);
}

function makeAdapter(traits: AdapterTraits, spec: PipeSpec, read: () => EventReader) {
  const adapter = {
    parse: (response: Response) => eventsOf(response, spec, read()),
  };
  known.set(adapter, traits);
  // parse<Event> only renames the events' type; see StreamAdapter.
  return adapter as StreamAdapter;
}

// What differs between the wires that the engine turns into events.
interface WireRow {
  name: string;
  wire: string;
  // Legal AG-UI and millrace.* events, instead of what the drop-in adapters promise.
  strict?: boolean;
}

function engineAdapter(row: WireRow, options: Given<LangGraphAdapterOptions>): StreamAdapter {
  const { strict = false } = row;
  const limits = checkLimits(row.name, options.limits);
  const hooks: DiagnosticHooks = {
    onUsage: checkCallback(row.name, 'onUsage', options.onUsage),
    onState: checkCallback(row.name, 'onState', options.onState),
    onInterrupt: checkCallback(row.name, 'onInterrupt', options.onInterrupt),
    extended: strict || (checkBoolean(row.name, 'extended', options.extended) ?? false),
    logSkipped: !strict,
  };
  const details = options.extended === true || options.onState !== undefined;
  const hasHooks = Boolean(hooks.onUsage ?? hooks.onState ?? hooks.onInterrupt);
  const thinkTags = checkBoolean(row.name, 'thinkTags', options.thinkTags);
  const spec: PipeSpec = {
    kind: 'events',
    options: { wire: row.wire, strict, limits, thinkTags, details },
  };
  const traits: AdapterTraits = { wire: row.wire, limits, thinkTags };
  if (hasHooks) {
    const detailed = { ...spec.options, strict: true, details: options.extended === true };
    const whole: PipeSpec = { ...spec, options: detailed };
    const reported: DiagnosticHooks = { ...hooks, extended: true, logSkipped: false };
    traits.parseForRun = (response) => eventsOf(response, whole, new EngineEventReader(reported));
  }
  return makeAdapter(traits, spec, () => new EngineEventReader(hooks));
}

/** Reads AG-UI events; each is what JSON.parse makes of its record, unchanged. */
export function agUIAdapter(options: AgUIAdapterOptions = {}): StreamAdapter {
  checkOptions('agUIAdapter', options);
  const limits = checkLimits('agUIAdapter', options.limits);
  const traits = { wire: 'ag_ui', limits };
  const spec: PipeSpec = { kind: 'payloads', options: { limits } };
  return makeAdapter(traits, spec, () => new PayloadEventReader());
}

/** Reads OpenAI Chat Completions as server-sent events. */
export function openAIAdapter(options: AdapterOptions = {}): StreamAdapter {
  checkOptions('openAIAdapter', options);
  return engineAdapter({ name: 'openAIAdapter', wire: 'openai_chat' }, options);
}

/** Reads Chat Completions as lines of JSON: what the OpenAI SDK's toReadableStream() writes. */
export function openAIReadableStreamAdapter(options: AdapterOptions = {}): StreamAdapter {
  const name = 'openAIReadableStreamAdapter';
  checkOptions(name, options);
  return engineAdapter({ name, wire: 'openai_chat_ndjson' }, options);
}

/** Reads the OpenAI Responses and Conversations APIs. */
export function openAIResponsesAdapter(options: OpenAIResponsesAdapterOptions = {}): StreamAdapter {
  const name = 'openAIResponsesAdapter';
  checkOptions(name, options);
  const { onUsage, ...others } = options;
  checkCallback(name, 'onUsage', onUsage);
  const reported = onUsage && {
    onUsage: ({ reported }: UsageReport) => onUsage(reported as ResponseUsage),
  };
  return engineAdapter({ name, wire: 'openai_responses' }, { ...others, ...reported });
}

/** Reads the `messages` stream mode of LangGraph. */
export function langGraphAdapter(options: Given<LangGraphAdapterOptions> = {}): StreamAdapter {
  checkOptions('langGraphAdapter', options);
  return engineAdapter({ name: 'langGraphAdapter', wire: 'langgraph' }, options);
}

// The adapters from here on give a legal AG-UI order; what AG-UI has no event for comes as CUSTOM
// `millrace.*`, and a cut or foreign body ends in RUN_ERROR.

/** Reads Anthropic Messages. */
export function anthropicAdapter(options: AdapterOptions = {}): StreamAdapter {
  checkOptions('anthropicAdapter', options);
  return engineAdapter({ name: 'anthropicAdapter', wire: 'anthropic', strict: true }, options);
}

/** Reads Gemini's streamGenerateContent, of Google's own API or of Vertex AI, with or without `alt=sse`. */
export function geminiAdapter(options: AdapterOptions = {}): StreamAdapter {
  checkOptions('geminiAdapter', options);
  return engineAdapter({ name: 'geminiAdapter', wire: 'gemini', strict: true }, options);
}

/** Reads the Interactions API of Google, with its steps. */
export function geminiInteractionsAdapter(options: AdapterOptions = {}): StreamAdapter {
  const name = 'geminiInteractionsAdapter';
  checkOptions(name, options);
  return engineAdapter({ name, wire: 'gemini_interactions', strict: true }, options);
}

/** Reads Ollama's own /api/chat and /api/generate. */
export function ollamaAdapter(options: AdapterOptions = {}): StreamAdapter {
  checkOptions('ollamaAdapter', options);
  return engineAdapter({ name: 'ollamaAdapter', wire: 'ollama', strict: true }, options);
}

/** Reads Amazon Bedrock's ConverseStream, whose body is an AWS event stream, and Converse. */
export function bedrockConverseAdapter(options: AdapterOptions = {}): StreamAdapter {
  const name = 'bedrockConverseAdapter';
  checkOptions(name, options);
  return engineAdapter({ name, wire: 'bedrock_converse', strict: true }, options);
}

/** Reads Cohere's chat of version 2. */
export function cohereAdapter(options: AdapterOptions = {}): StreamAdapter {
  checkOptions('cohereAdapter', options);
  return engineAdapter({ name: 'cohereAdapter', wire: 'cohere', strict: true }, options);
}

/** Reads Mistral's chat: chat completions whose content may be a list of text, reasoning and references. */
export function mistralAdapter(options: AdapterOptions = {}): StreamAdapter {
  checkOptions('mistralAdapter', options);
  return engineAdapter({ name: 'mistralAdapter', wire: 'mistral', strict: true }, options);
}

function checkOptions(name: string, options: unknown): void {
  if (typeof options === 'object' && options !== null) return;
  throw new MillraceError(
    'invalid_option',
    `${name}() takes an object of options or nothing, not ${shown(options)}.`,
  );
}

function checkCallback<T>(name: string, option: string, value: T): T {
  if (value === undefined || typeof value === 'function') return value;
  throw new MillraceError(
    'invalid_option',
    `${name}: ${option} must be a function, not ${shown(value)}.`,
  );
}

function checkBoolean(name: string, option: string, value: unknown): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  throw new MillraceError(
    'invalid_option',
    `${name}: ${option} must be true or false, not ${shown(value)}.`,
  );
}
