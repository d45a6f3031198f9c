// The checks of lint.mjs that are the project's own, with made-up files.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = join(__dirname, '../../../scripts/lint');

function evaluate(module: string, expression: string): unknown {
  const url = pathToFileURL(join(folder, module)).href;
  const program = `
    import * as lint from ${JSON.stringify(url)};
    console.log(JSON.stringify(${expression}));`;
  return JSON.parse(String(execFileSync(process.execPath, ['--input-type=module', '-e', program])));
}

// What clang-tidy exports of one finding.
const finding = (message: string, offset: number, text: string) => `
  - DiagnosticName:  misc-include-cleaner
    DiagnosticMessage:
      Message:         ${message}
      FileOffset:      ${offset}
      Replacements:
        - Offset:          0
          ReplacementText: ${text}
    Level:           Error
`;

describe('the include check', () => {
  it('reports what came by chance and what is unused, and trusts our own headers', () => {
    const root = mkdtempSync(join(tmpdir(), 'millrace-lint-'));
    try {
      mkdirSync(join(root, 'lib/base'), { recursive: true });
      writeFileSync(join(root, 'lib/base/a.hpp'), '#include <string>\n');
      const source = '#include "base/a.hpp"\n#include <vector>\nstd::string x;\n';
      writeFileSync(join(root, 'lib/base/a.cpp'), source);
      const missing = (name: string, header: string) =>
        finding(
          `'no header providing "${name}" is directly included'`,
          41,
          `"#include ${header}\\n"`,
        );
      const fixes =
        missing('std::string', '<string>') +
        missing('std::uint8_t', '<cstdint>') +
        missing('std::uint16_t', '<cstdint>') +
        missing('millrace::Error', '\\"base/error.hpp\\"') +
        missing('boost::asio::post', '<boost/asio/post.hpp>') +
        finding('included header vector is not used directly', 22, "''");
      const file = JSON.stringify(join(root, 'lib/base/a.cpp'));
      const found = evaluate(
        'includes.mjs',
        `lint.problems(${JSON.stringify(root)}, ${file}, ${JSON.stringify(fixes)})`,
      );
      expect(found).toMatchObject([
        { line: 3, add: '<cstdint>' },
        { line: 2, take: '<vector>' },
      ]);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});

describe('the check of names', () => {
  it('finds free functions, and leaves methods, calls and JavaScript methods alone', () => {
    const text = [
      'std::string quoted(std::string_view text) {',
      '  return find(text);',
      '}',
      'constexpr bool is_set(int x);',
      'Napi::Value count(const Napi::CallbackInfo& info) {',
      'std::string Client::data() {',
      '',
    ].join('\n');
    expect(evaluate('std-names.mjs', `lint.freeFunctions(${JSON.stringify(text)})`)).toEqual([
      'quoted',
      'is_set',
    ]);
  });
});

describe('the check of terms', () => {
  it('finds words in names, CLI texts, error sentences and docs', () => {
    const cases: [file: string, text: string, words: string[]][] = [
      ['lib/a.cpp', 'bool is_told = Told::asked_for;', ['told', 'told', 'asked']],
      ['lib/a.cpp', '// told\nconst char* a = "told", *b = R"(told)";', []],
      ['test/native/a_test.cpp', 'TEST(Told, TellsOfRows) {}', ['told']],
      ['js/a.ts', 'const toldBy = `said ${asked}`; // told', ['told', 'asked']],
      ['js/a.ts', 'part.thoughtSignature = part.thoughts;', ['thoughts']],
      ['js/cli/a.ts', "write('A person is asked.');", ['A person', 'is asked']],
      ['docs/a.md', 'Nobody is told of `told`.\n\n```\ntold\n```\n', ['Nobody', 'told']],
      ['lib/base/errors.def', 'MILLRACE_ERROR(x, 400, no, T, "It says nothing.")', ['says']],
      ['docs/exports.md', 'told', []],
      ['test/golden/a.cpp', 'int told;', []],
    ];
    const found = evaluate(
      'terms.mjs',
      `${JSON.stringify(cases)}.map(([file, text]) => lint.wordsOf(file, text))`,
    );
    expect(found).toEqual(cases.map(([, , words]) => words));
  });

  it('lets counts fall and files move, and reports counts that rise', () => {
    const cases: [counts: Record<string, number>, problems: number][] = [
      [{ a: 3, b: 2 }, 0],
      [{ a: 1 }, 0],
      [{ a: 3, 'folder/b': 2 }, 0],
      [{ a: 4, b: 2 }, 1],
      [{ a: 3, b: 2, c: 1 }, 1],
      [{ a: 3, 'folder/b': 3 }, 1],
    ];
    const found = evaluate(
      'terms.mjs',
      `${JSON.stringify(cases)}.map(([counts]) => lint.risen(counts, { a: 3, b: 2 }).length)`,
    );
    expect(found).toEqual(cases.map(([, problems]) => problems));
  });
});
