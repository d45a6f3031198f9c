// Tools of the host as users give them.
import type { AgentToolContext, HumanInterventionConfig } from '../../types/agent';
import type { ObjectJsonSchema, ValueOf } from '../../types/json-schema';
import type { StandardSchema } from '../../types/objects';
import type { VendorToolDefinition, VendorToolInput } from '../../types/vendor-tools';

/** What a repeated call may do: it decides whether a call is ever run again. */
export type ToolEffect = 'read' | 'idempotent' | 'keyed' | 'once';

/** A tool of the host. */
export interface HostTool<Input = never> {
  name: string;
  description?: string | undefined;
  /** JSON Schema, or a schema of a library that follows Standard Schema. */
  input?: object | StandardSchema<Input> | undefined;
  /**
   * The vendor's own object of a tool that a vendor defines (`{ type: 'bash_20250124', name: 'bash' }`), in place of
   * `description` and `input`.
   */
  vendor?: VendorToolDefinition | undefined;
  /** `once` when absent. */
  effect?: ToolEffect | undefined;
  /** Whether a person is asked before the call; never when absent. */
  approval?: boolean | HumanInterventionConfig | undefined;
  /** Milliseconds that one call may take; 5 minutes when absent, 0 for no limit. */
  timeoutMs?: number | undefined;
  /** Bytes of its result that a model is shown; 256 Ki when absent. What is longer is cut and says so. */
  resultLimit?: number | undefined;
  /**
   * How often a call is tried again whose error says `retryable: true`; 2 when absent, 5 at most. A
   * tool of effect `once` never is.
   */
  retries?: number | undefined;
  /** Calls of one turn run one after the other. */
  ordered?: boolean | undefined;
  /** So do calls whose argument of this name is equal. */
  serializeBy?: string | undefined;
  run(input: Input, context: AgentToolContext): unknown;
}

/** A tool whose input has the type that its JSON Schema describes. */
export type DescribedTool<Schema extends ObjectJsonSchema> = Omit<
  HostTool<ValueOf<Schema>>,
  'input'
> & { input: Schema };

/** A tool that a vendor defines and the host runs; its name is the vendor's. */
export type VendorHostTool<Vendor extends VendorToolDefinition = VendorToolDefinition> = Omit<
  HostTool<VendorToolInput<Vendor>>,
  'name' | 'description' | 'input' | 'vendor'
> & { vendor: Vendor; name?: string | undefined };

/** A tool that can be called by itself, too: `run(input)`. */
export interface RunnableTool<Input = never, Output = unknown> extends HostTool<Input> {
  run(input: Input, context?: Partial<AgentToolContext>): Output;
}

/** A tool whose name is its key in a record of tools. */
export type UnnamedTool<Input = never> = Omit<HostTool<Input>, 'name'> & { name?: undefined };

/** Tools as they are given: a list, or a record or map, whose keys are the names. */
export type HostTools =
  | readonly (HostTool | string)[]
  | Readonly<Record<string, HostTool | UnnamedTool>>
  | ReadonlyMap<string, HostTool | UnnamedTool>;
