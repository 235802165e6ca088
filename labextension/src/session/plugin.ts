import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { version } from '../../package.json';
import { ISessionRegistry } from '../tokens';
import { SessionRegistry } from './registry';

/** Connects every open notebook's kernel to its agent. */
export const sessions: JupyterFrontEndPlugin<ISessionRegistry> = {
  id: 'jupyter-agent-kernel:sessions',
  description: 'Connects the kernels of open notebooks to their agents.',
  autoStart: true,
  provides: ISessionRegistry,
  requires: [INotebookTracker],
  activate: (app: JupyterFrontEnd, tracker: INotebookTracker): ISessionRegistry =>
    new SessionRegistry({
      tracker,
      clientName: `${app.name} ${app.version}`,
      version,
      activate: panel => app.shell.activateById(panel.id)
    })
};
