#!/usr/bin/env node
// The command line: millrace <command> [options].
import { chat } from './chat';
import { config } from './config-command';
import { convert } from './convert';
import type { Command } from './command';
import { fail } from './command';
import { importCommand } from './import';
import { keys } from './keys';
import { mcp } from './mcp';
import { models } from './models';
import { providers } from './providers';
import { runs } from './runs';
import { secrets } from './secrets';
import { serve } from './serve';
import { storage } from './storage';
import { meantBy } from '../known-names';
import { version } from '../version';

const commands: Record<string, Command> = {
  serve,
  chat,
  models,
  providers,
  convert,
  mcp,
  runs,
  storage,
  keys,
  secrets,
  config,
  import: importCommand,
};

function usage(): string {
  const rows = Object.entries(commands).map(
    ([name, command]) => `  ${name.padEnd(11)}${command.summary}`,
  );
  return [
    'Usage: millrace <command> [options]',
    '',
    'Commands:',
    ...rows,
    '',
    "Options of a command: millrace <command> --help. 'millrace --version' prints the version.",
    '',
  ].join('\n');
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === '--version' || name === '-v') {
    process.stdout.write(`${version()}\n`);
    return 0;
  }
  const [requested = ''] = rest;
  if (name === 'help' && Object.hasOwn(commands, requested)) {
    return commands[requested]?.run(['--help']) ?? 0;
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const output = name === undefined ? process.stderr : process.stdout;
    output.write(usage());
    return name === undefined ? 2 : 0;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    const meant = meantBy(name, [...Object.keys(commands), 'help', '--help', '--version']);
    const more = meant === undefined ? `\n\n${usage()}` : ` Did you mean '${meant}'?\n`;
    process.stderr.write(`millrace: there is no command '${name}'.${more}`);
    return 2;
  }
  return command.run(rest);
}

// Who reads has enough (`| head`), or there is no room: nothing more can be said there.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  process.exit(fail(error));
});
process.stderr.on('error', () => undefined);

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.exitCode = fail(error);
  },
);
