// When a conversation has to be compressed: its tokens, counted or estimated, against a share of the window.
import type { AgentMessage } from '../../types/agent';
import { checkMember, list } from '../value-checks';
import { engineAnswer } from '../tool/engine-answer';
import { countContextTokens } from './vocabulary';

export interface CompressionOptions {
  /** Tokens of the model's window; 128000 when absent. */
  maxWindowToken?: number;
  /** The share of the window at which it is time; 0.5 when absent. */
  thresholdRatio?: number;
  /** The same once a summary is among the messages; 0.65 when absent, or `thresholdRatio` if that is more. */
  recompressionThresholdRatio?: number;
  /** A summary was made before; known by itself where it is among the messages. */
  hasExistingSummary?: boolean;
  /** What the number is multiplied by, since it may be too low for the model; 1.25 when absent. */
  driftMultiplier?: number;
  /** Definitions of tools take room as well. */
  tools?: unknown[];
}

export interface CompressionCheck {
  currentTokenCount: number;
  needsCompression: boolean;
  threshold: number;
}

/** Whether the messages and tools pass the threshold. */
export function shouldCompress(
  messages: AgentMessage[],
  options: CompressionOptions = {},
): CompressionCheck {
  checkMember('shouldCompress()', 'messages', messages, list);
  const countedTokens = countContextTokens(messages, options.tools);
  return engineAnswer('checkCompression', { messages, options: { ...options, countedTokens } });
}

/** The number of tokens at which it is time to compress. */
export function getCompressionThreshold(options: CompressionOptions = {}): number {
  return shouldCompress([], options).threshold;
}
