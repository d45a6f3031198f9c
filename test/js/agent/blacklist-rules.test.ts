// Rules of a blacklist as hosts keep them: what a rule of shell commands looks for, by either name.
import type { SecurityBlacklistConfig } from 'millrace';
import { InterventionChecker } from 'millrace';

const ruleOf = (predicate: string): SecurityBlacklistConfig => [
  { description: 'mine', match: { command: { type: 'semanticShell', predicate } } },
];
const check = (rules: SecurityBlacklistConfig | undefined, command: string) =>
  InterventionChecker.checkSecurityBlacklist(rules, { command });

describe('a rule of shell commands', () => {
  it.each([
    ['rmRecursiveRootTarget', 'sudo rm -fr /', 'rm -rf ./build'],
    ['rmRecursiveHomeTarget', 'rm -r "$HOME"', 'rm -rf ./build'],
    ['rmForceDotTarget', 'rm -rf .', 'rm -r .'],
    ['forkBomb', ':(){ :|:& };:', 'ls'],
  ])('looks for its predicate %s', (predicate, found, other) => {
    const hit = { blocked: true, reason: 'mine', policy: 'always' };
    expect(check(ruleOf(predicate), found)).toEqual(hit);
    expect(check(ruleOf(predicate), other)).toEqual({ blocked: false });
  });

  it('has the same predicates as patterns', () => {
    const rules: SecurityBlacklistConfig = [
      { description: 'mine', match: { command: { type: 'semanticShell', pattern: 'rmRootDir' } } },
    ];
    expect(check(rules, 'rm -rf /').blocked).toBe(true);
  });

  it('without a known predicate never matches', () => {
    expect(check(ruleOf('somethingElse'), 'rm -rf /')).toEqual({ blocked: false });
  });
});

describe('the reasons of the default blacklist', () => {
  it.each([
    ['rm -rf .', 'rmForceRecursive'],
    ['cat /dev/mem', 'directMemoryAccess'],
  ])('%s is %s', (command, name) => {
    expect(check(undefined, command).reason).toBe(`securityBlacklist.${name}`);
  });
});
