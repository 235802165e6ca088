import js from '@eslint/js';
import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['lib/', 'lib-test/', 'node_modules/', 'src/protocol/generated.ts'] },
  js.configs.recommended,
  {
    files: ['src/**/*.{ts,tsx}'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.check.json' } },
    plugins: { 'react-hooks': reactHooks },
    rules: {
      'react-hooks/rules-of-hooks': 'error',
      'react-hooks/exhaustive-deps': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      // Numbers in labels are plain ("3 turns"); only objects in a template are a mistake.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // A switch over the event union must say what it does with each member, or have a default.
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true }
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      // `onClick={() => void run()}` is how a handler starts something asynchronous.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'max-lines': ['error', 400]
    }
  },
  {
    // A lumino signal is connected to a method and its object: `signal.connect(this.onX, this)`.
    files: ['src/{session,notebook,turn,panel}/**/*.{ts,tsx}'],
    rules: { '@typescript-eslint/unbound-method': 'off' }
  },
  {
    // A test that meets an undefined fails by itself, which is all it has to do.
    files: ['src/**/*.test.{ts,tsx}'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      // node:test's describe and it return promises that nobody awaits.
      '@typescript-eslint/no-floating-promises': 'off'
    }
  },
  {
    files: ['scripts/**/*.{cjs,mjs}', 'eslint.config.mjs'],
    languageOptions: { globals: { console: 'readonly', process: 'readonly', URL: 'readonly' } }
  },
  {
    // What both hosts draw may not know the one it is drawn in.
    files: ['src/ui/**/*.{ts,tsx}', 'src/widgets/**/*.{ts,tsx}'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: [{ group: ['@jupyterlab/*', '@lumino/*'], message: 'The widget bundle has no JupyterLab.' }] }
      ]
    }
  }
);
