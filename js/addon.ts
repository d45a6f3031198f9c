// What the addon gives, and the one of this environment.
import { openAddonFile } from './addon-file';

/** Turns a body's bytes into what a reader takes, on the calling thread. */
export interface NativePipe {
  feed(bytes: Uint8Array): string | Buffer | undefined;
  finish(): string | Buffer | undefined;
  take(): string | Buffer | undefined;
  /** The body broke; true when the output says so. */
  fail(code: string, message: string): boolean;
  /** True when the rest of the body is of no use. */
  done(): boolean;
}

/** An agent server on the engine's threads; it listens from its construction on. */
export interface NativeAgentServer {
  port(): number;
  /** Takes from other options what may change while the server runs; throws what is wrong with them, and changes nothing then. */
  change(optionsJson: string): void;
  /** What became of its MCP servers, as JSON text; see lib/app/mcp_servers.hpp. */
  mcpStatus(): string;
  /** What kept runs from being taken over since the last call, as JSON text. */
  takeProblems(): string;
  /** A stop waits for answers no longer. */
  expedite(): void;
  /** Headers for the server's requests, or a message that says why there are none. */
  answerMcp(name: string, headersJson: string, message: string): void;
  /** The skills of the agent from now on; "" is none. */
  setSkills(json: string): void;
  /** Calls back when the last connection is closed. */
  stop(done: () => void): void;
}

/** One step of an agent run; every call gives the JSON text of what is to be done next. */
export interface NativeAgentStep {
  begin(stateJson: string, contextJson: string, nowMs: number): string;
  execute(instructionJson: string, stateJson: string, contextJson: string, nowMs: number): string;
  complete(id: number, resultJson: string, nowMs: number): string;
  fail(id: number, errorJson: string, nowMs: number): string;
  progress(id: number, chunkJson: string): string;
  expire(nowMs: number): string;
  abort(reason: string, nowMs: number): string;
}

export type PipeKind = 'bytes' | 'payloads' | 'records' | 'events' | 'ag_ui';

/** Puts events in order and writes them as one AG-UI run. */
export interface NativeRun {
  push(eventsJson: string): Buffer | undefined;
  finish(): Buffer | undefined;
  fail(code: string, message: string): Buffer | undefined;
  take(): Buffer | undefined;
  ended(): boolean;
  /** Of the response that has the bytes. */
  contentType(): string;
}

/** Builds messages from events. */
export interface NativeFolder {
  feed(eventsJson: string): void;
  messages(): string;
}

/** A request as engineFetch takes it, and its body. */
export type NativeRequest = [requestJson: string, body: Buffer | undefined];

/** The beginning of an object as it arrives. */
export interface NativePartialJson {
  /** Gives the value so far as JSON text, "" while there is none. */
  feed(text: string): string;
}

/** What a model call requests of its host, and its output. */
export type ModelCallStep = [requestsJson: string | undefined, output: string | Buffer | undefined];

/** A model call whose requests JavaScript sends; see lib/host/model_call_pipe.hpp. */
export interface NativeModelCallPipe {
  start(): ModelCallStep;
  head(headJson: string): ModelCallStep;
  data(bytes: Uint8Array): ModelCallStep;
  /** The transfer ended; an empty code is a complete body. */
  done(code: string, message: string): ModelCallStep;
  timer(): ModelCallStep;
  complete(question: number, json: string): ModelCallStep;
  /** `wasSent` is false where nothing of the request went out. */
  stop(wasSent: boolean): ModelCallStep;
}

/**
 * What the addon exports. Options and errors cross as JSON text, payloads as strings and Buffers;
 * an error is thrown as a string (see errorFromNative).
 */
export interface Addon {
  readonly version: string;
  readonly AgentServer: new (optionsJson: string) => NativeAgentServer;
  readonly Pipe: new (kind: PipeKind, optionsJson: string) => NativePipe;
  readonly Folder: new () => NativeFolder;
  readonly AgentStep: new (optionsJson: string) => NativeAgentStep;
  readonly PartialJson: new () => NativePartialJson;
  readonly AgUiRun: new (optionsJson: string) => NativeRun;
  readonly ModelCallPipe: new (
    chainJson: string,
    payloadJson: string,
    optionsJson: string,
  ) => NativeModelCallPipe;

  /** The table of providers as JSON text; see providers_json in lib/model/provider/providers.hpp. */
  providers(): string;
  /** Throws what an agent server would not start with; it opens and listens to nothing. */
  checkServer(optionsJson: string): void;
  /** Whether a chat's payload has a member of this name that all dialects know. */
  isPayloadMember(name: string): boolean;
  /** What to call a text that is an HTML page; empty for any other. */
  htmlPage(text: string): string;
  /** The provider's id in the table, for settings that the engine takes. */
  checkProvider(settingsJson: string): string;

