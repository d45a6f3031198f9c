// Numbers that a seed gives: the same ones each time.

export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** A whole number below `limit`. */
  below(limit) {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return (this.#state >>> 8) % limit;
  }

  /** At most `count` of the items, in any order. */
  some(items, count) {
    const left = [...items];
    const picked = [];
    while (picked.length < count && left.length > 0) {
      picked.push(...left.splice(this.below(left.length), 1));
    }
    return picked;
  }
}
