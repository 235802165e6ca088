// `npm test [part of a name]`: bundle each src/**/*.test.ts(x) for node and run node's own test runner.
import { spawnSync } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const out = join(root, 'lib-test');
const wanted = process.argv[2] ?? '';

const tests = (await readdir(join(root, 'src'), { recursive: true }))
  .filter(name => /\.test\.tsx?$/.test(name) && name.includes(wanted))
  .map(name => join(root, 'src', name));
if (tests.length === 0) {
  console.error(`No test file matches "${wanted}".`);
  process.exit(1);
}

await rm(out, { recursive: true, force: true });
const outputs = await esbuild.build({
  entryPoints: tests,
  outdir: out,
  outbase: join(root, 'src'),
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  jsx: 'automatic',
  sourcemap: 'inline',
  loader: { '.css': 'text', '.svg': 'text' },
  metafile: true,
  logLevel: 'warning'
});
const built = Object.keys(outputs.metafile.outputs).filter(name => name.endsWith('.test.cjs'));
console.log(built.map(name => basename(name)).join(' '));
const { status } = spawnSync(
  process.execPath,
  ['--enable-source-maps', '--test', '--test-reporter=spec', ...built],
  { stdio: 'inherit', cwd: process.cwd() }
);
process.exit(status ?? 1);
