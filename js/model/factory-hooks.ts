// What the factories' smaller options do: media by value, the check of the context, what is sent shown.
import type { ChatStreamPayload, ModelHooks } from '../../types/model';
import { MillraceError } from '../errors';
import { engineFetch } from '../transport/engine';
import { leaveBody } from '../transport/source';
import { messageOf } from '../thrown';
import { estimateTokens } from './usage';

/** How much a model takes. */
export interface ContextLimit {
  /** The id of the model. */
  id: string;
  /** A model whose window is not known is not checked. */
  contextWindowTokens?: number | undefined;
  /** Tokens of one answer at most. */
  maxOutput?: number | undefined;
}

export interface ContextPreFlight {
  models: readonly ContextLimit[];
  /** Room that must be left for the answer, or more where `max_tokens` is; none by default, as at LobeHub. */
  minOutputTokens?: number | undefined;
  /** Tokens of each window that stay free, since the count is an estimate; default 0. */
  safetyMarginTokens?: number | undefined;
}

/** Why a conversation leaves no room for an answer, in tokens; LobeHub's errors have these names. */
export interface ContextOverflow {
  message: string;
  ctx: number;
  promptTokens: number;
  shortBy: number;
  minOutputTokens?: number;
}

/** Undefined for a conversation that leaves room. */
export function tooLongFor(
  preFlight: ContextPreFlight | undefined,
  payload: ChatStreamPayload,
): ContextOverflow | undefined {
  const limit = preFlight?.models.find(({ id }) => id === payload.model);
  if (!preFlight || !limit?.contextWindowTokens) return undefined;
  const { minOutputTokens, safetyMarginTokens = 0 } = preFlight;
  const { messages, tools, max_tokens: wanted } = payload;
  const requested = estimateTokens(withoutMedia({ messages, tools }), payload.model);
  const most = Math.min(wanted ?? 0, limit.maxOutput ?? Infinity);
  const room = minOutputTokens === undefined ? 0 : Math.max(minOutputTokens, most);
  const window = limit.contextWindowTokens - safetyMarginTokens;
  if (requested + room <= window) return undefined;
  const total = room === 0 ? 'that' : `with ${room} for the answer that`;
  return {
    message:
      `The conversation is about ${requested} tokens; ${total} is more than the ${window} of ${limit.id}. ` +
      (room === 0 ? 'Shorten it.' : 'Shorten it, or ask for fewer tokens.'),
    ctx: limit.contextWindowTokens,
    promptTokens: requested,
    shortBy: Math.ceil(requested + room - window),
    ...(room === 0 ? {} : { minOutputTokens: room }),
  };
}

// Media are not counted by their length.
function withoutMedia(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'string' && item.startsWith('data:') ? '' : item,
  );
}

export interface DebugOptions {
  /** Whether the body of a chat is shown. */
  chatCompletion?: (() => boolean) | undefined;
  /** The same of the Responses API. */
  responses?: (() => boolean) | undefined;
}

/** Hooks that show what is sent, after the user's own changes. */
export function withDebug(
  provider: string,
  debug: DebugOptions | undefined,
  hooks: ModelHooks,
): ModelHooks {
  if (!debug) return hooks;
  const { handlePayload } = hooks;
  return {
    ...hooks,
    handlePayload: async (body, call) => {
      const changed: unknown = await handlePayload?.(body, call);
      const shown = 'input' in body ? debug.responses : debug.chatCompletion;
      if (shown?.() === true) {
        process.stderr.write(
          `[${provider}] ${call.url}\n${JSON.stringify(changed ?? body, null, 2)}\n`,
        );
      }
      return changed;
    },
  };
}

export interface MediaOptions {
  /** Images go by value: addresses are fetched first. Private addresses are refused. */
  forceImageBase64?: boolean | undefined;
  forceVideoBase64?: boolean | undefined;
}

/** Hooks that put media in the place of their addresses. */
export function withMedia(options: MediaOptions, hooks: ModelHooks): ModelHooks {
  const names = new Set<string>();
  if (options.forceImageBase64 === true) names.add('image_url');
  if (options.forceVideoBase64 === true) names.add('video_url');
  if (names.size === 0) return hooks;
  const { handlePayload } = hooks;
  return {
    ...hooks,
    handlePayload: async (body, call) => {
      const changed: unknown = await handlePayload?.(body, call);
      const target = (changed ?? body) as Record<string, unknown>;
      const places = mediaOf(target['messages'] ?? target['input'], names);
      await Promise.all(places.map(async (place) => place.set(await dataUriOf(place.url))));
      return target;
    },
  };
}

interface Place {
  url: string;
  set(url: string): void;
}

// `image_url: { url }` of chat completions, `image_url: "..."` of the Responses API.
function mediaOf(value: unknown, names: ReadonlySet<string>): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const object = value as Record<string, unknown>;
  return Object.entries(object).flatMap(([name, inner]) => {
    if (!names.has(name)) return mediaOf(inner, names);
    const holder = typeof inner === 'string' ? object : (inner as Record<string, unknown>);
    const member = typeof inner === 'string' ? name : 'url';
    const url = holder[member];
    if (typeof url !== 'string' || !/^https?:/.test(url)) return [];
    return [{ url, set: (data) => (holder[member] = data) }];
  });
}

const mediaLimit = 20 << 20;
const mediaTimeoutMs = 60_000;

async function dataUriOf(url: string): Promise<string> {
  const response = await fetched(url);
  const type = (response.headers.get('content-type') ?? '').split(';')[0]?.trim() ?? '';
  if (!response.ok || !response.body || !/^(image|video)\//.test(type)) {
    leaveBody(response.body);
    throw rejected(
      url,
      `its server answered with status ${response.status} and ${type || 'no content type'}`,
    );
  }
  const body = await response.arrayBuffer().catch((error: unknown) => {
    const tooLarge = MillraceError.is(error, 'response_too_large');
    throw rejected(
      url,
      tooLarge ? `it is larger than ${mediaLimit} bytes` : messageOf(error),
      error,
    );
  });
  return `data:${type};base64,${Buffer.from(body).toString('base64')}`;
}

// Addresses come from those who chat: they must not reach what only this machine reaches, and neither must
// what they redirect to. The engine checks the addresses that it connects to.
async function fetched(url: string): Promise<Response> {
  try {
    return await engineFetch({
      method: 'GET',
      url,
      headers: [],
      signal: AbortSignal.timeout(mediaTimeoutMs),
      guard: {},
      limits: { decodedBytes: mediaLimit },
    });
  } catch (error) {
    throw rejected(url, messageOf(error), error);
  }
}

function rejected(url: string, why: string, cause?: unknown): MillraceError {
  const reason = why.replace(/\.$/, '');
  return new MillraceError(
    'invalid_body',
    `The medium at ${new URL(url).origin} cannot be sent by value: ${reason}.`,
    cause === undefined ? {} : { cause },
  );
}
