// Figures of many samples.
export function shareOf(samples, share) {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export const median = (samples) => shareOf(samples, 0.5);
