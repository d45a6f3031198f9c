// Numbers and times as people read them.

const seconds = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat('en');
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${seconds.format(ms / 1000)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
}

export const countText = (count: number): string => whole.format(count);

export function tokensText(total: number): string {
  return `${whole.format(total)} ${total === 1 ? 'token' : 'tokens'}`;
}

export function costText(cost: { total: number; currency?: string | null }): string {
  const digits = cost.total > 0 && cost.total < 0.01 ? 6 : 4;
  const currency = cost.currency || 'USD';
  try {
    return new Intl.NumberFormat('en', {
      ...{ style: 'currency', currency, maximumFractionDigits: digits },
    }).format(cost.total);
  } catch {
    return `${cost.total} ${currency}`;
  }
}

export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${seconds.format(bytes / 1024)} KB`;
  return `${seconds.format(bytes / 1024 ** 2)} MB`;
}

export const momentText = (atSeconds: number): string => moment.format(atSeconds * 1000);

/** JSON text on several lines; what is no JSON stays as it is. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// Characters that are not seen, or that change the order in which others are seen.
const unseen =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** The text with such characters written out: what is read is what it is. */
export function visible(text: string): string {
  const written = (one: string): string => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(unseen, written);
}
