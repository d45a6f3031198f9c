// The sources of an answer in LobeHub's shape, from the citations that providers give each in their own.
import type { Grounding } from '../../types/chat-stream';

type Source = Record<string, unknown>;

const isObject = (value: unknown): value is Source => typeof value === 'object' && value !== null;
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export class Sources {
  readonly #citations = new Map<string, { title: string; url: string; favicon?: string }>();
  readonly #queries = new Set<string>();
  #told: Grounding | undefined;

  /** Takes a citation: one source, a list of them, or a list inside what is known of a search. */
  add(given: unknown): void {
    const before = this.#size;
    for (const source of Array.isArray(given) ? (given as unknown[]) : [given]) {
      this.#collect(source);
    }
    if (this.#size > before) this.#told = undefined;
  }

  /** What is known so far; another object only when it has grown. */
  get grounding(): Grounding | undefined {
    if (this.#size === 0) return undefined;
    const searchQueries = [...this.#queries];
    return (this.#told ??= {
      citations: [...this.#citations.values()],
      ...(searchQueries.length === 0 ? {} : { searchQueries }),
    });
  }

  get #size(): number {
    return this.#citations.size + this.#queries.size;
  }

  #collect(given: unknown): void {
    if (typeof given === 'string') return this.#cite({ url: given });
    if (!isObject(given)) return;
    const { webSearchQueries: queries, groundingChunks: chunks, url_citation: inner } = given;
    if (Array.isArray(queries)) {
      for (const query of queries) if (typeof query === 'string') this.#queries.add(query);
    }
    if (Array.isArray(chunks)) {
      for (const chunk of chunks as unknown[]) {
        if (!isObject(chunk)) continue;
        for (const kind of ['web', 'maps', 'retrievedContext']) {
          if (isObject(chunk[kind])) this.#cite(chunk[kind]);
        }
      }
    }
    this.#cite(isObject(inner) ? inner : given);
  }

  #cite({ url, uri, link, title, favicon }: Source): void {
    const address = textOf(url) || textOf(uri) || textOf(link);
    if (address === '' || this.#citations.has(address)) return;
    const icon = textOf(favicon);
    this.#citations.set(address, {
      title: textOf(title) || address,
      url: address,
      ...(icon === '' ? {} : { favicon: icon }),
    });
  }
}
