// `millrace/usage`: model cards, prices, costs and token counts.
export type * from '../../types/usage';
export {
  UsageCounter,
  computeChatCost,
  computeCost,
  computeImageCost,
  computeVideoCost,
  estimateTokens,
  modelCard,
  modelCards,
  readModelUsage,
} from '../model/usage';
export type { AccumulateHuman, AccumulateLLM, AccumulateTool, MediaParams } from '../model/usage';
