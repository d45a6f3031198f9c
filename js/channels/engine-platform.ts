// The channels' platform in Node: the engine's transport, formats and words.
import { toApiJson } from './formats';
import type { TransportOptions } from '../transport/choose';
import { chooseTransport } from '../transport/choose';
import { pageIn } from '../transport/message-in-body';
import type { ChannelPlatform } from './platform';

export const enginePlatform: ChannelPlatform<TransportOptions> = {
  transport: chooseTransport,
  toApiJson,
  pageIn,
};
