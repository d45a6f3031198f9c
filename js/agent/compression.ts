// When a conversation has to be compressed: the engine's estimate against a share of the window.
import type { AgentMessage } from '../../types/agent';
import { ask } from './ask';

export interface CompressionOptions {
  /** Tokens of the model's window; 128000 when absent. */
  maxWindowToken?: number;
  /** The share of the window at which it is time; 0.5 when absent. */
  thresholdRatio?: number;
  /** What the estimate is multiplied by, since it may be too low; 1.25 when absent. */
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
  return ask('checkCompression', { messages, options });
}

/** The number of tokens at which it is time to compress. */
export function getCompressionThreshold(options: CompressionOptions = {}): number {
  return shouldCompress([], options).threshold;
}