  /** The circuits of providers that failed lately, as JSON text. */
  providerCircuits(): string;

  /** Asks a pure function of the agent room by name, JSON text in and out. */
  agentAnswer(
    name: string,
    requestJson: string,
    nowMs: number,
    matchesRegex?: (pattern: string, text: string) => boolean | undefined,
  ): string;

  /** Messages in the shape of the format named, as JSON text; and back. */
  toApi(format: string, messagesJson: string): string;
  fromApi(format: string, dataJson: string): string;

  /** What a vendor reported, as the JSON text of a ModelUsage. */
  modelUsage(provider: string, reportedJson: string): string;
  /** JSON text, "" when the cost cannot be known. */
  chatCost(cardJson: string, usageJson: string, optionsJson: string): string;
  /** JSON text, "" when the cost cannot be known. */
  mediaCost(cardJson: string, workJson: string): string;
  /** US dollars by the built-in cards. */
  knownCost(provider: string, model: string, usageJson: string): number | undefined;
  modelCards(): string;
  /** JSON text, "" when there is none. */
  modelCard(provider: string, model: string): string;
  estimateTokens(text: string, model: string): number;
  /** The books of a run after one more call, as JSON text. */
  countLLM(json: string): string;
  countTool(json: string): string;
  countHuman(json: string): string;
  /** Provider -> its capabilities, as JSON text. */
  capabilities(): string;
  /** The request of a capability; see lib/model/capability/capability.hpp for the options. */
  buildCapability(name: string, settings: string, options: string, auth: string): NativeRequest;
  /** The request that asks whether the work is done. */
  buildPoll(name: string, settings: string, url: string, auth: string): NativeRequest;
  /** The request for a token, where the provider's calls need one. */
  tokenRequest(
    name: string,
    settings: string,
    options: string,
    auth: string,
  ): NativeRequest | undefined;
  readToken(name: string, settings: string, body: string, status: number): string;
  /** A poll address or a wait above 0 says that the work is not done; a list may go on at another page. */
  readCapability(
    name: string,
    settings: string,
    options: string,
    contentType: string,
    body: Uint8Array,
  ): [
    json: string,
    audio: Buffer | undefined,
    pollUrl: string | undefined,
    pollAfterMs: number,
    nextPage: string | undefined,
    notesJson: string,
  ];
  /** Throws what an answer without a good status means. */
  failCapability(name: string, settings: string, head: string, body: Uint8Array): never;
  networkError(settings: string, error: string, url: string): never;
  /** How many texts one embeddings request takes; 0: any number. */
  textsInOneRequest(name: string, settings: string, options: string): number;

  /** The name of a slash command whose declaration is valid; throws what is wrong with it. */
  checkCommand(declaration: string): string;

  /** How a provider is asked for an object; see lib/model/schema/object.hpp. */
  planObject(settings: string, request: string): string;
  /** What an answer is worth. */
  judgeObject(plan: string, answer: string, validate: boolean): Promise<string>;

  /**
   * Carries out a command on a store (lib/app/store_commands.hpp) on a thread of its own. `report` is called with
   * how many rows long work has come through, and once with the result or the error as JSON text.
   */
  storeCommand(
    optionsJson: string,
    report: (rows?: number, resultJson?: string, errorJson?: string) => void,
  ): void;

