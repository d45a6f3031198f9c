// HTTP plugins with LobeHub's manifest: a call goes to the plugin's gateway or to the API's own address.
import type { ChatToolPayload, HumanInterventionConfig } from '../../types/agent';
import { MillraceError } from '../errors';
import { ask } from './ask';
import type { HttpToolOptions, HttpToolResult } from './http-tools';
import { failed, resultText, send } from './http-tools';
import { payloadArguments } from './payload';
import type { HostTool } from './tools';

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

export interface PluginOptions extends HttpToolOptions {
  manifest: PluginManifest;
  /** The user's settings, checked against the manifest and sent in a header. */
  settings?: Record<string, unknown>;
  /** A gateway that counts before the manifest's. */
  gateway?: string;
}

const settingsHeader = 'X-Lobe-Plugin-Settings';

/**
 * Calls a function of an HTTP plugin. Resolves with a result also when the call failed; rejects only
 * with the signal's reason.
 */
export async function invokeDefaultTypePlugin(
  call: Pick<ChatToolPayload, 'apiName' | 'arguments'> & { identifier?: string },
  options: PluginOptions,
  context: { signal?: AbortSignal | undefined } = {},
): Promise<HttpToolResult> {
  const { manifest, settings = {} } = options;
  const api = manifest.api.find(({ name }) => name === call.apiName);
  if (!api) {
    return failed('PluginApiNotFound', `The plugin ${manifest.identifier} has no ${call.apiName}.`);
  }
  let args: unknown;
  try {
    args = payloadArguments(call.arguments);
  } catch (error) {
    return failed('PluginApiParamsError', resultText((error as Error).message));
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

/** The functions of a plugin as tools of an agent, named `identifier____function`. */
export function pluginTools(options: PluginOptions): HostTool[] {
  const { manifest } = options;
  if (!Array.isArray(manifest.api) || typeof manifest.identifier !== 'string') {
    throw new MillraceError('invalid_option', 'The manifest of a plugin needs identifier and api.');
  }
  return manifest.api.map((api) => ({
    name: wireName(manifest.identifier, api.name),
    ...(api.description !== undefined && { description: api.description }),
    ...(api.parameters && { input: api.parameters }),
    approve: api.humanIntervention ?? manifest.humanIntervention ?? 'never',
    run: (input: never, { signal }: { signal?: AbortSignal } = {}) =>
      invokeDefaultTypePlugin(
        { apiName: api.name, arguments: JSON.stringify(input ?? {}) },
        options,
        { signal },
      ),
  }));
}

const nameLimit = 64;

/**
 * `identifier____name` in the characters and the length that every provider takes. A name that has to be changed
 * for that ends with a part of its hash, so that it stays the tool's own.
 */
export function wireName(identifier: string, name: string): string {
  const plain = (text: string): string => text.replace(/[^\w-]+/g, '_');
  const joined = `${plain(identifier)}____${plain(name)}`;
  if (joined.length <= nameLimit && joined === `${identifier}____${name}`) return joined;
  const hash = ask<string>('approvalHash', { identifier, apiName: name, arguments: '' });
  const kept = 12;
  const shown = joined.slice(0, nameLimit - kept - 1).replace(/_+$/, '');
  return `${shown}_${hash.slice(0, kept)}`;
}

function violations(schema: object | undefined, value: unknown): string {
  return schema ? ask<string>('checkSchema', { schema, value }) : '';
}

// Header values are bytes; JSON can say every character in ASCII.
function asciiJson(value: object): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
