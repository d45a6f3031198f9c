// The public surface of the package: re-exports alone, from which scripts/build-js.mjs makes the
// entries that load a module when one of its exports is first read. Each part has an entry of its own.
export * from './entry/agent';
export * from './entry/channels';
export * from './entry/frost';
export * from './entry/lobe';
export * from './entry/mcp';
export * from './entry/model';
export * from './entry/tools';
export * from './entry/usage';

export type * from '../types/errors';
export { MillraceError } from './errors';
export type { MillraceErrorDetails } from './errors';
export { EventType } from './event-type';
export { version } from './version';
