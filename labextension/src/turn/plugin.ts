import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { SKILLS_MIME, TURN_MIME } from '../protocol/generated';
import { IApprovalSight, ISessionRegistry } from '../tokens';
import { ApprovalSight } from './sight';
import { SkillsView, TurnView } from './views';

/** Before Markdown (60) and HTML (50), which stand beside ours in the same output. */
const RANK = 10;

/** Draws turns and skill lists in the outputs of cells. Safe: what a file holds is shown as data. */
export const turns: JupyterFrontEndPlugin<IApprovalSight> = {
  id: 'jupyter-agent-kernel:turns',
  description: 'Shows turns of the agent and lists of skills in the outputs of cells.',
  autoStart: true,
  provides: IApprovalSight,
  requires: [IRenderMimeRegistry, ISessionRegistry],
  activate: (
    app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    registry: ISessionRegistry
  ): IApprovalSight => {
    const sight = new ApprovalSight(id => app.shell.activateById(id));
    rendermime.addFactory(
      {
        safe: true,
        mimeTypes: [TURN_MIME],
        createRenderer: () => {
          const view = new TurnView(registry);
          sight.add(view);
          return view;
        }
      },
      RANK
    );
    rendermime.addFactory(
      { safe: true, mimeTypes: [SKILLS_MIME], createRenderer: () => new SkillsView(registry) },
      RANK
    );
    return sight;
  }
};
