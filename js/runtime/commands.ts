// Slash commands of a host: what is declared, and the function that runs them.
import type { AgentFunction, CommandCall, CommandDeclaration } from '../../types/runtime';
import { addon } from '../addon';
import { MillraceError, rethrow } from '../errors';
import { toJson } from '../serialize';
import { shown } from '../shown';
import { logFailure } from '../log-failure';

/** The name of the agent whose runs are commands. */
export const commandAgent = 'millrace:command';

interface CommandContext {
  reply?: string;
  name: string;
  subcommand: string;
  args: string[];
  code: string;
  failure: string;
}

/** As the engine knows the command; throws what is wrong with its declaration. */
function nameOf(command: CommandDeclaration): string {
  const json = toJson({ ...command, run: undefined }, 'The declaration of the command');
  try {
    return addon().checkCommand(json);
  } catch (error) {
    rethrow(error);
  }
}

/** The commands of one runtime. */
export class Commands {
  readonly #commands = new Map<string, CommandDeclaration>();
  #revision = 0;

  add(command: CommandDeclaration): void {
    if (typeof command?.name !== 'string' || typeof command.run !== 'function') {
      throw new MillraceError(
        'invalid_argument',
        `runtime.command() takes an object with a name and a function \`run\`, not ${shown(command)}.`,
      );
    }
    this.#commands.set(nameOf(command), command);
    this.#revision += 1;
  }

  /** As probes show them. */
  list(): object[] {
    return [...this.#commands.values()].map(
      ({ name, aliases = [], subcommands = {}, ...more }) => ({
        ...{ name, loaded: true, handler_loaded: true, aliases },
        subcommands: Object.keys(subcommands).length,
        permission: more.permission ?? 'public',
        allow_in_private: more.allow_in_private ?? false,
        show_in_help: more.show_in_help ?? true,
      }),
    );
  }

  /** What the routes read: all of them where they have changed since. */
  declared(revision: number): object {
    if (revision === this.#revision) return { revision };
    const commands = [...this.#commands.values()].map((command) => ({
      ...command,
      run: undefined,
    }));
    return { revision: this.#revision, commands };
  }

  /** Runs the command that the context of the run names. */
  readonly run: AgentFunction = async ({ text, threadId }, context) => {
    const { reply, name, subcommand, args, code, failure } = context.run.context as CommandContext;
    if (reply !== undefined) return reply;
    await context.stage('running_command');
    const call: CommandCall = { name, subcommand, args, text, threadId, context };
    try {
      const answer = await this.#commands.get(name)?.run(call);
      await context.stage('command_done');
      return answer;
    } catch (error) {
      if (context.signal.aborted) throw error;
      // Its user gets the code alone.
      logFailure(`millrace: the command /${name} failed (${code}):`, error);
      return failure;
    }
  };
}
