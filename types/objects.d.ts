// Structured output.
// Source: Standard Schema 1.0 (`~standard`), LobeHub's model runtime (generateObject).
import type { ModelUsage } from './chat-stream';
import type { ObjectJsonSchema } from './json-schema';
import type { MessageInput } from './messages';
import type { ChatMessage } from './model';

/** What zod, valibot, arktype and others have in common. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: number;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Gives the JSON Schema, where a validator has it. */
    readonly jsonSchema?: { input?: (options: { target: string }) => unknown } | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/**
 * A JSON Schema; a validator; a validator with its JSON Schema beside it; or a named schema. The JSON Schema
 * of a validator comes from itself (zod 4, arktype) or from `@valibot/to-json-schema` or
 * `zod-to-json-schema` where that is installed; of any other validator the model is told nothing.
 */
export type ObjectSchema =
  | StandardSchema
  | { schema: StandardSchema; jsonSchema?: object; name?: string; description?: string }
  | { schema: object; name?: string; description?: string; strict?: boolean }
  | ObjectJsonSchema
  | Record<string, unknown>;

interface ObjectRequest {
  model: string;
  /** As `chat` and `stream` take them. */
  messages: readonly (ChatMessage | MessageInput)[];
  /** Instead of a schema: the calls that the model makes of these are the result. Both together are refused. */
  tools?: readonly object[] | undefined;
  /** Of the object, for the provider; letters, digits, `_` and `-`. */
  name?: string | undefined;
  /**
   * How the provider is asked. `schema`: its constrained decoding; `tool`: a tool whose arguments are the
   * object; `json`: any JSON, the schema told in a message. Default: the best that it has.
   */
  mode?: 'auto' | 'schema' | 'tool' | 'json' | undefined;
  /** Ask by the Responses API, where the provider has it. */
  responseApi?: boolean | undefined;
  /** Further members of the chat's payload: temperature, max_tokens, ... */
  [member: string]: unknown;
}

export interface GenerateObjectRequest extends ObjectRequest {
  schema?: ObjectSchema | undefined;
}

export interface GenerateObjectOptions {
  signal?: AbortSignal | null | undefined;
  /** How often a wrong answer is sent back to be corrected; default 1, at most 3. */
  repairs?: number | undefined;
  /** Told of the tokens of each request. */
  onUsage?: ((usage: ModelUsage) => void) | undefined;
  /** Told what was left out or changed for the provider, and that a request was repeated in another way. */
  onNotes?: ((notes: string[]) => void) | undefined;
  /** Sent to the provider, as `requestHeaders` are; LobeHub's word. */
  headers?: Record<string, string> | undefined;
  /** Further options of `stream`. */
  [member: string]: unknown;
}

/** What a validator makes of a value. */
export type OutputOf<Schema extends StandardSchema> = NonNullable<
  Schema['~standard']['types']
>['output'];

/** A request whose result has the type of its validator. */
export interface ValidatedRequest<Schema extends StandardSchema> extends ObjectRequest {
  schema:
    | Schema
    | {
        schema: Schema;
        jsonSchema?: object;
        name?: string;
        description?: string;
        strict?: boolean;
      };
}

/** A request whose result has the type that its JSON Schema describes. */
export interface DescribedRequest<Schema extends ObjectJsonSchema> extends ObjectRequest {
  schema: Schema | { schema: Schema; name?: string; description?: string; strict?: boolean };
}

/** A value while it arrives: whatever of it may be missing. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? DeepPartial<Item>[]
  : T extends object
    ? { [Key in keyof T]?: DeepPartial<T[Key]> }
    : T;

/** A call that a model made. */
export interface ToolArguments {
  name: string;
  arguments: unknown;
}
