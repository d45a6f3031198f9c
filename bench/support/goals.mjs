// A goal is a sentence, the figure it is about and whether it is met. A missed goal is reported, never an error.
export function atLeast(text, value, limit, unit = '') {
  return {
    text: `${text} >= ${limit}${unit && ` ${unit}`}`,
    value,
    limit,
    unit,
    met: value >= limit,
  };
}

export function atMost(text, value, limit, unit = '') {
  return {
    text: `${text} <= ${limit}${unit && ` ${unit}`}`,
    value,
    limit,
    unit,
    met: value <= limit,
  };
}
