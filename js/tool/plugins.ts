// HTTP plugins with LobeHub's manifest: a call goes to the plugin's gateway or to the API's own address.
import type { ChatToolPayload, HumanInterventionConfig } from '../../types/agent';
import { MillraceError } from '../errors';
import { checkSpelling } from '../known-names';
import { messageOf } from '../thrown';
import { engineAnswer } from './engine-answer';
import type { HttpToolOptions, HttpToolResult } from './http-tools';
import { failed, httpToolOptions, send } from './http-tools';
import { payloadArguments } from './payload';
import { allowedOf, namesOfTool, policyOptions, type ToolPolicy } from './tool-policy';
import type { RunnableTool } from './types';

/** One function of a plugin. */
export interface PluginApi {
  name: string;
  description?: string;
  /** JSON Schema of the arguments. */
  parameters?: object;
  /** Where a plugin without a gateway is called. */
  url?: string;
  humanIntervention?: HumanInterventionConfig;
}

/** The manifest of a plugin. */
export interface PluginManifest {
  identifier: string;
  api: PluginApi[];
  /** Where all calls go. */
  gateway?: string;
  /** JSON Schema of the settings. */
  settings?: object;
  type?: string;
  systemRole?: string;
  humanIntervention?: HumanInterventionConfig;
  [member: string]: unknown;
}

export interface PluginOptions extends HttpToolOptions, ToolPolicy {
  manifest: PluginManifest;
  /** The user's settings, checked against the manifest and sent in a header. */
  settings?: Record<string, unknown>;
  /** A gateway that counts before the manifest's. */
  gateway?: string;
}

const settingsHeader = 'X-Lobe-Plugin-Settings';

// What is wrong with a manifest; nothing when it can be used.
function manifestFault(manifest: Partial<PluginManifest> | undefined): string {
  const { identifier, api } = manifest ?? {};
  const isNamed = (one: Partial<PluginApi> | null): boolean => typeof one?.name === 'string';
  const isUsable = typeof identifier === 'string' && Array.isArray(api) && api.every(isNamed);
  return isUsable
    ? ''
    : 'The manifest of a plugin needs identifier and api, whose entries have names.';
}

/**
 * Calls a function of an HTTP plugin. Resolves with a result also when the call failed; rejects only
 * with the signal's reason.
 */
export async function invokeDefaultTypePlugin(
  call: Pick<ChatToolPayload, 'apiName' | 'arguments'> & { identifier?: string },
  options: PluginOptions,
  context: { signal?: AbortSignal | undefined } = {},
): Promise<HttpToolResult> {
  const fault = manifestFault((options as PluginOptions | undefined)?.manifest);
  if (fault) return failed('PluginManifestInvalid', fault);
  const { manifest, settings = {} } = options;
  const api = manifest.api.find(({ name }) => name === call.apiName);
  if (!api) {
    return failed('PluginApiNotFound', `The plugin ${manifest.identifier} has no ${call.apiName}.`);
  }
  let args: object;
  try {
    args = payloadArguments(call.arguments);
  } catch (error) {
    return failed('PluginApiParamsError', messageOf(error));
  }
  const wrongArguments = violations(api.parameters, args);
  if (wrongArguments) {
    return failed('PluginApiParamsError', `The arguments are not valid: ${wrongArguments}`);
  }
  const wrongSettings = violations(manifest.settings, settings);
  if (wrongSettings) {
    return failed('PluginSettingsInvalid', `The plugin's settings are not valid: ${wrongSettings}`);
  }
  const gateway = options.gateway ?? manifest.gateway;
  const url = gateway ?? api.url;
  if (url === undefined) {
    return failed(
      'PluginApiNotFound',
      `The plugin has neither a gateway nor a URL for ${api.name}.`,
    );
  }
  const request = {
    apiName: api.name,
    arguments: JSON.stringify(args),
    identifier: manifest.identifier,
  };
  return send(
    {
      identifier: manifest.identifier,
      apiName: api.name,
      method: 'POST',
      url,
      headers: {
        'Content-Type': 'application/json',
        ...(Object.keys(settings).length > 0 && { [settingsHeader]: asciiJson(settings) }),
      },
      body:
        gateway === undefined
          ? request.arguments
          : JSON.stringify({ ...request, manifest, type: manifest.type ?? 'default' }),
      signal: context.signal,
    },
    options,
  );
}

