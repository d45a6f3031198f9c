// What differs between Node and pages for the channels of a chat.
import type { MessageFormat } from '../../types/channels';
import type { Message } from '../../types/messages';
import type { Transport } from '../transport/request';

/** `Options` are those that choose a transport. */
export interface ChannelPlatform<Options> {
  /** Chooses once; `urlOption` names the option that holds the URL, for errors. */
  transport: (owner: string, urlOption: string, url: string, options: Options) => Transport;
  /** The JSON text of what `format.toApi(messages)` gives; undefined when that is undefined. */
  toApiJson(format: MessageFormat, messages: Message[]): string | undefined;
  /** What to call a body that is a gateway's page; undefined for any other. */
  pageIn: (body: string) => string | undefined;
}

/** Canonical messages as they are: both functions give the very same reference. */
export const identityMessageFormat: MessageFormat = {
  toApi: (messages) => messages,
  fromApi: (data) => data as Message[],
};
