// What calls used and cost: the engine's readers and formula as functions.
import type { ModelUsage } from '../../types/chat-stream';
import type {
  ChatCost,
  CostOptions,
  MediaCost,
  ModelCard,
  Pricing,
  RunTotals,
} from '../../types/usage';
import type { Addon } from '../addon';
import { addon } from '../addon';
import { MillraceError, rethrow } from '../errors';
import { shown } from '../shown';

function call<T>(work: (native: Addon) => T): T {
  try {
    return work(addon());
  } catch (error) {
    rethrow(error);
  }
}

function jsonOf(what: string, value: unknown): string {
  if (typeof value === 'object' && value !== null) return JSON.stringify(value);
  throw new MillraceError('invalid_argument', `${what} must be an object, not ${shown(value)}.`);
}

/**
 * What a vendor's usage object means. Its members say whose it is; `provider` is needed only where
 * vendors mean different things by the same members.
 */
export function readModelUsage(reported: object, provider = ''): ModelUsage {
  const json = jsonOf('The usage', reported);
  return JSON.parse(call((native) => native.modelUsage(provider, json))) as ModelUsage;
}

/**
 * What a call costs by a price card; undefined when it cannot be known, as without a card. Throws `invalid_argument`
 * when cached input is given without the input that was not cached.
 */
export function computeChatCost(
  pricing: Pricing | null | undefined,
  usage: ModelUsage,
  options: CostOptions = {},
): ChatCost | undefined {
  if (pricing === undefined || pricing === null) return undefined;
  const { lookupParams, usdToCnyRate, ...given } = options;
  const own = {
    ...(lookupParams && { parameters: lookupParams }),
    ...(usdToCnyRate === undefined ? {} : { yuanPerDollar: usdToCnyRate }),
    ...given,
  };
  const texts = [jsonOf('pricing', pricing), jsonOf('usage', usage), jsonOf('options', own)];
  const json = call((native) => native.chatCost(...(texts as [string, string, string])));
  return json === '' ? undefined : (JSON.parse(json) as ChatCost);
}

/** Members of an image's or a video's request; each may be a parameter of a lookup price. */
export type MediaParams = Record<string, unknown>;

/**
 * What images cost by a price card: by the piece, by the megapixel or by a lookup, and the images that
 * were sent along; undefined when it cannot be known.
 */
export function computeImageCost(
  pricing: Pricing,
  params: MediaParams,
  count = 1,
): MediaCost | undefined {
  return mediaCost(pricing, { kind: 'image', params, count });
}

/** What a video costs: by the second (`params.duration`), by the piece, or by the tokens counted. */
export function computeVideoCost(
  pricing: Pricing,
  params: MediaParams,
  tokens?: number,
): MediaCost | undefined {
  return mediaCost(pricing, { kind: 'video', params, tokens });
}

function mediaCost(pricing: Pricing, work: object): MediaCost | undefined {
  const texts = [jsonOf('pricing', pricing), jsonOf('params', work)] as const;
  const json = call((native) => native.mediaCost(...texts));
  return json === '' ? undefined : (JSON.parse(json) as MediaCost);
}

/**
 * What a call cost in US dollars: what the provider said, else by the vendor's published prices.
 * Undefined for a model whose prices are not known, never 0.
 */
export function computeCost(
  provider: string,
  model: string,
  usage: ModelUsage,
): number | undefined {
  const json = jsonOf('usage', usage);
  return call((native) => native.knownCost(provider, model, json));
}

/** The card of a model or of a dated version of it. */
export function modelCard(provider: string, model: string): ModelCard | undefined {
  if (typeof provider !== 'string' || typeof model !== 'string') {
    throw new MillraceError(
      'invalid_argument',
      `modelCard() takes a provider and a model, such as modelCard('openai', 'gpt-5'), not ${shown(provider)} and ${shown(model)}.`,
    );
  }
  const json = call((native) => native.modelCard(provider, model));
  return json === '' ? undefined : (JSON.parse(json) as ModelCard);
}

/** Every model whose prices are known. */
export function modelCards(): ModelCard[] {
  return JSON.parse(call((native) => native.modelCards())) as ModelCard[];
}

/** About how many tokens a text is, for answers whose provider reported none. */
export function estimateTokens(text: string, model = ''): number {
  return call((native) => native.estimateTokens(text, model));
}

export interface AccumulateLLM extends Partial<RunTotals> {
  provider: string;
  model: string;
  modelUsage?: ModelUsage | undefined;
  processingTimeMs?: number | undefined;
}

export interface AccumulateTool extends Partial<RunTotals> {
  toolName: string;
  /** Milliseconds. */
  executionTime?: number | undefined;
  success?: boolean | undefined;
  /** US dollars. */
  toolCost?: number | undefined;
}

export interface AccumulateHuman extends Partial<RunTotals> {
  kind: 'approval' | 'prompt' | 'select';
  waitingTimeMs?: number | undefined;
}

function count(name: 'countLLM' | 'countTool' | 'countHuman', entry: object): RunTotals {
  const json = jsonOf('What is counted', entry);
  const now = new Date().toISOString();
  const text = `${json.slice(0, -1)}${json === '{}' ? '' : ','}"now":"${now}"}`;
  return JSON.parse(call((native) => native[name](text))) as RunTotals;
}

/** Adds up what a run used and cost. Each function gives new books and leaves those given alone. */
export const UsageCounter = {
  /** Adds one call of a model. */
  accumulateLLM: (entry: AccumulateLLM): RunTotals => count('countLLM', entry),
  /** Adds one call of a tool. */
  accumulateTool: (entry: AccumulateTool): RunTotals => count('countTool', entry),
  /** Adds one request to a human. */
  accumulateHuman: (entry: AccumulateHuman): RunTotals => count('countHuman', entry),
};
