// Those who wait for something that comes again and again.

/** Usually one waits: a list for it would be made, and filled, each time. */
export class Wakes {
  #first: (() => void) | undefined;
  #more: (() => void)[] = [];

  add(wake: () => void): void {
    if (this.#first) this.#more.push(wake);
    else this.#first = wake;
  }

  /** Calls each once; who waits again is called the next time. */
  call(): void {
    const first = this.#first;
    if (!first) return;
    const more = this.#more;
    this.#first = undefined;
    if (more.length > 0) this.#more = [];
    first();
    for (const wake of more) wake();
  }
}
