// Bundle the gallery of the shared components into a folder: `node scripts/gallery.mjs OUT [THEME.css …]`.
// It is a page for looking at and for tests; nothing of it is shipped.
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = path => fileURLToPath(new URL(path, import.meta.url));
const [out, ...themes] = process.argv.slice(2);
if (!out) {
  console.error('Usage: node scripts/gallery.mjs OUT [THEME.css …]');
  process.exit(1);
}
await mkdir(out, { recursive: true });
await esbuild.build({
  entryPoints: [here('../src/gallery/index.tsx'), here('../style/ui.css')],
  outdir: out,
  entryNames: '[name]',
  bundle: true,
  format: 'iife',
  target: 'es2022',
  jsx: 'automatic',
  minify: true,
  define: { 'process.env.NODE_ENV': '"production"' },
  logLevel: 'warning'
});
for (const theme of themes) {
  await cp(theme, join(out, `${basename(dirname(theme))}.css`));
}
await writeFile(
  join(out, 'index.html'),
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Gallery</title>
<link rel="stylesheet" href="ui.css">
<style>
  body { margin: 0; background: var(--jp-layout-color0, #fff); font-family: var(--jp-ui-font-family, sans-serif); }
  .gallery-cell { padding: 8px; }
  .gallery-panel { height: 100vh; }
</style>
<script>
  // Before anything is drawn: the theme of the address (?theme=theme-dark-extension).
  const theme = new URLSearchParams(location.search).get('theme');
  if (theme) {
    document.head.insertAdjacentHTML('beforeend', '<link rel="stylesheet" href="' + encodeURIComponent(theme) + '.css">');
  }
</script>
</head>
<body>
<script>
  if (theme) document.body.dataset.jpThemeLight = String(!theme.includes('dark'));
</script>
<div id="root"></div>
<script src="index.js"></script>
</body>
</html>
`
);
