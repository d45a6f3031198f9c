// Context engineering: what a model is sent for a turn, made by the engine from an agent's configuration.
import type { AgentMessage } from '../../types/agent';
import { modelCard } from '../model/usage';
import { checkArgument } from '../value-checks';
import { engineAnswer } from '../tool/engine-answer';

/** What a model can do; what is absent is taken for granted. */
export interface ContextModelCard {
  contextWindowTokens?: number;
  maxOutput?: number;
  abilities?: { functionCall?: boolean; vision?: boolean };
  /** Bounds of a parameter, or false where the model rejects it. */
  parameters?: Record<string, { min?: number; max?: number } | false>;
}

export interface ContextInput {
  agent?: {
    systemRole?: string;
    model?: string;
    provider?: string;
    /** Identifiers of the tools that are enabled, in the order of their instructions. */
    plugins?: string[];
    /** Members of the chat payload; null leaves one out. */
    params?: Record<string, unknown>;
  };
  messages: Partial<AgentMessage>[];
  tools?: object[];
  manifests?: Record<string, { systemRole?: string }>;
  /** The table's card of the agent's model when absent. */
  card?: ContextModelCard;
  /** Comes after the system role. */
  instructions?: string[];
  /** Files, pages and notes that are in the system message. */
  resources?: { title?: string; uri?: string; content: string }[];
  /** So many of the newest rows, the system's not counted; never half of a tool's work. */
  historyCount?: number;
  /** Gives the model the date. */
  now?: Date | number;
  utcOffsetMinutes?: number;
  /** For `{{name}}` in system role and instructions; lists are written with commas. */
  variables?: Record<string, unknown>;
}

export interface BuiltContext {
  payload: {
    model?: string;
    provider?: string;
    messages: AgentMessage[];
    tools?: object[];
    [parameter: string]: unknown;
  };
  /** What was left out: `tools`, `images`, `history`, or a parameter's name. */
  dropped: string[];
}

/** Makes the payload of a model call. Pure: the same input gives the same payload. */
export function contextEngineering(input: ContextInput): BuiltContext {
  checkArgument('contextEngineering()', input);
  const { now, ...rest } = input;
  const { provider, model } = input.agent ?? {};
  const known = provider !== undefined && model !== undefined && modelCard(provider, model);
  return engineAnswer('buildContext', {
    ...rest,
    ...(rest.card === undefined && known && { card: known }),
    ...(now !== undefined && { nowMs: Number(now) }),
  });
}
