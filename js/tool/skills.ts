// Skills: folders with a file SKILL.md, whose front matter has a name and a description. A model reads those two in its
// system prompt, and loads the rest with a tool of the engine (lib/tool/builtin/skills.cpp).
import { lstatSync, openSync, closeSync, readdirSync, readSync, realpathSync } from 'node:fs';
import { constants } from 'node:fs';
import { join } from 'node:path';

import { MillraceError } from '../errors';
import { isRecord } from '../plain-values';
import { shown } from '../shown';
import { messageOf } from '../thrown';
import { parseYaml } from './yaml';

/** A skill that models may load. */
export interface Skill {
  name: string;
  description: string;
  /** Its folder. */
  path: string;
}

/** A folder that is not a skill, and why. */
export interface SkillProblem {
  path: string;
  message: string;
}

/** What a folder of skills has. */
export interface SkillScan {
  skills: readonly Skill[];
  problems: readonly SkillProblem[];
}

/** The tool by which a model loads a skill. */
export const skillTool = 'load_skill';

const mostSkills = 256;
const mostFrontMatter = 64 * 1024;
const mostName = 64;
const mostDescription = 1024;

/** Reads the skills of a folder; throws `invalid_option` where there is no such folder. */
export function scanSkills(owner: string, dir: string): SkillScan {
  let folders: string[];
  let root: string;
  try {
    root = realpathSync(dir);
    folders = readdirSync(root).sort();
  } catch (error) {
    throw new MillraceError(
      'invalid_option',
      `${owner}: the folder of skills ${shown(dir)} cannot be read: ${messageOf(error)}.`,
      { cause: error },
    );
  }
  const skills = new Map<string, Skill>();
  const problems: SkillProblem[] = [];
  for (const folder of folders) {
    const path = join(root, folder);
    try {
      if (folder.startsWith('.') || !isFolder(path)) continue;
      const skill = readSkill(path);
      const other = skills.get(skill.name);
      if (other) throw new Error(`${other.path} has the name ${shown(skill.name)}, too`);
      if (skills.size === mostSkills) throw new Error(`there are more than ${mostSkills} skills`);
      skills.set(skill.name, skill);
    } catch (error) {
      problems.push({ path, message: firstLine(messageOf(error)) });
    }
  }
  return { skills: [...skills.values()], problems };
}

// The parser shows the place in further ones.
function firstLine(text: string): string {
  return (text.split('\n', 1)[0] ?? '').replace(/[:.]$/, '');
}

function isFolder(path: string): boolean {
  const stats = lstatSync(path);
  if (stats.isSymbolicLink()) throw new Error('it is a symbolic link, which is not followed');
  return stats.isDirectory();
}

function readSkill(path: string): Skill {
  const front = readFrontMatter(frontMatterOf(beginningOf(join(path, 'SKILL.md'))));
  if (!isRecord(front)) throw new Error('the front matter of SKILL.md is not a list of members');
  const { name, description } = front;
  if (
    typeof name !== 'string' ||
    !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) ||
    name.length > mostName
  ) {
    throw new Error(
      `\`name\` must be lower-case letters, digits and single hyphens, at most ${mostName}, not ${shown(name)}`,
    );
  }
  const isText = typeof description === 'string' && description.trim() !== '';
  if (!isText || description.length > mostDescription) {
    throw new Error(`\`description\` must be a text of at most ${mostDescription} characters`);
  }
  return { name, description: description.replace(/\s+/g, ' ').trim(), path };
}

// A pipe would block the open, and a link may lead out.
function beginningOf(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const bytes = Buffer.alloc(mostFrontMatter);
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(file);
  }
}

function frontMatterOf(text: string): string {
  const found = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)/m.exec(text);
  if (found?.index === 0) return found[1] ?? '';
  throw new Error(
    `SKILL.md does not begin with front matter between two lines of --- within ${mostFrontMatter} bytes`,
  );
}

const member = /^([\w-]+):[ \t](.*)$/gm;
// What YAML reads as something else than a plain text: quotes, blocks, anchors, aliases, tags and maps.
const notPlain = /^["'|>&*!{]/;

// Many skills have plain texts that YAML cannot read: `description: Use it when: ...`, `argument-hint: [a] [b]`. A member
// whose line is no YAML by itself has the text of that line.
function readFrontMatter(text: string): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    const quoted = text.replace(member, (line, name: string, rest: string) => {
      const value = (rest.split(/[ \t]#/, 1)[0] ?? '').trim();
      return notPlain.test(value) || isYaml(line) ? line : `${name}: ${JSON.stringify(value)}`;
    });
    if (quoted === text || !isYaml(quoted)) throw error;
    return parseYaml(quoted);
  }
}

function isYaml(text: string): boolean {
  try {
    parseYaml(text);
    return true;
  } catch {
    return false;
  }
}

/** What a system prompt has of skills; "" without any. */
export function skillInstructions(skills: readonly Skill[]): string {
  if (skills.length === 0) return '';
  const lines = skills.map(({ name, description }) => `- ${name}: ${description}`);
  return [
    `Skills have instructions for kinds of work. Before work that a skill is for, load it with ${skillTool}, and follow it.`,
    ...lines,
  ].join('\n');
}

/** The skills as the tool of the engine takes them. */
export function skillPlaces(skills: readonly Skill[]): object[] {
  return skills.map(({ name, path }) => {
    const at = path.lastIndexOf('/');
    return { name, root: path.slice(0, at) || '/', folder: path.slice(at + 1) };
  });
}
