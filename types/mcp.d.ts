// The Model Context Protocol as its users see it: how a server is reached, and what it offers.
// Source: Model Context Protocol 2025-11-25 and 2026-07-28.

/** The protocol versions that are spoken. */
export type MCPProtocolVersion =
  '2024-11-05' | '2025-03-26' | '2025-06-18' | '2025-11-25' | '2026-07-28';

export interface MCPImplementation {
  name: string;
  version: string;
  title?: string;
  [member: string]: unknown;
}

export interface MCPToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** A tool as its server describes it. */
export interface MCPTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: object;
  outputSchema?: object;
  annotations?: MCPToolAnnotations;
  [member: string]: unknown;
}

/** One block of a tool's result or of a prompt. */
export type MCPContent =
  | { type: 'text'; text: string; [member: string]: unknown }
  | { type: 'image' | 'audio'; data: string; mimeType: string; [member: string]: unknown }
  | { type: 'resource'; resource: MCPResourceContents; [member: string]: unknown }
  | { type: 'resource_link'; uri: string; name: string; [member: string]: unknown };

export interface MCPToolResult {
  content: MCPContent[];
  structuredContent?: unknown;
  isError?: boolean;
  [member: string]: unknown;
}

export interface MCPResource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  [member: string]: unknown;
}

export interface MCPResourceTemplate {
  uriTemplate: string;
  name: string;
  [member: string]: unknown;
}

export interface MCPResourceContents {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
  [member: string]: unknown;
}

export interface MCPPrompt {
  name: string;
  title?: string;
  description?: string;
  arguments?: { name: string; description?: string; required?: boolean }[];
  [member: string]: unknown;
}

export interface MCPPromptResult {
  description?: string;
  messages: { role: 'user' | 'assistant'; content: MCPContent }[];
  [member: string]: unknown;
}

export interface MCPProgress {
  progress: number;
  total?: number;
  message?: string;
  [member: string]: unknown;
}

export interface MCPRoot {
  uri: string;
  name?: string;
}

/** A question of the server to a person. */
export interface MCPElicitation {
  message: string;
  mode?: 'form' | 'url';
  requestedSchema?: object;
  url?: string;
  [member: string]: unknown;
}

export interface MCPElicitationResult {
  action: 'accept' | 'decline' | 'cancel';
  /** Members that are left out get the schema's defaults. */
  content?: Record<string, unknown>;
}

/** Options of one request. */
export interface MCPRequestOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds between the request and its answer or its last progress; 60 s when absent. */
  timeoutMs?: number | undefined;
  /** Milliseconds from start to end, whatever the progress; none when absent. */
  maxTotalMs?: number | undefined;
  onProgress?: ((progress: MCPProgress) => void) | undefined;
}
