// Secrets in the answers of servers that repeat what they were sent.

// What is shorter may stand anywhere by chance.
const leastLength = 8;

/** The text with `[redacted]` in the place of each secret, however JSON, addresses and base64 write it. */
export function withoutTexts(text: string, secrets: readonly unknown[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (typeof secret !== 'string' || secret.length < leastLength) continue;
    const inJson = JSON.stringify(secret).slice(1, -1);
    const bytes = Buffer.from(secret);
    const inBase64 = bytes.toString('base64').replace(/=+$/, '');
    // A lone surrogate has no form in an address.
    const inAddress = encodeURIComponent(bytes.toString());
    for (const form of new Set([secret, inJson, inAddress, inBase64])) {
      clean = clean.replaceAll(form, '[redacted]');
    }
  }
  return clean;
}
