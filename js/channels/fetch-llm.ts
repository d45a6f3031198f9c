// fetchLLM: the model channel of a chat, over HTTP.
import type { ChatLLM, StreamProtocolAdapter } from '../../types/channels';
import type { TransportOptions } from '../transport/choose';
import { enginePlatform } from './engine-platform';
import type { LLMChannelOptions } from './llm-channel';
import { llmChannel } from './llm-channel';

export interface FetchLLMOptions<Adapter extends StreamProtocolAdapter = StreamProtocolAdapter>
  extends LLMChannelOptions<Adapter>, TransportOptions {}

/**
 * Sends `{ threadId, runId, messages, tools: [], context: [], ...body }` to `url`.
 * send() resolves with the Response whatever its status.
 */
export function fetchLLM<Adapter extends StreamProtocolAdapter>(
  options: FetchLLMOptions<Adapter>,
): ChatLLM<Adapter> {
  return llmChannel(enginePlatform, options);
}
