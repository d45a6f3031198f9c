// A folder of skills that is read again when it changes.
// Not of 'node:fs/promises', which every runtime would load, and few have skills.
import { promises as files } from 'node:fs';
import { join } from 'node:path';

import { messageOf } from '../thrown';
import { scanSkills, type Skill, type SkillProblem, type SkillScan } from './skills';

const lookMs = 500;

/** What happens when a folder changes. */
export interface SkillListener {
  /** Gets what the folder has, and its problems. */
  report(this: void, scan: SkillScan): void;
  /** Puts the skills to use; what it throws is a problem of the folder. */
  use(this: void, scan: SkillScan): void;
}

/** Skills of one folder. */
export class SkillFolder {
  readonly #dir: string;
  readonly #owner: string;
  readonly #listener: SkillListener;
  readonly #timer: NodeJS.Timeout;
  #scan: SkillScan;
  #print = '';
  #isLooking = false;

  /** The listener gets what the folder has, from the next change on. */
  constructor(owner: string, dir: string, listener: SkillListener) {
    this.#owner = owner;
    this.#dir = dir;
    this.#listener = listener;
    this.#scan = scanSkills(owner, dir);
    // Network file systems report no changes: the folder is looked at.
    this.#timer = setInterval(() => void this.#look(), lookMs);
    this.#timer.unref();
    void this.#look();
  }

  get skills(): readonly Skill[] {
    return this.#scan.skills;
  }

  /** Folders that are not skills; others stay in use. */
  get problems(): readonly SkillProblem[] {
    return this.#scan.problems;
  }

  /** Reads the folder now; the next runs have what it has. */
  reload(): void {
    const before = JSON.stringify(this.#scan);
    this.#scan = this.#scanned();
    if (JSON.stringify(this.#scan) === before) return;
    this.#listener.report(this.#scan);
    this.#listener.use(this.#scan);
  }

  /** Looks at the folder no more; its skills stay in use. */
  close(): void {
    clearInterval(this.#timer);
  }

  // A folder that is away for a moment keeps its skills.
  #scanned(): SkillScan {
    try {
      return scanSkills(this.#owner, this.#dir);
    } catch (error) {
      const problem = { path: this.#dir, message: messageOf(error) };
      return { skills: this.#scan.skills, problems: [problem] };
    }
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const print = await printOf(this.#dir);
      if (print === this.#print) return;
      this.#print = print;
      this.reload();
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isLooking = false;
    }
  }

  // No caller awaits this promise: an error in it would end the process.
  #fail(error: unknown): void {
    const { skills, problems } = this.#scan;
    const problem = { path: this.#dir, message: messageOf(error) };
    this.#scan = { skills, problems: [...problems, problem] };
    this.#listener.report(this.#scan);
  }
}

// Changes with each file SKILL.md.
async function printOf(dir: string): Promise<string> {
  try {
    const names = (await files.readdir(dir)).sort();
    const prints = await Promise.all(
      names.map(async (name) => {
        const facts = await files.stat(join(dir, name, 'SKILL.md')).catch(() => undefined);
        return [name, facts?.mtimeMs, facts?.size, facts?.ino];
      }),
    );
    return JSON.stringify(prints);
  } catch (error) {
    return messageOf(error);
  }
}
