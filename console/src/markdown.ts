// Markdown as a tree of nodes, of which components make elements. HTML in it stays text.
import MarkdownIt, { type Env, type Token } from 'markdown-it';

export interface MarkdownNode {
  token: Token;
  children: MarkdownNode[];
}

/** A part of a document at its top; one with the same key is shown the same. */
export interface MarkdownBlock {
  key: string;
  nodes: MarkdownNode[];
}

const parser = new MarkdownIt({ html: false, linkify: true, breaks: false, typographer: false });
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
// Addresses are checked where links are made (`safeAddress`): a rejected one keeps its text.
parser.validateLink = () => true;

const opened = /^(https?:|mailto:)/i;

/** Undefined for addresses that a click must not open. */
export function safeAddress(address: string): string | undefined {
  return opened.test(address) ? address : undefined;
}

export function treeOf(tokens: readonly Token[]): MarkdownNode[] {
  const top: MarkdownNode[] = [];
  const open: MarkdownNode[][] = [top];
  for (const token of tokens) {
    const list = open.at(-1) ?? top;
    if (token.nesting < 0) {
      if (open.length > 1) open.pop();
      continue;
    }
    const node = { token, children: token.children ? treeOf(token.children) : [] };
    list.push(node);
    if (token.nesting > 0) open.push(node.children);
  }
  return top;
}

/** The value of an attribute; '' where there is none. */
export function attribute({ token }: MarkdownNode, name: string): string {
  return String(token.attrGet(name) ?? '');
}

interface Parsed {
  blocks: MarkdownBlock[];
  /** Lines at which the blocks begin. */
  starts: number[];
  lines: string[];
}

function parse(text: string): Parsed {
  const environment: Env = {};
  const nodes = treeOf(parser.parse(text, environment));
  const lines = text.split('\n');
  // A definition may change what a block before it shows.
  const definitions = Object.keys(environment.references ?? {}).length;
  const starts = nodes.map(({ token }) => token.map?.[0] ?? 0);
  const blocks = nodes.map((node) => {
    const [from, to] = node.token.map ?? [0, lines.length];
    return { key: `${definitions}:${lines.slice(from, to).join('\n')}`, nodes: [node] };
  });
  return { blocks, starts, lines };
}

// The begin of a line that can become nothing but a text.
const words = /^\s*\p{L}/u;
const definition = /^[ >*+-]*\[(?:\\.|[^\]\\])+\]:/ms;

/**
 * Reads a text that grows. Only its last block can change, and the one before it while the last one may still become a part
 * of that: "2" may go on as "2.", an item of the list before it. The others are parsed once, and stay the same objects. A
 * text with definitions of links is parsed as a whole, since they count everywhere.
 */
export class BlockReader {
  #settled = '';
  #blocks: readonly MarkdownBlock[] = [];
  #hasDefinitions = false;

  read(given: string): readonly MarkdownBlock[] {
    const text = given.replace(/\r\n?/g, '\n');
    if (!text.startsWith(this.#settled)) this.#reset();
    const rest = text.slice(this.#settled.length);
    this.#hasDefinitions ||= definition.test(rest);
    if (this.#hasDefinitions) {
      this.#reset();
      this.#hasDefinitions = true;
      return parse(text).blocks;
    }
    const { blocks, starts, lines } = parse(rest);
    const all = [...this.#blocks, ...blocks];
    const last = starts.at(-1) ?? 0;
    const isWhole = last < lines.length - 1 || words.test(lines[last] ?? '');
    if (last > 0 && isWhole) {
      this.#settled += `${lines.slice(0, last).join('\n')}\n`;
      this.#blocks = all.slice(0, -1);
    }
    return all;
  }

  #reset(): void {
    this.#settled = '';
    this.#blocks = [];
    this.#hasDefinitions = false;
  }
}
