// A vendor's own client in the place of HTTP: what it gives is read as the stream that the vendor would
// have sent.
import { MillraceError } from '../errors';
import type { FactoryInstance } from './factory-options';
import type { ModelRuntimeOptions } from './runtime-options';

/** The chunks of an answer as the vendor's stream holds them. */
export type Chunks = AsyncIterable<unknown> | Iterable<unknown> | ReadableStream<unknown>;

export interface CustomClient {
  /** Makes the client of a runtime. */
  createClient: (options: ModelRuntimeOptions & FactoryInstance) => unknown;
  /** Sends a chat, with the body that the vendor's API would have got; absent, `fetch` sends it. */
  createChatCompletionStream?:
    | ((
        client: unknown,
        body: Record<string, unknown>,
        call: FactoryInstance & { signal?: AbortSignal },
      ) => Chunks | Response | Promise<Chunks | Response>)
    | undefined;
}

const stream = { 'content-type': 'text/event-stream' };

/** The options with a fetch function that asks the client, where there is one. */
export function withSender(
  options: ModelRuntimeOptions,
  custom: CustomClient | undefined,
  toStream: ((answer: unknown) => Chunks) | undefined,
  instance: FactoryInstance,
): ModelRuntimeOptions {
  const create = custom?.createChatCompletionStream;
  if (!create && !toStream) return options;
  const send = options.fetch ?? fetch;
  const asking: typeof fetch = async (url, init) => {
    const body = create && jsonOf(init);
    if (!create || !body) return restreamed(await send(url, init), toStream);
    const { signal } = init ?? {};
    const given = await create(instance.client, body, {
      ...instance,
      ...(signal ? { signal } : {}),
    });
    return given instanceof Response ? given : new Response(bytesOf(given), { headers: stream });
  };
  return { ...options, fetch: asking };
}

function jsonOf(init: RequestInit | undefined): Record<string, unknown> | undefined {
  const { body } = init ?? {};
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return undefined;
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  return JSON.parse(text) as Record<string, unknown>;
}

async function restreamed(
  response: Response,
  toStream: ((answer: unknown) => Chunks) | undefined,
): Promise<Response> {
  const type = response.headers.get('content-type') ?? '';
  if (!toStream || !response.ok || !type.includes('json')) return response;
  return new Response(bytesOf(toStream(await response.json())), { headers: stream });
}

// Text is taken as it is; anything else is a chunk.
function bytesOf(chunks: Chunks): ReadableStream<Uint8Array> {
  const source =
    Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : iteratorOf(chunks);
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = (await source.next()) as IteratorResult<unknown, unknown>;
        if (done === true) controller.close();
        else if (value instanceof Uint8Array) controller.enqueue(value);
        else if (typeof value === 'string') controller.enqueue(encoder.encode(value));
        else controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`));
      },
      async cancel() {
        await source.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

function iteratorOf(chunks: unknown): Iterator<unknown> {
  if (typeof chunks === 'object' && chunks !== null && Symbol.iterator in chunks) {
    return (chunks as Iterable<unknown>)[Symbol.iterator]();
  }
  throw new MillraceError(
    'invalid_option',
    'createChatCompletionStream must give a Response, or chunks as an iterable or a stream.',
  );
}
