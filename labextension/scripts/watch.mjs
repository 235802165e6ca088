// `npm run watch`: TypeScript, the widget bundle and the extension, each rebuilt on change.
import { spawn } from 'node:child_process';

const commands = [
  ['tsc', ['--build', '--watch', '--preserveWatchOutput']],
  ['node', ['scripts/widget.mjs', '--watch']],
  ['jupyter-builder', ['watch', '.']]
];
const children = commands.map(([program, args]) => spawn(program, args, { stdio: 'inherit' }));
const stop = () => children.forEach(child => child.kill());
process.on('SIGINT', stop);
process.on('SIGTERM', stop);
