// Tokens of o200k_base, counted exactly where the application has a package with that vocabulary:
// gpt-tokenizer or js-tiktoken. Neither is a dependency; without one the engine estimates.
import type { AgentMessage } from '../../types/agent';

type Count = (text: string) => number;

interface TiktokenLite {
  Tiktoken: new (ranks: unknown) => {
    encode(text: string, allowed?: [], disallowed?: []): unknown[];
  };
}

let counter: Count | null | undefined;

// What a vocabulary takes as one word, when it is this long. A package merges the pairs of a word in a time that grows
// with the square of its length, so a result without blanks would hold up the process for minutes.
const longWord = /[\p{L}\p{M}]{256}|[^\s\p{L}\p{M}\p{N}]{256}|\s{256}/gu;

// A cut costs a token or two.
function inPieces(count: Count): Count {
  return (text) => {
    let tokens = 0;
    let start = 0;
    for (const { index, 0: word } of text.matchAll(longWord)) {
      tokens += count(text.slice(start, index + word.length));
      start = index + word.length;
    }
    return tokens + count(text.slice(start));
  };
}

// Literal names, so that a bundler sees them.
function load(): Count | null {
  try {
    const tokenizer = require('gpt-tokenizer/encoding/o200k_base') as {
      encode(text: string, options?: object): unknown[];
    };
    return inPieces((text) => tokenizer.encode(text, { disallowedSpecial: new Set() }).length);
  } catch {
    // Not installed.
  }
  try {
    const { Tiktoken } = require('js-tiktoken/lite') as TiktokenLite;
    const loaded = require('js-tiktoken/ranks/o200k_base') as { default?: unknown };
    const tiktoken = new Tiktoken(loaded.default ?? loaded);
    return inPieces((text) => tiktoken.encode(text, [], []).length);
  } catch {
    return null;
  }
}

// Texts of a history come again with each turn.
const known = new Map<string, number>();
const mostKnown = 4096;

function tokensOf(count: Count, text: string): number {
  const found = known.get(text);
  if (found !== undefined) return found;
  const tokens = count(text);
  if (known.size >= mostKnown) known.clear();
  known.set(text, tokens);
  return tokens;
}

const imageTokens = 1000;

interface Usage {
  totalOutputTokens?: number;
}

function contentTokens(count: Count, content: unknown): number {
  if (typeof content === 'string') return tokensOf(count, content);
  if (!Array.isArray(content)) return 0;
  let tokens = 0;
  for (const part of content as { text?: unknown; thinking?: unknown }[]) {
    const text = part.text ?? part.thinking;
    tokens += typeof text === 'string' ? tokensOf(count, text) : imageTokens;
  }
  return tokens;
}

// What the provider counted is better than a count of what is left of it.
function reportedOutput(message: Partial<AgentMessage>): number {
  if (message.role !== 'assistant') return 0;
  const metadata = message['metadata'] as (Usage & { usage?: Usage }) | undefined;
  const reported = [metadata?.usage, message['usage'] as Usage | undefined, metadata];
  return reported.find((usage) => Number(usage?.totalOutputTokens) > 0)?.totalOutputTokens ?? 0;
}

/** All that is sent of messages and tools; undefined when no vocabulary is installed. */
export function countContextTokens(
  messages: readonly Partial<AgentMessage>[],
  tools: readonly unknown[] | undefined,
): number | undefined {
  counter ??= load();
  const count = counter;
  if (count === null) return undefined;
  let tokens = tools && tools.length > 0 ? tokensOf(count, JSON.stringify(tools)) : 0;
  for (const message of messages) {
    const reported = reportedOutput(message);
    if (reported > 0) {
      tokens += reported;
      continue;
    }
    const { content, tool_calls: calls, reasoning, tool_call_id: id } = message;
    tokens += contentTokens(count, content) + contentTokens(count, id);
    tokens += contentTokens(
      count,
      (reasoning as { content?: unknown } | undefined)?.content ?? reasoning,
    );
    if (Array.isArray(calls) && calls.length > 0) tokens += tokensOf(count, JSON.stringify(calls));
  }
  return tokens;
}
