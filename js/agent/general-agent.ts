// GeneralChatAgent: the brain of a chat with tools. It decides in the engine; here its questions to
// resolvers of the host are answered.
import type {
  Agent,
  AgentInstruction,
  AgentRuntimeContext,
  AgentState,
  GlobalInterventionAudit,
  InterventionAudit,
  ModelRuntimeConfig,
} from '../../types/agent';
import { requestJson } from '../tool/engine-answer';
import { DEFAULT_SECURITY_BLACKLIST } from './intervention';
import { toJson } from '../serialize';
import { countContextTokens } from './vocabulary';

/** What a GeneralChatAgent is made with. */
export interface GeneralChatAgentConfig {
  agentConfig?: Record<string, unknown>;
  /** On by default; the window comes from here, from the model, or is 128000. */
  compressionConfig?: {
    enabled?: boolean;
    maxWindowToken?: number;
    thresholdRatio?: number;
    recompressionThresholdRatio?: number;
    driftMultiplier?: number;
  };
  modelRuntimeConfig?: ModelRuntimeConfig;
  /**
   * The tools that the model may call, as `identifier____apiName`; all when absent. Calls of others are answered
   * instead of executed.
   */
  allowedToolNames?: readonly string[];
  /** Resolvers that manifests name as `{dynamic: {type}}`. */
  dynamicInterventionAudits?: Record<string, InterventionAudit>;
  /** Asked in order for each call; the security blacklist when absent. */
  globalInterventionAudits?: GlobalInterventionAudit[];
  operationId?: string;
  userId?: string;
}

interface Audit {
  kind: 'global' | 'dynamic';
  index?: number;
  type?: string;
  call: string;
  args: Record<string, unknown>;
  metadata: Record<string, unknown>;
  securityBlacklist: unknown;
}

type Decision = { instructions: AgentInstruction | AgentInstruction[] } | { audit: Audit };
type Answers = Record<string, { global?: boolean[]; dynamic?: boolean }>;

// A resolver that fails has not cleared the call.
async function objects(
  resolver: InterventionAudit | undefined,
  args: Record<string, unknown>,
  metadata: Record<string, unknown>,
): Promise<boolean> {
  try {
    return Boolean(await resolver?.(args, metadata));
  } catch {
    return true;
  }
}

/** Decides what a chat does next, from the state and what just happened. */
export class GeneralChatAgent implements Agent {
  constructor(readonly config: GeneralChatAgentConfig = {}) {}

  async runner(
    context: AgentRuntimeContext,
    state: AgentState,
  ): Promise<AgentInstruction | AgentInstruction[]> {
    const { dynamicInterventionAudits, globalInterventionAudits, ...rest } = this.config;
    const countedTokens = this.#counts(context, state);
    const config = {
      ...rest,
      ...(countedTokens !== undefined && {
        compressionConfig: { ...rest.compressionConfig, countedTokens },
      }),
      ...(dynamicInterventionAudits && {
        dynamicInterventionAudits: Object.keys(dynamicInterventionAudits),
      }),
      ...(globalInterventionAudits && {
        globalInterventionAudits: globalInterventionAudits.map(({ type, policy }) => ({
          type,
          policy,
        })),
      }),
    };
    const fixed = `"state":${toJson(state, 'state')},"context":${toJson(context, 'context')},"config":${toJson(config, 'config')}`;
    const answers: Answers = {};
    for (;;) {
      const decision = requestJson<Decision>(
        'decide',
        `{${fixed},"answers":${JSON.stringify(answers)}}`,
      );
      if ('instructions' in decision) return decision.instructions;
      await this.#answer(decision.audit, answers);
    }
  }

  // Only what may be compressed is worth counting.
  #counts({ phase }: AgentRuntimeContext, state: AgentState): number | undefined {
    const isTurn = phase !== 'llm_result' && phase !== 'human_abort' && phase !== 'error';
    const isOn = this.config.compressionConfig?.enabled !== false;
    const tools = state.forceFinish ? undefined : state.tools;
    return isTurn && isOn ? countContextTokens(state.messages, tools) : undefined;
  }

  async #answer(audit: Audit, answers: Answers): Promise<void> {
    const metadata = {
      ...audit.metadata,
      securityBlacklist: audit.securityBlacklist ?? [...DEFAULT_SECURITY_BLACKLIST],
    };
    const known = (answers[audit.call] ??= {});
    if (audit.kind === 'global') {
      const resolver = this.config.globalInterventionAudits?.[audit.index ?? 0]?.resolver;
      (known.global ??= []).push(await objects(resolver, audit.args, metadata));
    } else {
      const resolver = this.config.dynamicInterventionAudits?.[audit.type ?? ''];
      known.dynamic = await objects(resolver, audit.args, metadata);
    }
  }
}
