/**
 * Whether a storage is a file of this machine: `file:` and a path. Of `file://a/b`, "a" is a host: the store would be at
 * `/a/b`. A path ends at a NUL.
 */
export function isFileStorage(storage: string): boolean {
  return /^file:(?!\/\/[^/])[^\0]+$/.test(storage);
}
