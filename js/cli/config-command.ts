// millrace config: what `millrace serve` would take, and where each value comes from.
import type { Command } from './command';
import { exitCodeOf, plain, readArgs, reportedError, UsageError } from './command';
import { type Config, type OptionValues, resolveConfig } from './config';
import { ConfigError } from './config-file';
import { providerMembers, settings, type SettingValue, variableOf } from './config-settings';
import { checkServer } from '../server';
import { serveOptions } from './serve-arguments';
import { mcpPlanOf } from './serve-mcp';
import { asUse, servePlan } from './serve-options';
import { storedNames } from './serve-secrets';
import { serveSkills } from './serve-skills';
import { reporting } from './store';
import { tableOf } from './table';

const help = `Usage: millrace config show [options]
       millrace config check [options]

The configuration of millrace serve. It takes the options of serve, too: an option counts more than the environment,
that more than the file, and that more than the default.

  show    prints each setting, its value and where that comes from; secrets are masked
  check   reads everything as serve does, and prints what serve would not start with: of the file with line and column

Options:
  --config <file>  settings in TOML (default: MILLRACE_CONFIG, or millrace.toml of the working folder); off reads none
  --json           print JSON, also of errors
  --help           print this

Exit code: 0, 2 for what is wrong.
`;

const options = {
  ...serveOptions,
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const mask = '********';
const mostShown = 60;
const secretMembers = new Set(
  Object.values(providerMembers).flatMap(({ member, isSecret }) => (isSecret ? [member] : [])),
);

/** A row of what is shown. */
interface Shown {
  setting: string;
  value: SettingValue | null;
  source: string;
  variable?: string;
}

// An address may hold a user and a password.
function withoutUser(value: SettingValue | undefined): SettingValue | null {
  if (typeof value !== 'string' || !/^[a-z][\w+.-]*:\/\//i.test(value)) return value ?? null;
  return value.replace(/^([a-z][\w+.-]*:\/\/)[^/?#]*@/i, `$1${mask}@`);
}

function shownSettings(config: Config): Shown[] {
  return settings.map((row) => {
    const { value, source } = config.values.get(row.name) ?? {
      value: undefined,
      source: 'default',
    };
    const isGiven = Array.isArray(value) ? value.length > 0 : value !== undefined;
    const shown = row.isSecret && isGiven ? mask : withoutUser(value);
    return { setting: row.name, value: shown, source, variable: variableOf(row) };
  });
}

function shownKeys(config: Config): Shown[] {
  return config.keys.map(({ name, principal, scopes }, at) => ({
    setting: `api.keys[${at}]`,
    value: `${mask} ${name} of ${principal}: ${scopes?.join(',') ?? 'all'}`,
    source: 'file',
  }));
}

function shownProviders(config: Config): Shown[] {
  return [...config.providers].flatMap(([id, given]) =>
    Object.entries(providerMembers).flatMap(([key, { member }]): Shown[] => {
      const value = given[member];
      if (value === undefined) return [];
      const shown = secretMembers.has(member) ? mask : withoutUser(value);
      return [{ setting: `providers.${id}.${key}`, value: shown, source: 'file' }];
    }),
  );
}

function shownSecrets(config: Config): Shown[] {
  const storage = config.text('storage.location');
  const names = storedNames(storage?.startsWith('file:') ? storage : undefined);
  return names.map((name) => ({ setting: `providers.${name}`, value: mask, source: 'secrets' }));
}

function textOf(value: SettingValue | null): string {
  if (value === null) return '-';
  const text = plain(typeof value === 'object' ? value.join(', ') || '-' : String(value));
  const line = text.replace(/\s+/g, ' ');
  return line.length > mostShown ? `${line.slice(0, mostShown)}...` : line;
}

function show(config: Config, isJson: boolean): void {
  const rows = [
    ...shownSettings(config),
    ...shownKeys(config),
    ...shownProviders(config),
    ...shownSecrets(config),
  ];
  if (isJson) {
    process.stdout.write(`${JSON.stringify({ file: config.file ?? null, settings: rows })}\n`);
    return;
  }
  const cells = rows.map(({ setting, value, source, variable }) => [
    ...[setting, textOf(value), source === 'environment' ? `${source} ${variable}` : source],
  ]);
  process.stdout.write(plain(`File: ${config.file ?? 'none'}\n\n`));
  process.stdout.write(tableOf(['SETTING', 'VALUE', 'FROM'], cells));
}

// What serve would start with; nothing is written, a key that serve would make is not made.
async function check(values: OptionValues): Promise<Config> {
  const config = resolveConfig(values, process.env);
  const mcp = await mcpPlanOf(config, process.env, { isCheck: true });
  const [wrong] = mcp.failures;
  if (wrong) throw new UsageError(`MCP server ${wrong.name}: ${wrong.error?.message ?? ''}`);
  try {
    const { options } = servePlan(config, process.env, { isCheck: true });
    const skills = serveSkills(config.text('agent.skills'), () => undefined)?.served;
    checkServer({ ...options, mcp: mcp.servers, skills });
  } catch (error) {
    throw asUse(error);
  }
  return config;
}

async function checked(values: OptionValues, isJson: boolean): Promise<number> {
  try {
    const { file } = await check(values);
    const text =
      file === undefined ? 'There is no file; the rest is right.\n' : `${file} is right.\n`;
    process.stdout.write(
      isJson ? `${JSON.stringify({ ok: true, file: file ?? null })}\n` : plain(text),
    );
    return 0;
  } catch (error) {
    if (!isJson) throw error;
    const places = error instanceof ConfigError && { file: error.file, problems: error.problems };
    const answer = { ok: false, error: { ...reportedError(error), ...places } };
    process.stdout.write(`${JSON.stringify(answer)}\n`);
    return exitCodeOf(error);
  }
}

/** The `config` command. */
export const config: Command = {
  summary: 'show and check the configuration of serve',
  run(args) {
    const { values, positionals } = readArgs(args, options, true);
    if (values.help === true) {
      process.stdout.write(help);
      return Promise.resolve(0);
    }
    const [verb, ...rest] = positionals;
    const isJson = values.json === true;
    if (verb === 'check' && rest.length === 0) return checked(values, isJson);
    return reporting(isJson, () => {
      if (verb !== 'show' || rest.length > 0) {
        throw new UsageError('millrace config needs show or check.');
      }
      show(resolveConfig(values, process.env), isJson);
      return Promise.resolve(0);
    });
  },
};
