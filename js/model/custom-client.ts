// A vendor's own client in the place of HTTP: what it gives is read as the stream that the vendor would
// have sent.
import type { ErrorType } from '../../types/errors';
import { errorTypeRows } from '../error-types';
import { MillraceError } from '../errors';
import type { FactoryInstance } from './factory-options';
import type { ModelRuntimeOptions } from './runtime-options';

/** The chunks of an answer as the vendor's stream holds them. */
export type Chunks = AsyncIterable<unknown> | Iterable<unknown> | ReadableStream<unknown>;

/** What a client gives: chunks, a response, or the answer in one piece, as for `stream: false`. */
type Given = Chunks | Response | object;

export interface CustomClient {
  /** Makes the client of a runtime. */
  createClient: (options: ModelRuntimeOptions & FactoryInstance) => unknown;
  /**
   * Sends a chat, with the body that the vendor's API would have got; absent, `fetch` sends it. Everything
   * else goes by HTTP: the lists of models, embeddings, images, speech, and what fallbacks of other
   * vendors are asked.
   */
  createChatCompletionStream?:
    | ((
        client: unknown,
        body: Record<string, unknown>,
        call: FactoryInstance & { signal?: AbortSignal },
      ) => Given | Promise<Given>)
    | undefined;
}

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
  const asking: typeof fetch = async (url, init) => {
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
  return { ...options, fetch: asking };
}

// A fallback is another vendor, who has nothing to do with this one's client.
function isOwn(url: Parameters<typeof fetch>[0], baseURL: string): boolean {
  const target = url instanceof Request ? url.url : url;
  return !URL.canParse(baseURL) || new URL(target).origin === new URL(baseURL).origin;
}

// The answer that a vendor's client made an error of, as the engine reads it: clients tell its status, and mostly its
// body and headers. What tells neither a status nor LobeHub's class is thrown on.
function refusalOf(error: unknown): Response {
  const told = (error ?? {}) as Record<
    'status' | 'code' | 'type' | 'message' | 'error',
    unknown
  > & {
    headers?: unknown;
    errorType?: unknown;
  };
  const status = statusOf(told);
  if (status === undefined) throw error;
  const { code, type, message } = told;
  const inner = typeof told.error === 'object' && told.error !== null ? told.error : {};
  const body = { ...(code ? { code } : {}), ...(type ? { type } : {}), message, ...inner };
  return Response.json({ error: body }, { status, headers: { ...retryAfterOf(told.headers) } });
}

function statusOf({
  status,
  errorType,
}: {
  status?: unknown;
  errorType?: unknown;
}): number | undefined {
  if (Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599)
    return Number(status);
  const isClass = typeof errorType === 'string' && Object.hasOwn(errorTypeRows, errorType);
  return isClass ? errorTypeRows[errorType as ErrorType].status : undefined;
}

function retryAfterOf(headers: unknown): Record<string, string> {
  const find = (name: string): unknown =>
    headers instanceof Headers
      ? headers.get(name)
      : (headers as Record<string, unknown> | null | undefined)?.[name];
  const found = ['retry-after', 'retry-after-ms'].map((name) => [name, find(name)]);
  return Object.fromEntries(found.filter(([, value]) => typeof value === 'string')) as Record<
    string,
    string
  >;
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
  return new Response(bytesOf(toStream(await response.json()), endMark), { headers: stream });
}

// Text is taken as it is; anything else is a chunk. Chunks that ended without an error are all there are, which the
// vendor's stream says by its mark.
function bytesOf(chunks: Chunks, endMark: string): ReadableStream<Uint8Array> {
  const source =
    Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  const encoder = new TextEncoder();
  let isChunk = false;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = (await source.next()) as IteratorResult<unknown, unknown>;
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
    'createChatCompletionStream must give a Response, chunks as an iterable or a stream, or the answer ' +
      'in one piece as an object.',
  );
}
