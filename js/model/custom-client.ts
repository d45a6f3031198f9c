// A vendor's own client in the place of HTTP: what it gives is read as the stream that the vendor would
// have sent.
import { MillraceError } from '../errors';
import { shown } from '../shown';
import { blamed, recordOf, refusalOf } from './client-errors';
import type { Chunks, CustomClient, FactoryInstance, Given } from './factory-options';
import type { ModelRuntimeOptions } from './runtime-options';

const stream = { 'content-type': 'text/event-stream' };

/** The options with a fetch function that asks the client, where there is one. */
export function withSender(
  options: ModelRuntimeOptions,
  custom: CustomClient | undefined,
  toStream: ((answer: unknown) => Chunks) | undefined,
  instance: FactoryInstance,
  dialect: string,
): ModelRuntimeOptions {
  const create = custom?.createChatCompletionStream;
  if (!create && !toStream) return options;
  const send = options.fetch ?? fetch;
  const endMark = dialect === 'openai_chat' ? 'data: [DONE]\n\n' : '';
  const requesting: typeof fetch = async (url, init) => {
    if (!isOwn(url, instance.baseURL)) return send(url, init);
    const body = create && jsonOf(init);
    if (!create || !body) return restreamed(await send(url, init), toStream, endMark);
    const { signal } = init ?? {};
    let given: Given;
    try {
      given = await create(instance.client, body, { ...instance, ...(signal ? { signal } : {}) });
    } catch (error) {
      return refusalOf(error);
    }
    if (given instanceof Response) return restreamed(given, toStream, endMark);
    if (isChunks(given)) return new Response(bytesOf(given, endMark), { headers: stream });
    return restreamed(Response.json(wholeOf(given)), toStream, endMark);
  };
  return { ...options, fetch: requesting };
}

// A fallback is another vendor, who has nothing to do with this one's client.
function isOwn(url: Parameters<typeof fetch>[0], baseURL: string): boolean {
  const target = url instanceof Request ? url.url : url;
  return !URL.canParse(baseURL) || new URL(target).origin === new URL(baseURL).origin;
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
  endMark: string,
): Promise<Response> {
  const type = response.headers.get('content-type') ?? '';
  if (!toStream || !response.ok || !type.includes('json')) return response;
  const answer: unknown = await response.json();
  try {
    return new Response(bytesOf(toStream(answer), endMark), { headers: stream });
  } catch (error) {
    throw blamed(error);
  }
}

// Text is taken as it is; anything else is a chunk. Chunks that ended without an error are all there are, which the
// vendor's stream says by its mark; an error is its last record.
function bytesOf(chunks: Chunks, endMark: string): ReadableStream<Uint8Array> {
  const source =
    Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  const encoder = new TextEncoder();
  let isChunk = false;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        let item: IteratorResult<unknown, unknown>;
        try {
          item = await source.next();
        } catch (error) {
          controller.enqueue(encoder.encode(recordOf(error)));
          controller.close();
          return;
        }
        const { value, done } = item;
        if (done === true) {
          if (isChunk && endMark) controller.enqueue(encoder.encode(endMark));
          controller.close();
          return;
        }
        isChunk = typeof value !== 'string' && !(value instanceof Uint8Array);
        if (value instanceof Uint8Array) controller.enqueue(value);
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

function isChunks(given: Given): given is Chunks {
  return (
    typeof given === 'object' &&
    given !== null &&
    (Symbol.asyncIterator in given || Symbol.iterator in given)
  );
}

function wholeOf(given: unknown): object {
  if (typeof given === 'object' && given !== null) return given;
  throw new MillraceError(
    'invalid_option',
    'createChatCompletionStream must return a Response, chunks as an iterable or a stream, or the answer ' +
      `in one piece as an object, not ${shown(given)}.`,
  );
}
