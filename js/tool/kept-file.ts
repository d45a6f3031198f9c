// Files of results, which a store of the host keeps.

/** Has a file kept and gives its address; throws what `store` throws, also when it gives none. */
export async function retainedAt(
  store: (file: { id: string; mimeType: string; bytes: Uint8Array }) => unknown,
  file: { id: string; mimeType: string; bytes: Uint8Array },
): Promise<string> {
  const given = await store(file);
  const url = given instanceof URL ? given.href : given;
  if (typeof url === 'string' && url !== '' && !url.startsWith('data:')) return url;
  throw new TypeError('`store` must give the address of what it keeps.');
}
