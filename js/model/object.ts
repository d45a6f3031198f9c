// Structured output: an object that follows a schema, from whatever a model and its vendor can do.
import type {
  DeepPartial,
  GenerateObjectOptions,
  GenerateObjectRequest,
  ObjectSchema,
  StandardSchema,
  ToolArguments,
} from '../../types/objects';
import { addon } from '../addon';
import { MillraceError, rethrow } from '../errors';
import { shown } from '../shown';
import { isStandard, jsonSchemaOf } from '../standard-schema';
import type { GatheredAnswer, ObjectRunSource } from './gathered-answer';
import { rejectsFormat } from './format-refusals';
import { gathered, replayBufferSizeOf } from './gathered-answer';
import { cutAnswer, pathOf, rejectedAnswer, repairOf, shownLength } from './object-answers';

/** Whose chats ask for the object. */
export interface ObjectHost {
  /** The settings as the engine reads them. */
  readonly settings: object;
  stream(payload: object, options: object): ObjectRunSource;
}

interface Plan {
  mode: 'schema' | 'tool' | 'json';
  name: string;
  wrapped: boolean;
  payload: {
    response_format?: { json_schema?: { schema: object } };
    tools?: { function: { parameters: object } }[];
  };
  instruction?: string;
}

/** What a factory adds to the options. */
export interface ObjectChanges {
  /** Changes the schema as it would be sent. */
  changeSchema?: ((schema: Record<string, unknown>) => Record<string, unknown>) | undefined;
}

interface ModelAnswer {
  text: string;
  isCut: boolean;
  isRefusal: boolean;
}

// An object with problems can be used, but is worth a repair.
type Verdict =
  | { object: unknown; problems?: string; repair?: object[] }
  | { problems: string; repair: object[] };

const defaultRepairs = 1;
const mostRepairs = 3;
const repeatedByTool =
  'The server takes no JSON Schema for its answers: the object was asked for again, by a tool.';
const giveBoth = 'give both: schema: { schema: validator, jsonSchema }';

/** Asks for an object, or for tool calls when the request has `tools` and no schema. */
export async function generateObject(
  host: ObjectHost,
  request: GenerateObjectRequest,
  options: GenerateObjectOptions = {},
): Promise<unknown> {
  const { schema, tools } = request;
  if (tools !== undefined && (schema ?? undefined) === undefined) {
    return generateToolCalls(host, request, options);
  }
  return new ObjectRun(host, request, options).object();
}

/** Asks for an object and shows it while it arrives. */
export function streamObject<T = unknown>(
  host: ObjectHost,
  request: GenerateObjectRequest,
  options: GenerateObjectOptions = {},
): ObjectRun<T> {
  return new ObjectRun<T>(host, request, options);
}

/**
 * An object on its way. Iterating gives it as far as it has come: each value is new, and holds nothing
 * that the model did not write. `object()` is the whole and valid one. The model is asked once, when the
 * run is made, and again only to repair an answer that does not follow the schema.
 */
export class ObjectRun<T = unknown> implements AsyncIterable<DeepPartial<T>> {
  readonly #host: ObjectHost;
  readonly #request: GenerateObjectRequest;
  readonly #options: GenerateObjectOptions;
  readonly #schema: ReadySchema;
  #planJson: string;
  #plan: Plan;
  readonly #object: Promise<T>;
  // The answer on its way, for those who iterate; they alone pay for reading what is not whole.
  #answerSoFar: GatheredAnswer | undefined;
  #shown: unknown;
  #over = false;
  #stopped = false;
  #wake: (() => void)[] = [];
  #run: ObjectRunSource | undefined;

