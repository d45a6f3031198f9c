// Node's cryptography, loaded with its first use: it takes 3 MB of memory, which a program that only opens a runtime
// does not need.
import type * as NodeCrypto from 'node:crypto';

const loaded = (): typeof NodeCrypto => require('node:crypto') as typeof NodeCrypto;

export const randomUUID = (): string => loaded().randomUUID();

export const createHash = (algorithm: string): NodeCrypto.Hash => loaded().createHash(algorithm);
