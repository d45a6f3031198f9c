// Bodies and readers that the tests share.

const encoder = new TextEncoder();

/** A Response whose body gives these chunks, one a read. */
export function responseOf(chunks: (string | Uint8Array)[], init?: ResponseInit): Response {
  let next = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = chunks[next++];
        if (chunk === undefined) controller.close();
        else controller.enqueue(typeof chunk === 'string' ? encoder.encode(chunk) : chunk);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, init);
}

/** The chunks of `text` cut at every `size` bytes. */
export function cut(text: string, size: number): Uint8Array[] {
  const bytes = encoder.encode(text);
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.slice(at, at + size));
  return chunks;
}

/** Server-sent events of these JSON values. */
export function sse(...records: unknown[]): string {
  return records.map((record) => `data: ${JSON.stringify(record)}\n\n`).join('');
}

export async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const event of events) list.push(event);
  return list;
}

export function iteratorOf<T>(events: AsyncIterable<T>): AsyncIterator<T> {
  return events[Symbol.asyncIterator]();
}

/** Replaces random ids by `<1>`, `<2>`, ... in the order they appear. */
export function named<T>(events: T[]): T[] {
  const names = new Map<string, string>();
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  return JSON.parse(JSON.stringify(events), (_key, value: unknown) => {
    if (typeof value !== 'string' || !uuid.test(value)) return value;
    if (!names.has(value)) names.set(value, `<${names.size + 1}>`);
    return names.get(value);
  }) as T[];
}
