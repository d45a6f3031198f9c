// What the engine says beside the events: objects whose type starts with "@".
import type { AGUIEvent, TokenUsage } from '../../types/events';

/** Opaque state that a provider needs again with the next request. */
export interface ProviderState {
  provider: string;
  kind: string;
  /** The message or tool call it belongs to. */
  entityId?: string;
  state: unknown;
}

/** Tokens as AG-UI counts them, and as the provider reported them. */
export interface UsageReport {
  tokens: TokenUsage;
  reported?: unknown;
}

/** Where the diagnostics of one stream go. */
export interface DiagnosticHooks {
  onUsage?: ((usage: UsageReport) => void) | undefined;
  onState?: ((state: ProviderState) => void) | undefined;
  onInterrupt?: ((interrupt: unknown) => void) | undefined;
  /** Give them also as CUSTOM events whose name starts with `millrace.`. */
  extended: boolean;
  /** Skipped records are logged; otherwise they are events when `extended` is set. */
  logSkipped: boolean;
}

interface Diagnostic {
  type: string;
  message?: string;
  payload?: string;
  tokens?: TokenUsage;
  reported?: unknown;
  interrupt?: unknown;
}

/** Tells the hooks, and gives the event to show, if there is one. */
export function report(diagnostic: Diagnostic, hooks: DiagnosticHooks): AGUIEvent | undefined {
  const { type, ...value } = diagnostic;
  switch (type) {
    case '@warning':
      if (!hooks.logSkipped) break;
      logSkipped(diagnostic.message ?? '', diagnostic.payload ?? '');
      return undefined;
    case '@usage':
      hooks.onUsage?.(value as UsageReport);
      break;
    case '@provider_state':
      hooks.onState?.(value as unknown as ProviderState);
      break;
    case '@interrupt':
      hooks.onInterrupt?.(diagnostic.interrupt);
      break;
  }
  if (!hooks.extended) return undefined;
  return { type: 'CUSTOM', name: `millrace.${type.slice(1)}`, value };
}

/** Announces a record that is not JSON: the text and the error that JSON.parse gives. */
export function logSkipped(text: string, payload: string): void {
  console.error(text, syntaxErrorOf(payload));
}

function syntaxErrorOf(payload: string): unknown {
  try {
    JSON.parse(payload);
  } catch (error) {
    return error;
  }
  return new SyntaxError('The record is nested too deeply.');
}
