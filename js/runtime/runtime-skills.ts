// runtime.skills(): what agents of a runtime have of folders of skills.
import type { RegisteredAgent } from '../agent/durable-types';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { shown } from '../shown';
import { SkillFolder } from '../tool/skill-folder';
import {
  type Skill,
  skillInstructions,
  skillPlaces,
  type SkillScan,
  skillTool,
} from '../tool/skills';
import { skillTools } from '../tool/builtin-tools';
import { toolPlan } from '../tool/tool';

export interface SkillOptions {
  /** The names of the agents that get them; all with a model when absent. */
  agents?: readonly string[] | undefined;
}

interface Source {
  folder: SkillFolder;
  agents: readonly string[] | undefined;
}

/** The skills of one runtime. */
export class RuntimeSkills {
  readonly #sources: Source[] = [];
  readonly #plans = new WeakMap<RegisteredAgent, string>();
  readonly #reported = new Set<string>();

  /** Adds a folder for agents that are known; `onChange` is called when what agents have changes later. */
  add(
    dir: string,
    options: SkillOptions,
    known: ReadonlyMap<string, RegisteredAgent>,
    onChange: () => void,
  ): SkillFolder {
    const owner = 'runtime.skills()';
    if (typeof dir !== 'string' || dir === '') {
      throw new MillraceError('invalid_argument', `${owner} takes a folder, not ${shown(dir)}.`);
    }
    checkNames(owner, options, ['agents']);
    const { agents } = options;
    const isList = Array.isArray(agents) && agents.every((name) => typeof name === 'string');
    if (agents !== undefined && !isList) {
      throw new MillraceError(
        'invalid_option',
        `${owner}: agents must be a list of names, not ${shown(agents)}.`,
      );
    }
    for (const [name, agent] of known) {
      if (agents === undefined || agents.includes(name)) checkTools(name, this.#plainOf(agent));
    }
    const report = (scan: Pick<SkillScan, 'problems'>): void => this.#report(scan);
    const folder = new SkillFolder(owner, dir, { report, use: onChange });
    this.#sources.push({ folder, agents });
    this.#report(folder);
    return folder;
  }

  /** All of them, the first of each name. */
  list(): readonly Skill[] {
    return this.#of(undefined);
  }

  /** Puts the skills of the agent into its plan; false where it has them already. */
  apply(name: string, agent: RegisteredAgent): boolean {
    // Functions decide themselves what their models read.
    if (agent.planJson === '') return false;
    const plain = this.#plainOf(agent);
    const isFor = ({ agents }: Source): boolean => agents === undefined || agents.includes(name);
    if (this.#sources.some(isFor)) checkTools(name, plain);
    this.#plans.set(agent, plain);
    const planned = withSkills(plain, this.#of(name));
    const isNew = planned !== agent.planJson;
    agent.planJson = planned;
    return isNew;
  }

  close(): void {
    for (const { folder } of this.#sources) folder.close();
  }

  #plainOf(agent: RegisteredAgent): string {
    return this.#plans.get(agent) ?? agent.planJson;
  }

  #of(agent: string | undefined): Skill[] {
    const found = new Map<string, Skill>();
    for (const { folder, agents } of this.#sources) {
      const isFor = agent === undefined || agents === undefined || agents.includes(agent);
      for (const skill of isFor ? folder.skills : []) {
        if (!found.has(skill.name)) found.set(skill.name, skill);
      }
    }
    return [...found.values()];
  }

  #report({ problems }: Pick<SkillScan, 'problems'>): void {
    const now = problems.map(({ path, message }) => `${path}: ${message}.`);
    for (const sentence of now) {
      if (this.#reported.has(sentence)) continue;
      process.emitWarning(`A skill is left out: ${sentence}`, { code: 'MILLRACE_SKILL' });
    }
    for (const sentence of now) this.#reported.add(sentence);
  }
}

interface Plan {
  instructions?: string;
  tools?: { name?: string }[];
}

function checkTools(agent: string, planJson: string): void {
  const { tools = [] } = planJson === '' ? {} : (JSON.parse(planJson) as Plan);
  if (!tools.some(({ name }) => name === skillTool)) return;
  throw new MillraceError(
    'invalid_option',
    `The agent ${shown(agent)} has a tool called ${skillTool}, by which agents load their skills: rename it, or name other ` +
      'agents with the option `agents` of runtime.skills().',
  );
}

function withSkills(planJson: string, skills: readonly Skill[]): string {
  if (skills.length === 0) return planJson;
  const plan = JSON.parse(planJson) as Plan;
  const { instructions = '', tools = [] } = plan;
  const parts = [instructions, skillInstructions(skills)].filter((part) => part !== '');
  const added = skillTools(skillPlaces(skills)).map(toolPlan);
  return JSON.stringify({
    ...plan,
    instructions: parts.join('\n\n'),
    tools: [...tools, ...added],
  });
}
