// Pages that gateways answer with instead of the API: what to call them, where the engine is not.

const begin =
  /^(?:\s|<!--[^]*?-->|<\?xml[^]*?\?>)*<(?:!doctype html|html|head|body|title|center)(?=[\s/>]|$)/i;
const titleLetters = 120;

/** `an HTML page titled "..."`; undefined for any other text. */
export function htmlPage(text: string): string | undefined {
  if (!begin.test(text)) return undefined;
  const title = /<title[^>]*>([^]*?)<\/title/i.exec(text)?.[1]?.trim().replace(/\s+/g, ' ') ?? '';
  return title === '' ? 'an HTML page' : `an HTML page titled "${title.slice(0, titleLetters)}"`;
}
