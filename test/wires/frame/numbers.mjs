// Numbers of requests that have bounds, which no marker keeps: two values that every vendor takes.
export const boundedNumbers = [
  [/\.temperature$/, [0.3, 0.7]],
  [/\.(top_?p|p)$/i, [0.4, 0.6]],
  [/\.min_?p$/i, [0.1, 0.2]],
  [/\.(frequency|presence)_?penalty$/i, [0.2, 0.5]],
  [/\.(top_?k|k)$/i, [5, 9]],
  [/\.(top_?logprobs|n|candidate_?count)$/i, [2, 3]],
  [/\.max_?(completion_|output_?)?tokens$/i, [1234, 2345]],
  [/\.(budget_tokens|token_budget|thinking_?budget)$/i, [1100, 1200]],
];
