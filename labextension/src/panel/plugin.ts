import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';
import { IAgentPanel, IApprovalSight, ISessionRegistry } from '../tokens';
import { ApprovalCaller } from './approvals';
import { agentIcon } from './icon';
import { watchQueue } from './queued';
import { AgentPanel, PANEL_ID } from './widget';

const CATEGORY = 'Agent';
/** Behind the property inspector and the debugger. */
const RANK = 900;

/** Ids of the commands; part of the public face of this extension. */
export const Commands = {
  open: 'agent-kernel:open-panel',
  stop: 'agent-kernel:stop',
  fresh: 'agent-kernel:new-conversation',
  turnOn: 'agent-kernel:turn-on'
} as const;

/** The side panel, the commands, and what calls the person to it. */
export const panel: JupyterFrontEndPlugin<IAgentPanel> = {
  id: 'jupyter-agent-kernel:panel',
  description: 'The side panel with the conversation of the active notebook, and its commands.',
  autoStart: true,
  provides: IAgentPanel,
  requires: [ISessionRegistry, IApprovalSight],
  optional: [ICommandPalette, ILayoutRestorer],
  activate: (
    app: JupyterFrontEnd,
    registry: ISessionRegistry,
    sight: IApprovalSight,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null
  ): IAgentPanel => {
    const widget = new AgentPanel(registry);
    app.shell.add(widget, 'right', { rank: RANK, type: 'Agent' });
    restorer?.add(widget, PANEL_ID);
    const shown: IAgentPanel = {
      get isVisible() {
        return widget.isVisible;
      },
      show: () => app.shell.activateById(PANEL_ID)
    };
    new ApprovalCaller(registry, sight, shown, count => widget.setPending(count));
    watchQueue(registry);
    addCommands(app, registry, shown);
    for (const command of Object.values(Commands)) {
      palette?.addItem({ command, category: CATEGORY });
    }
    return shown;
  }
};

function addCommands(app: JupyterFrontEnd, registry: ISessionRegistry, shown: IAgentPanel): void {
  const { commands } = app;
  const state = () => registry.current?.store.state;
  const report = (promise: Promise<unknown> | undefined): Promise<void> =>
    Promise.resolve(promise).then(
      () => undefined,
      (error: unknown) => {
        Notification.error(error instanceof Error ? error.message : String(error));
      }
    );
  commands.addCommand(Commands.open, {
    label: 'Show the Agent',
    caption: 'Open the panel with the conversation of this notebook',
    icon: agentIcon,
    execute: () => shown.show()
  });
  commands.addCommand(Commands.stop, {
    label: 'Stop the Agent',
    caption: 'End the turn that is on in this notebook',
    isEnabled: () => state()?.running != null,
    execute: () => report(registry.current?.actions.stop())
  });
  commands.addCommand(Commands.fresh, {
    label: 'New Conversation with the Agent',
    isEnabled: () => state()?.connection === 'ready',
    execute: () => report(registry.current?.actions.newSession())
  });
  commands.addCommand(Commands.turnOn, {
    label: 'Turn On the Agent in This Notebook',
    caption: 'Load agent_kernel into the kernel of this notebook',
    isEnabled: () => state()?.connection === 'unavailable',
    execute: () => report(registry.current?.actions.turnOn())
  });
  registry.changed.connect(() => commands.notifyCommandChanged());
}
