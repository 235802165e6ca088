import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { panel } from './panel/plugin';
import { sessions } from './session/plugin';
import { turns } from './turn/plugin';

/** The plugins of this extension; each lives in its own room. */
const plugins: JupyterFrontEndPlugin<unknown>[] = [sessions, turns, panel];

export default plugins;
