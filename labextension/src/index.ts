import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

/** The plugins of this extension; each lives in its own room. */
const plugins: JupyterFrontEndPlugin<unknown>[] = [
  {
    id: 'jupyter-agent-kernel:plugin',
    description: 'Settings of the notebook agent.',
    autoStart: true,
    activate: () => undefined
  }
];

export default plugins;
