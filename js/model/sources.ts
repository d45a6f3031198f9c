// The sources of an answer in LobeHub's shape. The engine reads the citations, which providers give each in
// their own shape.
import type { Grounding } from '../../types/chat-stream';
import { addon } from '../addon';

type Citation = NonNullable<Grounding['citations']>[number];

export class Sources {
  readonly #citations = new Map<string, Citation>();
  readonly #queries = new Set<string>();
  #reported: Grounding | undefined;

  /** Takes the JSON text of a citation. */
  add(json: string): void {
    const before = this.#size;
    const { citations = [], searchQueries = [] } = JSON.parse(addon().sourcesOf(json)) as Grounding;
    for (const one of citations)
      if (!this.#citations.has(one.url)) this.#citations.set(one.url, one);
    for (const query of searchQueries) this.#queries.add(query);
    if (this.#size > before) this.#reported = undefined;
  }

  /** What is known so far; another object only when it has grown. */
  get grounding(): Grounding | undefined {
    if (this.#size === 0) return undefined;
    const searchQueries = [...this.#queries];
    return (this.#reported ??= {
      citations: [...this.#citations.values()],
      ...(searchQueries.length === 0 ? {} : { searchQueries }),
    });
  }

  get #size(): number {
    return this.#citations.size + this.#queries.size;
  }
}
