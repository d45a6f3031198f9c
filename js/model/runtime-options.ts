// What a runtime and its calls may be told.
import type { ChatCallbacks, ModelHooks } from '../../types/model';
import type { CostOptions } from '../../types/usage';
import { MillraceError } from '../errors';
import { shown } from '../shown';
import type { TransportOptions } from '../transport/choose';
import type { ProviderSettings } from './settings';

/** Whom to ask when a provider fails: "provider:model", or the same with settings of its own. */
export type Fallback = string | ({ provider: string; model: string } & ProviderSettings);

/** Options of a runtime. */
export interface ModelRuntimeOptions extends ProviderSettings, TransportOptions, ModelHooks {
  /** Asked in this order when a provider fails and a retry does not help. */
  fallback?: readonly Fallback[] | undefined;
  /** Settings of the providers that `fallback` names. */
  providers?: Record<string, ProviderSettings> | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call; tokens that were used are booked all the same. */
  signal?: AbortSignal | null | undefined;
  /** Sent to the first provider, besides the runtime's headers; fallbacks do not get them. */
  requestHeaders?: Record<string, string> | undefined;
  /** The end user, told to providers that ask for one. */
  user?: string | undefined;
  fallback?: readonly Fallback[] | undefined;
  maxRetries?: number | undefined;
  timeouts?: ProviderSettings['timeouts'];
  /**
   * Ask the same model again when its answer breaks off after a part was shown; the reader is told by
   * CUSTOM `millrace.reset`. Default false: only a fallback is asked then.
   */
  retryAfterFirstToken?: boolean | undefined;
  /**
   * Whether what an answer says in `<think>` tags at its beginning is reasoning; default true. The quirk
   * `plain_think_tags` says the same of a provider.
   */
  thinkTags?: boolean | undefined;
  /**
   * The messages come from a client: provider state that it may have forged (results of tools that the provider
   * ran, files, containers, approvals) is left out, with a warning and a note. Reasoning and its signatures stay.
   * Default false; `createChatRoute` sets it.
   */
  fromClient?: boolean | undefined;
  /**
   * Milliseconds for which pieces of a text (or of reasoning, or of arguments) may wait for those that follow,
   * so that JavaScript is woken less often; default 50, 0 to be given each at once. The first token and
   * whatever is no such piece never wait.
   */
  throttleMs?: number | undefined;
  /** What prices depend on, such as the time that a cache is kept: `{ parameters: { ttl: '1h' } }`. */
  pricingContext?: CostOptions | undefined;
  threadId?: string | undefined;
  runId?: string | undefined;
  parentRunId?: string | undefined;
}

export interface ChatOptions extends CallOptions {
  /** `ag-ui` (default): an AG-UI run; `lobe`: LobeHub's chat stream. */
  protocol?: 'ag-ui' | 'lobe' | undefined;
  /** `protocolVersion` of the client's input; absent means a client from before AG-UI 1.0. */
  protocolVersion?: string | undefined;
  /** Of the response. */
  headers?: Record<string, string> | undefined;
  callback?: ChatCallbacks | undefined;
  /** Milliseconds of silence after which a comment is sent; default 15,000, 0 for none. */
  keepAliveMs?: number | undefined;
  /** For traces of the caller's own; not read here. */
  metadata?: unknown;
}

export interface StreamOptions extends CallOptions {
  /**
   * Characters of output that are kept for a second reading, about ten a token; default 2 Mi. A longer
   * run can be read once: its beginning is `replay_unavailable` then. No text() is longer than this or 2 Mi.
   */
  replayBufferSize?: number | undefined;
}

/** Characters of output that a run keeps. */
export const defaultReplayBufferSize: number = 1 << 21;

/** The hooks of a runtime. */
export const hookNames = ['handlePayload', 'handleError', 'handleStream', 'handleRetry'] as const;

/** Throws for hooks that are no functions. */
export function checkHooks(hooks: ModelHooks): void {
  for (const name of hookNames) {
    if (hooks[name] === undefined || typeof hooks[name] === 'function') continue;
    throw new MillraceError(
      'invalid_option',
      `${name} must be a function, not ${shown(hooks[name])}.`,
    );
  }
}
