import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import js from '@eslint/js';
import typescript from 'typescript-eslint';

export default typescript.config(
  {
    ignores: [
      ...['build/', 'dist/', 'prebuilds/', 'coverage/', 'test/e2e/app/'],
      ...['bench/node_modules/', 'test/wires/node_modules/'],
      ...['test/openapi/node_modules/', 'test/openui/node_modules/'],
      'test/frameworks/node_modules/',
      // Compiled by `npm run test:package`, against the installed package.
      'test/package/subpaths.test.ts',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.mjs', '**/*.cjs'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          ...[
            'process',
            'console',
            'Buffer',
            'URL',
            'URLSearchParams',
            'fetch',
            'Request',
            'Response',
            'TextDecoder',
            'TextEncoder',
          ],
          ...['AbortController', 'AbortSignal', 'ReadableStream', 'performance', 'structuredClone'],
          ...[
            'setTimeout',
            'clearTimeout',
            'setInterval',
            'clearInterval',
            'setImmediate',
            'queueMicrotask',
          ],
        ].map((name) => [name, 'readonly']),
      ),
    },
  },
  {
    // Functions that run in a page.
    files: ['console', 'openui', 'player'].map((name) => `scripts/testing/${name}-pages.mjs`),
    languageOptions: {
      globals: Object.fromEntries(
        ['document', 'window', 'innerWidth', 'localStorage'].map((name) => [name, 'readonly']),
      ),
    },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: {
      globals: {
        require: 'readonly',
        module: 'writable',
        global: 'readonly',
        __dirname: 'readonly',
        __filename: 'readonly',
      },
    },
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [...typescript.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: {
        projectService: true,
        tsconfigRootDir: dirname(fileURLToPath(import.meta.url)),
      },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      // A default says that the rest is of no interest.
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // The addon is opened by literal requires, which bundlers can trace.
      '@typescript-eslint/no-require-imports': 'off',
      // Async methods that need not wait yet keep the interface's shape.
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['js/**/*.ts', 'console/**/*.{ts,tsx}'],
    rules: {
      'no-console': ['error', { allow: ['error'] }],
      'max-lines-per-function': ['error', { max: 60, skipComments: true, skipBlankLines: true }],
    },
  },
  {
    // The page is a program of its own.
    files: ['console/**/*.{ts,tsx}'],
    rules: {
      'no-restricted-imports': ['error', { patterns: ['**/js/**', 'node:*', 'millrace*'] }],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/only-throw-error': 'off',
    },
  },
);
