// The hash by which a record shows that a part was edited. The engine's is in lib/base/text_hash.hpp.

// From which code on a character has one byte more.
const utf8Limits = [0x80, 0x800, 0x10000];

/** A hash of a text as UTF-8, in which halves of a surrogate pair have three bytes each, and of its size. */
export function hashOf(text: string): { size: number; hash: string } {
  let size = 0;
  let hash = 0x811c9dc5;
  const mix = (byte: number): void => void (hash = Math.imul(hash, 0x01000193) + byte);
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    let tails = utf8Limits.filter((limit) => code >= limit).length;
    size += 1 + tails;
    // The first byte begins with a one for each byte, if there are several.
    mix((code >> (6 * tails)) | (tails && 0xff & ~(0x7f >> tails)));
    while (tails > 0) mix(((code >> (6 * --tails)) & 0x3f) | 0x80);
  }
  for (let shift = 0; shift < 32; shift += 8) mix((size >>> shift) & 0xff);
  return { size, hash: (hash >>> 0).toString(16).padStart(8, '0') };
}

/** A text whose order is that of the engine's index: by the bytes of UTF-8. */
export const bytesOf = (id: string): string => String.fromCharCode(...new TextEncoder().encode(id));
