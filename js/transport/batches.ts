// Reads what the engine hands over as text. The format: docs/internals/batches.md.
import { errorFromNative } from '../errors';
import type { Output } from './body';

/** The items of a batch: events as objects or, shortened, as strings, and what else the stream gives. */
export function itemsOf<Item>(output: Output): Item[] {
  return JSON.parse(output as string) as Item[];
}

const terminator = '\r';

/** The texts of a batch, each ended by a carriage return. */
export function textsOf(output: Output): string[] {
  const texts = (output as string).split(terminator);
  texts.pop();
  return texts;
}

/** Throws when the text is the mark of an error: an empty text, which the error's JSON follows. */
export function throwError(texts: readonly string[], at: number): void {
  if (texts[at] === '') throw errorFromNative(texts[at + 1] as string);
}
