// What runs of an Engine cost.

export interface EngineUsage {
  prompt: number;
  completion: number;
  total: number;
  /** There when not every call of the model was reported by its provider: the counts are no full sum. */
  source?: 'estimated' | 'unknown';
}
