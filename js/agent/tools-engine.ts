// Tools of the host as the tools, definitions and manifests of an agent of LobeHub's shape.
import type {
  Agent,
  AgentTool,
  AgentToolContext,
  HumanInterventionConfig,
  InstructionExecutor,
} from '../../types/agent';
import type { ChatTool } from '../../types/model';
import { addon } from '../addon';
import { MillraceError } from '../errors';
import { limitOf } from '../limits';
import { within } from '../tool/time-limit';
import {
  checkArguments,
  defaultTimeoutMs,
  inputSchemaOf,
  policyOf,
  rejectVendorTool,
  toolList,
} from '../tool/tool';
import { rejectTwo } from '../tool/tool-list';
import { resultJson } from '../tool/tool-result';
import type { HostTool, HostTools, ToolEffect } from '../tool/types';
import { withRetries } from './retries';
import { AgentRuntime } from './runtime';
import type { RuntimeConfig } from './runtime-config';

/** What an agent needs of its tools. */
export interface AgentToolsEngine {
  /** For Agent.tools. */
  tools: Record<string, AgentTool>;
  /** For AgentState.tools: the definitions that the model gets. */
  definitions: ChatTool[];
  /** For AgentState.toolManifestMap: who has to be asked. */
  toolManifestMap: Record<string, object>;
}

/** Makes an agent's tools, definitions and manifests of host tools, sorted by name. */
export function createAgentToolsEngine(options: {
  tools: Exclude<HostTools, readonly unknown[]> | readonly HostTool[];
}): AgentToolsEngine {
  const made: AgentToolsEngine = { tools: {}, definitions: [], toolManifestMap: {} };
  const hosts = toolList(options?.tools).map((one) => {
    if (typeof one !== 'string') {
      rejectVendorTool(one, 'an AgentRuntime');
      return one;
    }
    throw new MillraceError(
      'invalid_option',
      `'${one}' names a tool of the engine: take it from builtinTools().`,
    );
  });
  for (const host of hosts.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (made.tools[host.name]) rejectTwo(host.name);
    made.tools[host.name] = withRetries(callable(host), host.retries);
    made.definitions.push({
      type: 'function',
      function: {
        name: host.name,
        ...(host.description !== undefined && { description: host.description }),
        parameters: inputSchemaOf(host) ?? { type: 'object', properties: {} },
      },
    });
    addManifest(made.toolManifestMap as Record<string, Manifest>, host);
  }
  return made;
}

interface Manifest {
  identifier: string;
  humanIntervention: HumanInterventionConfig;
  effect: ToolEffect;
  api: object[];
}

// A call of `identifier____api` finds its manifest by the identifier, as tools of plugins are named.
function addManifest(manifests: Record<string, Manifest>, host: HostTool): void {
  const [identifier = '', name = identifier] = host.name.split('____');
  const { effect = 'once', ordered, serializeBy } = host;
  const humanIntervention = policyOf(host.approval);
  const manifest = (manifests[identifier] ??= { identifier, humanIntervention, effect, api: [] });
  if (manifest.effect !== effect) manifest.effect = 'once';
  manifest.api.push({
    name,
    humanIntervention,
    ...(ordered !== undefined && { ordered }),
    ...(serializeBy !== undefined && { serializeBy }),
  });
}

/** The engine's executors for an agent, for runtimes of the host's own. */
export function createAgentExecutors(
  agent: Agent,
  config: RuntimeConfig = {},
): Record<string, InstructionExecutor> {
  return { ...new AgentRuntime(agent, { history: 'engine', ...config }).executors };
}

function callable(host: HostTool): AgentTool {
  const { name } = host;
  const limit = limitOf('timeoutMs', host.timeoutMs) ?? defaultTimeoutMs;
  return async (args: never, context: AgentToolContext) => {
    const input = await checkArguments(host, args);
    const value: unknown = await within(
      (signal) => host.run(input, { ...context, signal }),
      limit,
      `The tool ${name} did not answer within ${limit} ms.`,
      context?.signal,
    );
    return asData(value, host);
  };
}

// What a model reads of a result is data, whatever its source.
function asData(value: unknown, { name, resultLimit: limit }: HostTool): unknown {
  if (typeof value === 'string') return resultText(value, limit);
  const { content } = (value ?? {}) as { content?: unknown };
  if (typeof content === 'string') {
    return { ...(value as object), content: resultText(content, limit) };
  }
  if (value === undefined) return value;
  const json = resultJson(value, name);
  const safe = resultText(json, limit);
  return safe === json ? value : safe;
}

function resultText(text: string, limit?: number): string {
  return addon().resultText(text, limit);
}
