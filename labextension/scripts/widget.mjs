// Bundle the cell widgets into one ES module, and its style sheet, for hosts without our JupyterLab
// extension. React and everything else is inlined: anywidget loads a single file. The module travels
// to the page with every widget, so it is always small; `--watch` makes one that can be debugged.
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = path => fileURLToPath(new URL(path, import.meta.url));
const watch = process.argv.includes('--watch');

export const options = {
  entryPoints: { widget: here('../src/widgets/index.tsx') },
  outdir: here('../../agent_kernel/view/static'),
  bundle: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  minify: !watch,
  sourcemap: watch ? 'inline' : false,
  legalComments: 'none',
  define: { 'process.env.NODE_ENV': JSON.stringify(watch ? 'development' : 'production') },
  logLevel: 'info'
};
const styles = { ...options, entryPoints: { widget: here('../style/ui.css') }, sourcemap: false };

await mkdir(options.outdir, { recursive: true });
for (const part of [options, styles]) {
  if (watch) {
    await (await esbuild.context(part)).watch();
  } else {
    await esbuild.build(part);
  }
}