const pluginOptions: readonly string[] = [
  ...httpToolOptions,
  ...policyOptions,
  ...(['manifest', 'settings', 'gateway'] satisfies (keyof PluginOptions)[]),
];

/** The functions of a plugin as tools of an agent, named `identifier____function`. */
export function pluginTools(
  options: PluginOptions,
): RunnableTool<Record<string, unknown>, Promise<HttpToolResult>>[] {
  const fault = manifestFault((options as PluginOptions | undefined)?.manifest);
  if (fault) throw new MillraceError('invalid_option', fault);
  checkSpelling('pluginTools()', options, pluginOptions);
  const { manifest } = options;
  const names = wireNames(
    manifest.identifier,
    manifest.api.map(({ name }) => name),
  );
  const named = manifest.api.map((api, index) => ({ api, name: names[index] ?? '' }));
  const shown = allowedOf(named, options, ({ api, name }) => namesOfTool(api.name, name));
  return shown.map(({ api, name }) => ({
    name,
    ...(api.description !== undefined && { description: api.description }),
    ...(api.parameters && { input: api.parameters }),
    approval: api.humanIntervention ?? manifest.humanIntervention ?? 'never',
    run: (input: object, { signal }: { signal?: AbortSignal } = {}) =>
      invokeDefaultTypePlugin(
        { apiName: api.name, arguments: JSON.stringify(input ?? {}) },
        options,
        { signal },
      ),
  }));
}

const nameLimit = 64;
const hashLength = 12;
const separator = '____';

// Everything but letters, digits, _ and - is replaced; what nothing of is left of has another word.
function plain(text: string, otherwise: string): string {
  const made = text.replace(/[^\w-]/g, '_');
  return /^_*$/.test(made) ? otherwise : made;
}

const isAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);

// The name says what a call does: the identifier makes room for it.
function shortened(identifier: string, name: string, most: number): string {
  const least = 8;
  const room = Math.max(least, most - separator.length - name.length);
  return `${identifier.slice(0, room)}${separator}${name}`.slice(0, most);
}

/**
 * `identifier____name` of each name, in the characters and the length that every provider takes. One
 * that lost letters for that, is too long or is another's too, ends with a part of its hash.
 */
export function wireNames(identifier: string, names: readonly string[]): string[] {
  const prefix = plain(identifier, 'plugin');
  const shown = names.map((name) => plain(name, 'call'));
  // Runs of _ are one mark in an agent.
  const keys = shown.map((name) => `${prefix}${separator}${name}`.replace(/_{4,}/g, '__'));
  const uses = new Map<string, number>();
  for (const key of keys) uses.set(key, (uses.get(key) ?? 0) + 1);
  return names.map((name, index) => {
    const full = `${prefix}${separator}${shown[index]}`;
    const isOwn = full === `${identifier}${separator}${name}` || uses.get(keys[index] ?? '') === 1;
    if (isOwn && full.length <= nameLimit && isAscii(identifier + name)) return full;
    const hash = engineAnswer<string>('approvalHash', { identifier, apiName: name, arguments: '' });
    const readable = shortened(prefix, shown[index] ?? '', nameLimit - hashLength - 1);
    return `${readable}_${hash.slice(0, hashLength)}`;
  });
}

function violations(schema: object | undefined, value: unknown): string {
  return schema ? engineAnswer<string>('checkSchema', { schema, value }) : '';
}

// Header values are bytes; JSON can say every character in ASCII.
function asciiJson(value: object): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
