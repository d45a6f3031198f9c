// Tools that a vendor defines and the host runs, as they stand in the `tools` of the vendor's requests.

/** OpenAI's, in the Responses API. */
export interface OpenAIVendorTool {
  type: 'computer_use_preview' | 'computer' | 'shell' | 'local_shell' | 'apply_patch';
  [member: string]: unknown;
}

/** Anthropic's: a family and a date. */
export interface AnthropicVendorTool {
  type: `${'bash' | 'text_editor' | 'computer' | 'memory'}_${number}`;
  /** Of the calls. */
  name: string;
  [member: string]: unknown;
}

export type VendorToolDefinition = OpenAIVendorTool | AnthropicVendorTool;

/** Of `shell`: the commands run one after the other or beside each other. */
export interface ShellInput {
  commands: string[];
  timeout_ms?: number | null;
  max_output_length?: number | null;
  [member: string]: unknown;
}

/** Of `local_shell`. */
export interface LocalShellInput {
  type: 'exec';
  command: string[];
  env?: Record<string, string>;
  timeout_ms?: number | null;
  user?: string | null;
  working_directory?: string | null;
  [member: string]: unknown;
}

/** Of `apply_patch`: one file. */
export interface ApplyPatchInput {
  type: 'create_file' | 'update_file' | 'delete_file';
  path: string;
  /** Absent where the file is deleted. */
  diff?: string;
  [member: string]: unknown;
}

/** Of Anthropic's bash. */
export interface BashInput {
  command?: string;
  restart?: boolean;
  [member: string]: unknown;
}

/** Of Anthropic's text editor and memory. */
export interface FileCommandInput {
  /** `view`, `create`, `str_replace`, `insert`, `delete`, `rename` */
  command: string;
  path?: string;
  [member: string]: unknown;
}

/** Of OpenAI's computer, one action or a list of them, and of Anthropic's, whose `action` is a word. */
export interface ComputerInput {
  type?: string;
  action?: string;
  actions?: { type: string; [member: string]: unknown }[];
  [member: string]: unknown;
}

/** What a tool of this type is called with. */
export type VendorToolInput<Vendor extends { type: string }> = Vendor['type'] extends 'shell'
  ? ShellInput
  : Vendor['type'] extends 'local_shell'
    ? LocalShellInput
    : Vendor['type'] extends 'apply_patch'
      ? ApplyPatchInput
      : Vendor['type'] extends `bash_${number}`
        ? BashInput
        : Vendor['type'] extends `${'text_editor' | 'memory'}_${number}`
          ? FileCommandInput
          : Vendor['type'] extends `computer${string}`
            ? ComputerInput
            : Record<string, unknown>;

/** A screenshot as the result of a call. */
export interface ComputerScreenshot {
  type: 'computer_screenshot';
  /** An address, or a `data:` URL. */
  image_url?: string;
  file_id?: string;
}

/** How one command of `shell` ended. */
export interface ShellOutput {
  stdout?: string;
  stderr?: string;
  /** `{ type: 'exit', exit_code: 0 }` when absent. */
  outcome?: { type: 'exit'; exit_code: number } | { type: 'timeout' };
}

/** The result of `apply_patch`. */
export interface ApplyPatchOutput {
  status: 'completed' | 'failed';
  output?: string;
}
