// The public surface of the package.
import { addon } from './addon';

export type * from '../types/channels';
export type * from '../types/errors';
export type * from '../types/events';
export type * from '../types/messages';

export {
  agUIAdapter,
  anthropicAdapter,
  langGraphAdapter,
  openAIAdapter,
  openAIReadableStreamAdapter,
  openAIResponsesAdapter,
} from './adapters/adapters';
export type {
  AdapterOptions,
  AgUIAdapterOptions,
  LangGraphAdapterOptions,
  StreamLimits,
} from './adapters/adapters';
export type { ProviderState, UsageReport } from './adapters/diagnostics';
export { MillraceError } from './errors';
export type { MillraceErrorDetails } from './errors';

/** Version of the engine. */
export function version(): string {
  return addon().version;
}
