// What the steps of an operation did, gathered from its stream for hooks; lib/api/lobe_steps.cpp does it for webhooks.
import type {
  LobeHookEvent,
  LobeState,
  LobeToolCall,
  LobeToolOutput,
} from '../../types/lobe-server';

interface Usage {
  llm?: { apiCalls?: number; tokens?: { input?: number; output?: number; total?: number } };
  tools?: { totalCalls?: number };
}

interface StreamEnd {
  finalContent: string;
  reasoning?: string;
  toolsCalling?: LobeToolCall[];
}

interface ToolEnd {
  executionTime: number;
  isSuccess: boolean;
  payload: { toolCalling: LobeToolCall };
  result: { content?: unknown };
}

interface StepEnd {
  finalState: LobeState;
  executionTime: number;
  nextStepScheduled: boolean;
  stepType: string;
}

type StepContent = Pick<LobeHookEvent, 'content' | 'reasoning' | 'toolsCalling' | 'toolsResult'>;

// A text that is only there to show what was written last.
const mostShown = 1800;
// Sums of prices have digits behind those that anything costs.
const priceParts = 1e9;

/** The steps of one operation. */
export class LobeSteps {
  #step: StepContent = {};
  #before: Pick<LobeHookEvent, 'lastLLMContent' | 'lastToolsCalling'> = {};
  #toolCalls = 0;
  #cost = 0;

  begin(): void {
    const { content, toolsCalling } = this.#step;
    if (content) this.#before.lastLLMContent = shortened(content);
    if (toolsCalling) this.#before.lastToolsCalling = toolsCalling;
    this.#step = {};
  }

  takeAnswer({ finalContent, reasoning, toolsCalling }: StreamEnd): void {
    this.#step = {
      content: finalContent,
      ...(reasoning && { reasoning }),
      ...(toolsCalling && { toolsCalling }),
    };
    this.#toolCalls += toolsCalling?.length ?? 0;
  }

  takeResult({ executionTime, isSuccess, payload, result: { content = '' } }: ToolEnd): void {
    const { id, identifier, apiName } = payload.toolCalling;
    const output = typeof content === 'string' ? content : JSON.stringify(content);
    const result: LobeToolOutput = {
      id,
      identifier,
      apiName,
      isSuccess,
      output,
      executionTimeMs: executionTime,
    };
    (this.#step.toolsResult ??= []).push(result);
  }

  /** What a hook gets of the step that has ended. */
  end({ finalState, executionTime, nextStepScheduled, stepType }: StepEnd): Partial<LobeHookEvent> {
    const isModel = stepType === 'call_llm';
    const { cost, usage, stepCount } = finalState;
    const { input, output } = (usage as Usage | undefined)?.llm?.tokens ?? {};
    const { total = this.#cost } = cost ?? {};
    const stepCost = Math.round((total - this.#cost) * priceParts) / priceParts;
    this.#cost = total;
    return {
      ...totalsOf(finalState),
      ...this.#step,
      ...this.#before,
      ...(isModel && { stepCost }),
      ...(cost?.total !== undefined && { totalCost: cost.total }),
      ...(input !== undefined && { totalInputTokens: input }),
      ...(output !== undefined && { totalOutputTokens: output }),
      executionTimeMs: executionTime,
      shouldContinue: nextStepScheduled,
      stepType,
      thinking: isModel,
      totalSteps: stepCount,
      totalToolCalls: this.#toolCalls,
    };
  }
}

function shortened(text: string): string {
  if (text.length <= mostShown) return text;
  const cut = text.slice(0, mostShown);
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}...`;
}

/** What a hook gets of a state. */
export function totalsOf({
  status,
  stepCount,
  usage,
  cost,
  error,
}: LobeState): Partial<LobeHookEvent> {
  const { llm, tools } = (usage ?? {}) as Usage;
  return {
    status,
    steps: stepCount,
    ...(cost?.total !== undefined && { cost: cost.total }),
    ...(llm?.apiCalls !== undefined && { llmCalls: llm.apiCalls }),
    ...(llm?.tokens?.total !== undefined && { totalTokens: llm.tokens.total }),
    ...(tools?.totalCalls !== undefined && { toolCalls: tools.totalCalls }),
    ...(error && { errorMessage: error.message }),
  };
}
