import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { sessions } from './session/plugin';

/** The plugins of this extension; each lives in its own room. */
const plugins: JupyterFrontEndPlugin<unknown>[] = [sessions];

export default plugins;