  constructor(host: ObjectHost, request: GenerateObjectRequest, options: GenerateObjectOptions) {
    checkTools(request);
    this.#host = host;
    this.#request = request;
    this.#options = options;
    this.#schema = readSchema(request.schema);
    this.#planJson = planOf(host, request, this.#schema);
    this.#plan = readPlan(this.#planJson, options as ObjectChanges);
    this.#object = this.#generate().finally(() => {
      this.#over = true;
      this.#notify();
    });
    // Who only iterates must not see an unhandled rejection.
    this.#object.catch(() => undefined);
  }

  /** The object, once it is whole and follows the schema. */
  object(): Promise<T> {
    return this.#object;
  }

  /** Ends the call. */
  stop(): void {
    this.#stopped = true;
    this.#run?.stop();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<DeepPartial<T>, void> {
    for (;;) {
      if (this.#hasChanged()) {
        yield this.#shown as DeepPartial<T>;
      } else if (this.#over) {
        yield (await this.#object) as DeepPartial<T>;
        return;
      } else {
        await new Promise<void>((resolve) => this.#wake.push(resolve));
      }
    }
  }

  async #generate(): Promise<T> {
    const { repairs = defaultRepairs } = this.#options;
    const rounds = Math.min(Math.max(repairs, 0), mostRepairs);
    let messages = this.#messages();
    for (let round = 0; ; round += 1) {
      const given = this.#answer(messages).catch((e: unknown) => this.#byTool(e, messages));
      const { text: answer, isCut, isRefusal } = await given;
      if (isRefusal) throw rejectedAnswer(answer);
      const verdict = await this.#judge(answer);
      // Asked again it would be cut again.
      if (isCut && !('object' in verdict)) throw cutAnswer(answer);
      const last = round >= rounds;
      if ('object' in verdict && (last || verdict.repair === undefined)) return verdict.object as T;
      if (last) {
        throw new MillraceError(
          'invalid_object',
          `The answer does not follow the schema: ${verdict.problems}`,
          { detail: answer.slice(0, shownLength) },
        );
      }
      if (this.#stopped) throw new MillraceError('cancelled', 'The call was stopped.');
      messages = [...messages, ...(verdict.repair ?? [])];
    }
  }

  #messages(): object[] {
    const { instruction } = this.#plan;
    const { messages } = this.#request;
    return instruction === undefined
      ? [...messages]
      : [{ role: 'system', content: instruction }, ...messages];
  }

  // The text of the answer, or the arguments of the tool that stands for it.
  async #answer(messages: object[]): Promise<ModelAnswer> {
    const { model, schema, tools, name, mode, ...rest } = this.#request;
    void [schema, tools, name, mode];
    const { onUsage, onNotes, ...options } = callOptions(this.#options);
    const payload = payloadOf({ ...rest, model, messages, ...this.#plan.payload });
    const run = this.#host.stream(payload, options);
    this.#run = run;
    const answer = await gathered(run, replayBufferSizeOf(options), (soFar) => {
      this.#answerSoFar = soFar;
      this.#notify();
    });
    onUsage?.(await run.usage);
    await reportNotes(run, onNotes);
    const { isCut, isRefusal, calls } = answer;
    return { text: answer.object.text, isCut, isRefusal: isRefusal && calls.length === 0 };
  }

  // A server that takes no schema may take a tool.
  #byTool(error: unknown, messages: object[]): Promise<ModelAnswer> {
    const isOpen = this.#plan.mode === 'schema' && (this.#request.mode ?? 'auto') === 'auto';
    if (!isOpen || this.#stopped || !rejectsFormat(error)) throw error;
    this.#options.onNotes?.([repeatedByTool]);
    const request = { ...this.#request, mode: 'tool' as const };
    this.#planJson = planOf(this.#host, request, this.#schema);
    this.#plan = readPlan(this.#planJson, this.#options as ObjectChanges);
    return this.#answer(messages);
  }

  // Reads the object as far as it has come; false when there is nothing new to show.
  #hasChanged(): boolean {
    const json = this.#answerSoFar?.partial() ?? '';
    if (json === '') return false;
    const value = JSON.parse(json) as unknown;
    const inner = this.#plan.wrapped ? (value as { value?: unknown }).value : value;
    if (inner === undefined) return false;
    this.#shown = inner;
    return true;
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  async #judge(answer: string): Promise<Verdict> {
    const { standard } = this.#schema;
    let text: string;
    try {
      text = await addon().judgeObject(this.#planJson, answer, standard === undefined);
    } catch (error) {
      rethrow(error);
    }
    const verdict = JSON.parse(text) as Verdict;
    if (!standard || !('object' in verdict)) return verdict;
    const result = await standard.validate(verdict.object);
    // User code may give what its type does not know.
    if (typeof result !== 'object' || (result as unknown) === null) {
      throw new MillraceError(
        'invalid_argument',
        `The validator of the schema must return an object with value or issues, not ${shown(result)}.`,
      );
    }
    if (!result.issues) return { object: result.value };
    const problems = result.issues.map(({ path, message }) => `${pathOf(path)}: ${message}`);
    return { problems: problems.join('\n'), repair: repairOf(answer, problems.join('\n')) };
  }
}

// A schema's answer is an object and that of tools their calls: one of the two would be lost without a word.
function checkTools({ tools, schema }: GenerateObjectRequest): void {
  if ((tools ?? []).length === 0) return;
  throw new MillraceError(
    'invalid_argument',
    schema
      ? '`schema` and `tools` cannot be used together: with a schema the result is an object, with tools their calls. ' +
          'Leave one of them out, or let an agent call the tools first.'
      : 'streamObject() needs a `schema`; use generateObject() for the calls of `tools`.',
  );
}

async function generateToolCalls(
  host: ObjectHost,
  request: GenerateObjectRequest,
  given: GenerateObjectOptions,
): Promise<ToolArguments[]> {
  const { onUsage, onNotes, ...options } = callOptions(given);
  const run = host.stream(payloadOf({ tool_choice: 'required', ...request }), options);
  const answer = await gathered(run, replayBufferSizeOf(options), () => undefined);
  onUsage?.(await run.usage);
  await reportNotes(run, onNotes);
  if (answer.isRefusal && answer.calls.length === 0) throw rejectedAnswer(answer.text.text);
  return answer.calls.map(({ name, arguments: { text: json } }) => {
    try {
      return { name, arguments: JSON.parse(json === '' ? '{}' : json) as unknown };
    } catch (cause) {
      if (answer.isCut) throw cutAnswer(json);
      throw new MillraceError('invalid_object', `The arguments of '${name}' are not JSON.`, {
        detail: json.slice(0, shownLength),
        cause,
      });
    }
  });
}

async function reportNotes(
  run: ObjectRunSource,
  onNotes: GenerateObjectOptions['onNotes'],
): Promise<void> {
  const notes = (await run.report)?.notes ?? [];
  if (notes.length > 0) onNotes?.([...notes]);
}

// What a chat takes of the options.
function callOptions({
  repairs,
  headers,
  changeSchema,
  ...options
}: GenerateObjectOptions & ObjectChanges): Pick<GenerateObjectOptions, 'onUsage' | 'onNotes'> {
  void [repairs, changeSchema];
  if (!headers) return options;
  const { requestHeaders } = options as { requestHeaders?: object };
  return { ...options, requestHeaders: { ...headers, ...requestHeaders } } as object;
}

// LobeHub's word for the Responses API.
function payloadOf({ responseApi, ...payload }: Record<string, unknown>): object {
  return responseApi === true ? { apiMode: 'responses', ...payload } : payload;
}

interface ReadySchema {
  /** Undefined: the model gets none, and the validator alone checks. */
  json: object | undefined;
  /** Validates instead of the JSON Schema. */
  standard: StandardSchema['~standard'] | undefined;
}

// A JSON Schema, { name, schema } of LobeHub and OpenAI, or a validator of the Standard Schema interface
// with or without its JSON Schema beside it.
function readSchema(given: ObjectSchema | undefined): ReadySchema {
  const schema: unknown = given;
  if (isStandard(schema))
    return { json: jsonSchemaOf(schema, giveBoth), standard: schema['~standard'] };
  if (typeof schema !== 'object' || schema === null) {
    throw new MillraceError(
      'invalid_argument',
      `generateObject() needs \`schema\`: a JSON Schema or a Standard Schema validator, not ${shown(schema)}.`,
    );
  }
  const { schema: inner, jsonSchema } = schema as { schema?: unknown; jsonSchema?: unknown };
  if (isStandard(inner)) {
    const json = typeof jsonSchema === 'object' && jsonSchema !== null;
    return {
      json: json ? jsonSchema : jsonSchemaOf(inner, giveBoth),
      standard: inner['~standard'],
    };
  }
  const isInner = typeof inner === 'object' && inner !== null && !('type' in schema);
  return { json: isInner ? inner : schema, standard: undefined };
}

function planOf(
  host: ObjectHost,
  request: GenerateObjectRequest,
  { json, standard }: ReadySchema,
): string {
  const given = request.schema as { name?: unknown; description?: unknown; strict?: unknown };
  const outer = 'schema' in (given as object) ? given : {};
  try {
    const text = JSON.stringify({
      model: request.model,
      schema: json ?? {},
      name: request.name ?? outer.name,
      description: outer.description,
      strict: outer.strict,
      validate: standard === undefined,
      mode: json === undefined && request.mode !== 'tool' ? 'json' : request.mode,
    });
    return addon().planObject(JSON.stringify(host.settings), text);
  } catch (error) {
    if (error instanceof TypeError) {
      throw new MillraceError('invalid_schema', `The schema is not JSON: ${firstLine(error)}.`, {
        cause: error,
      });
    }
    rethrow(error);
  }
}

// The answer is judged by the schema that was asked for, whatever a factory makes of it.
function readPlan(json: string, { changeSchema: change }: ObjectChanges): Plan {
  const plan = JSON.parse(json) as Plan;
  const format = plan.payload.response_format?.json_schema;
  const tool = plan.payload.tools?.[0]?.function;
  if (format && change) format.schema = change(format.schema as Record<string, unknown>);
  if (tool && change) tool.parameters = change(tool.parameters as Record<string, unknown>);
  return plan;
}

function firstLine({ message }: Error): string {
  return message.split('\n', 1)[0] as string;
}
