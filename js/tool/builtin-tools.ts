// The engine's own tools, as tools of the host: arguments go to the engine's thread, outcomes come back.
import type {
  AgentToolContext,
  DynamicIntervention,
  HumanInterventionConfig,
} from '../../types/agent';
import { noListener, onAbort, throwIfAborted } from '../abort';
import { MillraceError, errorFromNative, rethrow } from '../errors';
import { shown } from '../shown';
import type { AddressGuard } from '../transport/engine';
import { engine } from '../transport/engine';
import { inEngine } from './engine-tools';
import type { RunnableTool, ToolEffect } from './types';

interface Approval {
  /** Whether a person is asked before the call. */
  approval?: boolean | HumanInterventionConfig | DynamicIntervention;
}

interface WebOptions extends AddressGuard, Approval {
  /** Of the answer; what is longer is cut. 1 MiB when absent. */
  maxBytes?: number | undefined;
  /** Milliseconds for the whole call; 30,000 when absent. */
  timeoutMs?: number | undefined;
  userAgent?: string | undefined;
}

export interface HttpFetchOptions extends WebOptions {
  /** `['GET']` when absent. With one that writes, a person is asked before each call. */
  methods?: ('GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE')[] | undefined;
}

export type ReadPageOptions = WebOptions;

export interface WebSearchOptions extends Approval {
  provider?: 'searxng' | 'tavily' | 'brave' | undefined;
  /** Where the service is; SearXNG has no address of its own. */
  url?: string | undefined;
  apiKey?: string | undefined;
  /** 5 when absent, 20 at most. */
  maxResults?: number | undefined;
  timeoutMs?: number | undefined;
}

export interface FilesOptions extends Approval {
  /** The folder below which all files are. Links are not followed. */
  root: string;
  /** Adds `write_file`, which a person has to approve unless `approval` says otherwise. */
  write?: boolean | undefined;
  /** Of one call; 256 KiB when absent. */
  maxBytes?: number | undefined;
}

export interface RunProcessOptions extends Approval {
  /** The programs that may be run; any when absent. */
  programs?: string[] | undefined;
  /** Where they run; the application's own working directory when absent. */
  directory?: string | undefined;
  /** Besides a plain PATH; nothing else is inherited. */
  environment?: Record<string, string> | undefined;
  /** 60,000 when absent; then the whole process group is ended. */
  timeoutMs?: number | undefined;
  /** Of the output; 64 KiB when absent. */
  maxBytes?: number | undefined;
}

/** Which of the engine's tools an agent gets. */
export interface BuiltinToolsOptions {
  /** `time`: date and time in a zone of the IANA database. */
  time?: boolean | ({ zone?: string } & Approval) | undefined;
  /** `calculator`: arithmetic, by a grammar of its own. */
  calculator?: boolean | Approval | undefined;
  /** `http_fetch`: requests to the public internet. */
  httpFetch?: boolean | HttpFetchOptions | undefined;
  /** `read_page`: title and text of a web page. */
  readPage?: boolean | ReadPageOptions | undefined;
  /** `web_search`: results become citations. */
  webSearch?: WebSearchOptions | undefined;
  /** `read_file`, `list_files`, `write_file`. */
  files?: FilesOptions | undefined;
  /** `run_process`: a program without a shell; a person approves each call unless `approval` says otherwise. */
  runProcess?: boolean | RunProcessOptions | undefined;
  /** Patterns of names with `*`: exactly these, when there are any; `expose` does not count then. */
  allow?: string[] | undefined;
  /** Patterns of names with `*`: only these are exposed. */
  expose?: string[] | undefined;
  /** Patterns of names that are never exposed. */
  deny?: string[] | undefined;
}

/** A source that an answer can name. */
export interface Citation {
  title: string;
  url: string;
  snippet?: string;
  date?: string;
}

/** How a call of a builtin tool ended; failures are results, too. */
export interface BuiltinToolResult {
  content: string;
  success: boolean;
  error?: { type: string; message: string };
  citations?: Citation[];
}

interface Toolset {
  id: number;
  tools: {
    name: string;
    description: string;
    parameters: object;
    effect: ToolEffect;
    approval: HumanInterventionConfig;
    timeoutMs: number;
    resultLimit: number;
    serializeBy?: string;
  }[];
}

/**
 * Makes tools that the engine runs off the main thread, for `createAgentToolsEngine` and agents.
 * Throws `invalid_option` for options that cannot be used.
 */
export function builtinTools(
  options: BuiltinToolsOptions,
): RunnableTool<Record<string, unknown>, Promise<BuiltinToolResult>>[] {
  let set: Toolset;
  try {
    set = JSON.parse(engine().builtinTools(textOf(options))) as Toolset;
  } catch (error) {
    rethrow(error);
  }
  return set.tools.map(({ parameters, ...reported }) =>
    inEngine(
      {
        ...reported,
        input: parameters,
        run: (input: Record<string, unknown>, context?: Partial<AgentToolContext>) =>
          call(set.id, reported.name, input, context?.signal),
      },
      { set: set.id, name: reported.name },
    ),
  );
}

/** The tool by which models load skills, of places as lib/tool/builtin/skills.cpp takes them. @internal */
export function skillTools(list: object[]): ReturnType<typeof builtinTools> {
  return builtinTools({ skills: { list } } as BuiltinToolsOptions);
}

// JSON would carry a limit that is no number, and whatever is no data, as if it were absent.
function textOf(options: BuiltinToolsOptions): string {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new MillraceError(
      'invalid_option',
      `The builtin tools must be an object such as { calculator: true }, not ${shown(options)}.`,
    );
  }
  return JSON.stringify(options, (name, value: unknown) => {
    if (value === Infinity) return Number.MAX_SAFE_INTEGER;
    const isData =
      typeof value === 'number'
        ? Number.isFinite(value)
        : typeof value !== 'function' && typeof value !== 'bigint' && typeof value !== 'symbol';
    if (isData) return value;
    throw new MillraceError(
      'invalid_option',
      `\`${name}\` of a builtin tool must be plain data, not ${shown(value)}.`,
    );
  });
}

function call(
  toolset: number,
  name: string,
  input: unknown,
  signal: AbortSignal | undefined,
): Promise<BuiltinToolResult> {
  return new Promise((resolve, reject) => {
    throwIfAborted(signal);
    const native = engine();
    let settled = noListener;
    const abort = () => {
      native.cancel(stream);
      reject(signal?.reason as Error);
    };
    const deliver = (head?: string, _data?: unknown, end?: string): boolean => {
      if (head !== undefined) resolve(JSON.parse(head) as BuiltinToolResult);
      if (end !== undefined) {
        settled();
        if (end !== '') reject(errorFromNative(end));
      }
      return false;
    };
    let stream: number;
    try {
      stream = native.runTool(toolset, name, JSON.stringify(input ?? {}), deliver);
    } catch (error) {
      rethrow(error);
    }
    settled = onAbort(signal, abort);
  });
}
