// Bundle the cell widgets into one ES module for hosts without our JupyterLab extension.
// React and everything else is inlined: anywidget loads a single file.
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const prod = process.argv.includes('--prod');

export const options = {
  entryPoints: [here('../src/widgets/index.tsx')],
  outfile: here('../../agent_kernel/view/static/widget.js'),
  bundle: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  minify: prod,
  sourcemap: prod ? false : 'inline',
  legalComments: 'none',
  // Style sheets travel inside the module as text; the widget puts them into the page.
  loader: { '.css': 'text', '.svg': 'text' },
  define: { 'process.env.NODE_ENV': JSON.stringify(prod ? 'production' : 'development') },
  logLevel: 'info'
};

await mkdir(here('../../agent_kernel/view/static'), { recursive: true });
if (process.argv.includes('--watch')) {
  await (await esbuild.context(options)).watch();
} else {
  await esbuild.build(options);
}
