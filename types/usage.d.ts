// Price cards, and what a run used and cost.
import type { ModelUsage } from './chat-stream';

/** What a price is for. */
export type PricingUnitName =
  | 'textInput'
  | 'textOutput'
  | 'textInput_cacheRead'
  | 'textInput_cacheWrite'
  | 'imageInput'
  | 'imageInput_cacheRead'
  | 'imageOutput'
  | 'imageGeneration'
  | 'videoInput'
  | 'videoGeneration'
  | 'audioInput'
  | 'audioInput_cacheRead'
  | 'audioOutput';

interface PricingUnitBase {
  name: PricingUnitName | (string & {});
  /** Default `millionTokens`. */
  unit?: string;
}

/** One price; rates are for a million tokens. */
export type PricingUnit =
  | (PricingUnitBase & { strategy?: 'fixed'; rate: number })
  | (PricingUnitBase & {
      strategy: 'tiered';
      /** The first tier that holds the call's whole input counts for every token. */
      tiers: { upTo: number | 'infinity'; rate: number }[];
    })
  | (PricingUnitBase & {
      strategy: 'lookup';
      /** The values of the parameters joined by `_` are the key of the price. */
      lookup: { pricingParams: string[]; prices: Record<string, number> };
    });

/** What a model costs. */
export interface Pricing {
  /** Default USD. */
  currency?: 'USD' | 'CNY';
  units: PricingUnit[];
}

export interface CostOptions {
  /** Values for lookup prices; `ttl` of cache writes is `5m` unless it is given. */
  parameters?: Record<string, string | number | boolean>;
  /** Default 7.12. */
  yuanPerDollar?: number;
  /** LobeHub's name of `parameters`. */
  lookupParams?: Record<string, string | number | boolean>;
  /** LobeHub's name of `yuanPerDollar`. */
  usdToCnyRate?: number;
}

interface PricedUnit {
  name: string;
  unit: string;
}

export interface ChatCost {
  /** US dollars. */
  totalCost: number;
  /** Millionths of a US dollar, rounded up for each unit. */
  totalCredits: number;
  breakdown: {
    unit: PricedUnit;
    quantity: number;
    rate: number;
    credits: number;
    cost: number;
    lookupKey?: string;
    /** Shares at their rates: of a tier, and of what caches keep for different times. Their credits are in the currency of the card and not rounded. */
    segments?: { quantity: number; rate: number; credits: number }[];
  }[];
  /** What was used and has a unit, but no price for these parameters. What has no unit is not told of. */
  issues: { unit: PricedUnit; reason: string }[];
}

/** What images or a video cost. */
export interface MediaCost {
  /** US dollars. */
  totalCost: number;
  /** Millionths of a US dollar, rounded up. */
  totalCredits: number;
  breakdown: {
    unit: PricedUnit;
    quantity: number;
    /** In the currency of the card, of one of the unit. */
    rate: number;
    cost: number;
    lookupKey?: string;
  }[];
}

/** The limits and prices of a model, as its vendor publishes them. */
export interface ModelCard {
  provider: string;
  id: string;
  contextWindowTokens: number;
  maxOutput: number;
  pricing: Pricing;
  /** Where the vendor says so. */
  source: string;
}

/** What a run used. */
export interface RunUsage {
  llm: {
    apiCalls: number;
    processingTimeMs: number;
    tokens: { input: number; output: number; total: number };
  };
  tools: {
    totalCalls: number;
    totalTimeMs: number;
    byTool: { name: string; calls: number; errors: number; totalTimeMs: number }[];
  };
  humanInteraction: {
    approvalRequests: number;
    promptRequests: number;
    selectRequests: number;
    totalWaitingTimeMs: number;
  };
}

/** What a run cost, as far as it is known. */
export interface RunCost {
  total: number;
  currency: string;
  /** When it was added to last, as an ISO 8601 date. */
  calculatedAt: string;
  llm: {
    total: number;
    currency: string;
    byModel: {
      id: string;
      provider: string;
      model: string;
      totalCost: number;
      usage: ModelUsage;
    }[];
  };
  tools: {
    total: number;
    currency: string;
    byTool: { name: string; calls: number; totalCost: number; currency: string }[];
  };
}

/** The books of a run; `cost` appears with the first call whose cost is known. */
export interface RunTotals {
  usage: RunUsage;
  cost?: RunCost;
}
