// The settings of `millrace serve`: one row for each, whether an option, the environment or the file gives it.

/** What a setting may be. */
export type SettingType =
  | { kind: 'text' }
  | { kind: 'choice'; of: readonly string[] }
  | { kind: 'integer'; min: number; max: number }
  | { kind: 'flag' }
  /** Options and variables have several, as `separator` says; the file has an array. */
  | { kind: 'list'; separator: 'repeat' | 'comma' };

/** One setting. */
export interface Setting {
  /** Its table and its key in the file. */
  readonly name: string;
  readonly type: SettingType;
  /** The option of the command line, without its dashes. */
  readonly option?: string;
  /** The environment variable, where it is not made of the name. */
  readonly variable?: string;
  readonly fallback?: SettingValue;
  /** A change of the file counts while the server runs. */
  readonly isLive?: true;
  readonly isSecret?: true;
}

export type SettingValue = string | number | boolean | readonly string[];

const text: SettingType = { kind: 'text' };
const flag: SettingType = { kind: 'flag' };
const repeated: SettingType = { kind: 'list', separator: 'repeat' };
const live = { isLive: true } as const;

function integer(min: number, max: number): SettingType {
  return { kind: 'integer', min, max };
}

function choice(...of: string[]): SettingType {
  return { kind: 'choice', of };
}

export const settings: readonly Setting[] = [
  { name: 'api.host', option: 'host', type: text, fallback: '127.0.0.1' },
  { name: 'api.port', option: 'port', type: integer(0, 65535), fallback: 8788 },
  { name: 'api.allowed_hosts', option: 'allow-host', type: repeated, fallback: [], ...live },
  { name: 'api.allowed_origins', option: 'allow-origin', type: repeated, fallback: [], ...live },
  { name: 'api.trusted_proxies', option: 'trusted-proxy', type: repeated, fallback: [], ...live },
  { name: 'api.access_log', option: 'access-log', type: text, ...live },
  { name: 'api.page', type: flag, fallback: true, ...live },
  { name: 'api.openapi_enabled', type: flag, fallback: true, ...live },
  { name: 'api.title_enabled', type: flag, fallback: true, ...live },
  { name: 'api.tool_invoke_enabled', type: flag, fallback: false, ...live },
  {
    ...{ name: 'api.tool_invoke_expose', fallback: 'tools+toolsets', ...live },
    type: choice('tools', 'toolsets', 'tools+toolsets', 'agents', 'all'),
  },
  { name: 'api.tool_invoke_allowlist', type: repeated, fallback: [], ...live },
  { name: 'api.tool_invoke_denylist', type: repeated, fallback: [], ...live },
  { name: 'api.tool_invoke_timeout', type: integer(0, 86_400), fallback: 120, ...live },
  { name: 'api.tool_invoke_callback_timeout', type: integer(1, 3600), fallback: 10, ...live },
  { name: 'api.tool_invoke_callback_allowlist', type: repeated, fallback: [], ...live },
  { name: 'api.webhook_secrets', type: repeated, fallback: [], isSecret: true, ...live },
  { name: 'api.auth_key', variable: 'MILLRACE_API_KEY', type: text, isSecret: true, ...live },
  { name: 'api.key_file', option: 'key-file', type: text, ...live },
  { name: 'api.keys_file', option: 'keys', type: text, ...live },
  { name: 'storage.location', option: 'storage', variable: 'MILLRACE_STORAGE', type: text },
  { name: 'storage.wait_seconds', option: 'wait', type: integer(0, 86_400), fallback: 2 },
  {
    ...{ name: 'storage.on_disconnect', option: 'on-disconnect' },
    ...{ type: choice('continue', 'stop'), fallback: 'continue' },
  },
  {
    ...{ name: 'storage.approval_timeout_seconds', option: 'approval-timeout' },
    ...{ type: integer(1, 315_360_000), fallback: 604_800 },
  },
  { name: 'storage.keep_records', option: 'keep-records', type: text },
  { name: 'storage.secret_key_file', option: 'secret-key-file', type: text, ...live },
  { name: 'model.name', option: 'model', variable: 'MILLRACE_MODEL', type: text, ...live },
  { name: 'model.base_url', option: 'base-url', type: text, ...live },
  { name: 'model.api_key', type: text, isSecret: true, ...live },
  {
    ...{ name: 'model.max_output_tokens', option: 'max-output-tokens' },
    ...{ type: integer(1, 1e9), fallback: 4096, ...live },
  },
  { name: 'agent.instructions', option: 'system', type: text, ...live },
  {
    ...{ name: 'agent.tools', option: 'tools', type: { kind: 'list', separator: 'comma' } },
    ...{ fallback: [], ...live },
  },
  { name: 'agent.skills', option: 'skills', type: text },
  { name: 'agent.approval', option: 'approval', type: text, fallback: 'risky', ...live },
  {
    ...{ name: 'agent.max_steps', option: 'max-steps' },
    ...{ type: integer(0, 1e6), fallback: 32, ...live },
  },
  { name: 'mcp.file', option: 'mcp', type: text },
  {
    ...{ name: 'mcp.authorize', option: 'authorize' },
    ...{ type: choice('print', 'open', 'never'), fallback: 'print' },
  },
  { name: 'mcp.tokens', option: 'tokens', type: text },
  { name: 'mcp.strict', option: 'strict', type: flag, fallback: false },
];

/** The environment variable of a setting. */
export function variableOf({ name, variable }: Setting): string {
  return variable ?? `MILLRACE_${name.toUpperCase().replace('.', '_')}`;
}

/** The members of a provider's table, `[providers.<id>]`, by their names in the engine. */
export const providerMembers: Readonly<
  Record<string, { member: string; type: SettingType; isSecret?: true }>
> = {
  api_key: { member: 'apiKey', type: text, isSecret: true },
  base_url: { member: 'baseURL', type: text },
  region: { member: 'region', type: text },
  project: { member: 'project', type: text },
  location: { member: 'location', type: text },
  account_id: { member: 'accountId', type: text },
  api_version: { member: 'apiVersion', type: text },
  deployment: { member: 'deployment', type: text },
  api_mode: { member: 'apiMode', type: text },
  max_retries: { member: 'maxRetries', type: integer(0, 100) },
  credentials: { member: 'credentials', type: text, isSecret: true },
  access_key_id: { member: 'accessKeyId', type: text, isSecret: true },
  secret_access_key: { member: 'secretAccessKey', type: text, isSecret: true },
  session_token: { member: 'sessionToken', type: text, isSecret: true },
};

/** The members of a key, `[[api.keys]]`. */
export const keyMembers: Readonly<Record<string, SettingType>> = {
  name: text,
  key: text,
  sha256: text,
  principal: text,
  scopes: repeated,
  per_minute: integer(1, 1e9),
  per_day: integer(1, 1e9),
};
