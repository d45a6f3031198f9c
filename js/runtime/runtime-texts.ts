// What a runtime gives the engine and its callers as texts.
import { MillraceError } from '../errors';
import { pageFolder } from '../page-folder';
import { shown } from '../shown';
import { version } from '../version';
import type { RuntimeOptions } from './runtime-options';
import { storedJson } from './stored-json';

/** The options as the engine reads them. */
export function optionsJson(options: RuntimeOptions): string {
  // Both are agents' by the time that the engine has them.
  const { onDisconnect: _onDisconnect, approvalTimeoutMs: _approvals, ...store } = options;
  const { title, object, page, superadminId, ...api } = options.api ?? {};
  const makes = { makesTitles: title !== undefined, makesObjects: object !== undefined };
  const folder = page === false ? undefined : pageFolder();
  // Settings elsewhere write that there is none as 0.
  const ids = superadminId === 0 ? {} : { superadminId };
  const made = { ...api, ...ids, ...makes, page: folder, version: version() };
  return JSON.stringify({ ...store, api: made });
}

/** What a job is sent. */
export function eventOf(event: unknown, payload: unknown): { event: string; payload: unknown } {
  if (typeof event !== 'string' || event === '') {
    throw new MillraceError('invalid_argument', `send() takes a name, not ${shown(event)}.`);
  }
  return { event, payload: JSON.parse(storedJson(payload ?? null, 'The payload')) as unknown };
}

export function notRegistered(name: unknown): MillraceError {
  return new MillraceError(
    'agent_not_registered',
    `The runtime has no agent ${shown(name)}: give the agent the runtime and this name in createAgent().`,
  );
}
