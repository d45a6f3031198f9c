// InterventionChecker: whether a tool call may run. The rules are the engine's.
import type {
  ArgumentMatcher,
  HumanInterventionConfig,
  HumanInterventionPolicy,
  SecurityBlacklistConfig,
  SecurityCheckResult,
} from '../../types/agent';
import { checkArgument } from '../value-checks';
import { engineAnswer } from '../tool/engine-answer';

let defaults: SecurityBlacklistConfig | undefined;

function defaultBlacklist(): SecurityBlacklistConfig {
  return (defaults ??= Object.freeze(
    engineAnswer<SecurityBlacklistConfig>('defaultBlacklist', {}),
  ) as SecurityBlacklistConfig);
}

// Read with the first use, so that importing the package loads no addon.
const lazy: SecurityBlacklistConfig = [];

/** What no tool may do without approval. Rules of type semanticShell understand the shell's grammar. */
export const DEFAULT_SECURITY_BLACKLIST: SecurityBlacklistConfig = new Proxy(lazy, {
  get: (_target, key) => Reflect.get(defaultBlacklist(), key) as unknown,
  has: (_target, key) => Reflect.has(defaultBlacklist(), key),
  ownKeys: (target) => {
    fill(target);
    return Reflect.ownKeys(target);
  },
  getOwnPropertyDescriptor: (target, key) => {
    fill(target);
    return Reflect.getOwnPropertyDescriptor(target, key);
  },
});

function fill(target: SecurityBlacklistConfig): void {
  if (target.length === 0) target.push(...defaultBlacklist());
}

// The engine has its own list.
function listFor(
  blacklist: SecurityBlacklistConfig | undefined,
): SecurityBlacklistConfig | undefined {
  return blacklist === DEFAULT_SECURITY_BLACKLIST ? undefined : blacklist;
}

/** What shouldIntervene looks at. */
export interface ShouldInterveneParams {
  config?: HumanInterventionConfig | undefined;
  /** The default list when it is undefined; an empty one turns the check off. */
  securityBlacklist?: SecurityBlacklistConfig | undefined;
  toolArgs?: Record<string, unknown> | undefined;
}

/** Decides by rules whether a person has to be asked before a tool runs. */
export class InterventionChecker {
  /** `never`, `required` or `always`; a hit of the blacklist gives `required`. */
  static shouldIntervene(params: ShouldInterveneParams): HumanInterventionPolicy {
    checkArgument('shouldIntervene()', params);
    return engineAnswer('shouldIntervene', {
      config: params.config,
      blacklist: listFor(params.securityBlacklist),
      args: params.toolArgs ?? {},
    });
  }

  /** Whether the arguments break a rule of the blacklist, and which. */
  static checkSecurityBlacklist(
    securityBlacklist: SecurityBlacklistConfig | undefined = undefined,
    toolArgs: Record<string, unknown> = {},
  ): SecurityCheckResult {
    return engineAnswer('checkBlacklist', {
      blacklist: listFor(securityBlacklist),
      args: toolArgs,
    });
  }

  /** Whether a pattern with `*` (or `name:*`) matches the whole value. */
  static matchPattern(pattern: string, value: string): boolean {
    return engineAnswer('matchPattern', { pattern, value: String(value) });
  }

  /** Whether one argument fits a matcher. */
  static matchesArgument(matcher: ArgumentMatcher, value: unknown): boolean {
    return engineAnswer('matchesArgument', { matcher, value });
  }

  /** `identifier/apiName`, or `identifier/apiName#hash`. */
  static generateToolKey(identifier: string, apiName: string, argsHash?: string): string {
    return argsHash ? `${identifier}/${apiName}#${argsHash}` : `${identifier}/${apiName}`;
  }

  /** A short hash of arguments that does not depend on the order of their keys. */
  static hashArguments(args: Record<string, unknown>): string {
    return engineAnswer('hashArguments', { args });
  }
}