  /**
   * Starts the engine of this environment; does nothing when it runs. `defer` calls a function in the next turn of the
   * event loop. `renew` makes a Buffer that can be transferred of one over memory of the engine; without it bytes are copied.
   */
  startEngine(
    optionsJson: string,
    defer: (next: () => void) => void,
    renew?: (given: Buffer) => Buffer,
  ): void;
  /** Starts a request; `deliver` is called once with the head of the answer, or with its error. */
  request(optionsJson: string, body: string | Uint8Array | undefined, deliver: Deliver): number;
  /** Starts a model call: a stream whose output has the shape that its options ask for. */
  startModelCall(
    chainJson: string,
    payloadJson: string,
    optionsJson: string,
    deliver: Deliver,
  ): number;
  /** Starts an MCP client; see lib/host/mcp_stream.hpp for its options, items and commands. */
  startMcpClient(optionsJson: string, deliver: Deliver): number;
  command(stream: number, name: string, id: number, text: string, options: string): void;
  /** Makes the engine's own tools: JSON text of their number and what a model is told of them. */
  builtinTools(optionsJson: string): string;
  /** Runs one of them; the head of the stream is its outcome. */
  runTool(toolset: number, name: string, argumentsJson: string, deliver: Deliver): number;
  /** Tools of an MCP server as agents take them; see native/tools.cpp for the JSON texts. */
  describeMcpTools(rulesJson: string): string;
  /** Which tools a policy lets through, by all names that each has; JSON text of booleans. */
  allowedTools(policyJson: string, namesJson: string): string;
  /** What a model reads of the result of an MCP tool; cut at 256 KiB or the limit. */
  mcpResultText(resultJson: string, limit?: number): string;
  /** Foreign text that can stand in a conversation as data; cut at 256 KiB or the limit. */
  resultText(text: string, limit?: number): string;
  /** The text with the hosts of its URLs, and of a failed lookup, as `***`. */
  withoutHosts(text: string): string;
  /** What of these headers is secret, by their names: a JSON list of strings. */
  carriedSecrets(headersJson: string): string;
  /** The sources that a citation names, as JSON text in LobeHub's shape; both are JSON texts. */
  sourcesOf(citationJson: string): string;
  /** Starts an agent's run; see lib/host/agent_stream.hpp for the texts and the items. */
  startAgent(planJson: string, inputJson: string, optionsJson: string, deliver: Deliver): number;
  /** The bytes of a run that waits to begin, but its RUN_STARTED; the options are those of AgUiRun. */
  agentBytes(stream: number, optionsJson: string, deliver: Deliver): number;
  /** Opens a runtime of durable runs; see lib/host/runtime_stream.hpp for its options, items and commands. */
  startRuntime(optionsJson: string, deliver: Deliver): number;
  /** Makes runs of the name possible, and goes on with those that were left. */
  runtimeAgent(
    runtime: number,
    name: string,
    planJson: string,
    version: string,
    settingsJson: string,
  ): void;
  /** The same for a function of this process; `onRestart` is 'rerun', "", or 'enter' for a job. */
  runtimeFunction(
    runtime: number,
    name: string,
    onRestart: string,
    version: string,
    settingsJson: string,
  ): void;
  /** Ends the process after the commit of the `count`th record of a kind, with this name unless that is ""; see lib/run/durable/crash_point.hpp. */
  crashAfter(kind: string, name: string, count: number): void;
  /** Begins a durable run, of a function where the plan is "", or reads one where the input is "" as well; see lib/host/run_stream.hpp. */
  startRun(
    runtime: number,
    planJson: string,
    inputJson: string,
    optionsJson: string,
    deliver: Deliver,
  ): number;
  /** The bytes of an AG-UI response of a durable run; see lib/host/run_bytes.hpp. */
  runBytes(
    runtime: number,
    planJson: string,
    inputJson: string,
    optionsJson: string,
    deliver: Deliver,
  ): number;
  /** Answers a request by the routes of a runtime; see lib/host/fetch_stream.hpp. */
  fetchRoute(
    runtime: number,
    headJson: string,
    body: Uint8Array | undefined,
    deliver: Deliver,
  ): number;
  /** A piece of the body that a request waits for; undefined is its end. */
  feedRoute(stream: number, body: Uint8Array | undefined): void;
  /** Whether a stream that is always read keeps the process alive. */
  keepAlive(stream: number, isOn: boolean): void;
  /** JSON text of sentences: which keys are missing. Throws what is wrong with the plan. */
  checkAgent(planJson: string): string;
  /** How many runs wait for the user at most, and how long: JSON text of `{ runs, lifetimeMs }`. */
  suspendedLimits(): string;
  /** AG-UI's AgentCapabilities of an agent's plan, as JSON text. */
  agentCapabilities(planJson: string, version: string): string;
  /** The address of the demo model, which starts with the first call. */
  demoModel(): string;
  /** Ends a model call or a run as cancelled; what it has to say about that is still delivered. */
  stopModelCall(stream: number): void;
  /** Answers a question to user code; "" leaves things as they are. */
  completeHook(stream: number, question: number, json: string): void;
  /** Says what the body of a stream becomes; before the first take. */
  readAs(stream: number, kind: PipeKind, optionsJson: string): void;
  /** Calls `deliver` with what is there and gives true, or gives false and does so later. */
  take(stream: number): boolean;
  /** Closes the connection; `deliver` is not called again. */
  cancel(stream: number): void;
}

/**
 * Takes over what a stream produced; `end` is "" or the JSON text of an error. True asks for more:
 * it is as good as another take().
 */
export type Deliver = (head?: string, data?: string | Buffer, end?: string) => boolean;

let opened: Addon | undefined;

/** The addon of this environment, opened with the first call. */
export function addon(): Addon {
  opened ??= openAddonFile() as Addon;
  return opened;
}
