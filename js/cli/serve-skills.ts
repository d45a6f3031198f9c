// millrace serve --skills: the skills of a folder, given to the server again when they change.
import { MillraceError } from '../errors';
import type { Server, ServerSkills } from '../server';
import { SkillFolder, type SkillListener } from '../tool/skill-folder';
import { skillInstructions, skillPlaces, type SkillScan } from '../tool/skills';
import { UsageError } from './command';

/** Skills of a server that is about to start. */
export interface ServedSkills {
  readonly served: ServerSkills;
  /** Changes go to this server from now on. */
  attach(server: Pick<Server, 'setSkills'>): void;
}

/** Undefined without a folder; throws a UsageError for one that cannot be read. */
export function serveSkills(
  dir: string | undefined,
  report: (text: string) => void,
): ServedSkills | undefined {
  if (dir === undefined) return undefined;
  let server: Pick<Server, 'setSkills'> | undefined;
  const known = new Set<string>();
  const reportNew = ({ problems }: Pick<SkillScan, 'problems'>): void => {
    for (const { path, message } of problems) {
      const sentence = `A skill is left out: ${path}: ${message}.\n`;
      if (!known.has(sentence)) report(sentence);
      known.add(sentence);
    }
  };
  const folder = opened(dir, {
    report: reportNew,
    use: (scan) => server?.setSkills(servedOf(scan)),
  });
  reportNew(folder);
  return {
    served: servedOf(folder),
    attach: (started) => (server = started),
  };
}

function servedOf({ skills }: Pick<SkillScan, 'skills'>): ServerSkills {
  return { list: skillPlaces(skills), instructions: skillInstructions(skills) };
}

function opened(dir: string, listener: SkillListener): SkillFolder {
  try {
    return new SkillFolder('--skills', dir, listener);
  } catch (error) {
    throw MillraceError.is(error) ? new UsageError(error.message, { cause: error }) : error;
  }
}
