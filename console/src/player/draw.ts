// The blocks of a run as elements. All text of the run is text here, never markup.
import type { Block, View } from './fold';

interface Drawn {
  block: Block;
  revision: number;
  element: HTMLElement;
}

function make(tag: string, name: string, text = ''): HTMLElement {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
}

// A number that JavaScript would change stays as it is.
const longNumber = /\d{16}/;

function pretty(text: string): string {
  if (longNumber.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function labelled(label: string, text: string): HTMLElement[] {
  return text === '' ? [] : [make('div', 'label', label), make('pre', 'code', pretty(text))];
}

type Shape = (block: Block) => HTMLElement[];

const heading = ({ title, state }: Block): HTMLElement => {
  const head = make('div', 'head');
  head.append(make('span', 'title', title), make('span', 'state', state));
  return head;
};

const shapes: Record<Block['kind'], Shape> = {
  user: (block) => [make('div', 'body', block.text)],
  text: (block) => [make('div', 'body', block.text)],
  reasoning: (block) => [heading(block), make('div', 'body', block.text)],
  call: (block) => [
    heading(block),
    ...labelled('Arguments', block.args),
    ...labelled('Result', block.result),
  ],
  approval: (block) => [
    heading(block),
    make('div', 'body', block.text),
    ...labelled('Answer', block.result),
  ],
  agent: (block) => [
    heading(block),
    make('div', 'body', block.text),
    ...labelled('Result', block.result),
  ],
  note: (block) => [heading(block), make('div', 'body', block.text)],
  end: (block) => [
    heading(block),
    make('div', 'body', block.text),
    make('div', 'body', block.result),
  ],
};

/** Draws what has changed since the last time. */
export class Drawing {
  readonly #root: HTMLElement;
  #drawn: Drawn[] = [];
  #view: View | undefined;

  constructor(root: HTMLElement) {
    this.#root = root;
  }

  draw(view: View): void {
    if (view !== this.#view) {
      this.#root.replaceChildren();
      this.#drawn = [];
      this.#view = view;
    }
    for (const [at, block] of view.blocks.entries()) {
      const drawn = this.#drawn[at] ?? this.#add(block);
      if (drawn.revision !== block.revision) fill(drawn);
    }
  }

  #add(block: Block): Drawn {
    const element = make('article', '');
    const drawn = { block, revision: 0, element };
    this.#root.append(element);
    this.#drawn.push(drawn);
    return drawn;
  }
}

function fill(drawn: Drawn): void {
  const { block, element } = drawn;
  drawn.revision = block.revision;
  element.className = `block ${block.kind}`;
  element.classList.toggle('inner', block.branch > 0);
  element.classList.toggle('dropped', block.isDropped);
  element.classList.toggle('failed', ['failed', 'error', 'denied', 'dead'].includes(block.state));
  element.replaceChildren(...shapes[block.kind](block));
}
