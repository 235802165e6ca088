/** The side panel: hosts the shared component for the kernel of the notebook in front. */
import { PathExt } from '@jupyterlab/coreutils';
import { ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import type { JSX } from 'react';
import { EMPTY_SESSION } from '../session/state';
import type { IKernelSession, ISessionRegistry } from '../tokens';
import { guardKeys } from '../ui/keys';
import { Panel, type SessionActions } from '../ui';
import { agentIcon } from './icon';
import { suggestionsFor } from './suggestions';

export const PANEL_ID = 'agent-kernel-panel';
/** What the style sheet draws the number on the tab from. */
const PENDING = 'agent-kernel-pending';

const nothing = (): Promise<never> => Promise.reject(new Error('No kernel is connected.'));

/** For a panel beside which no notebook with a kernel stands. */
const NO_ACTIONS: SessionActions = {
  prompt: nothing,
  answer: nothing,
  stop: nothing,
  set: nothing,
  command: nothing,
  complete: nothing,
  newSession: nothing,
  turnOn: nothing,
  revealCell: () => undefined,
  showApproval: () => undefined,
  can: () => false
};

export class AgentPanel extends ReactWidget {
  constructor(private readonly registry: ISessionRegistry) {
    super();
    this.id = PANEL_ID;
    this.addClass('ak-host');
    this.title.icon = agentIcon;
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'Agent');
    guardKeys(this.node);
    registry.changed.connect(this.follow, this);
    this.follow();
    this.setPending(0);
  }

  /** The count on the tab: questions that wait for the person, in any notebook. */
  setPending(count: number): void {
    const waiting = count === 1 ? '1 approval waits' : `${count} approvals wait`;
    this.title.caption = count > 0 ? `Agent: ${waiting}` : 'Agent';
    // The shell keeps its own entries in here.
    const rest = Object.entries(this.title.dataset).filter(([key]) => key !== PENDING);
    const own: [string, string][] = count > 0 ? [[PENDING, String(count)]] : [];
    this.title.dataset = Object.fromEntries([...rest, ...own]);
  }

  override dispose(): void {
    this.registry.changed.disconnect(this.follow, this);
    this.session?.store.changed.disconnect(this.update, this);
    super.dispose();
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    const { node } = this;
    (node.querySelector('textarea') ?? node.querySelector('button'))?.focus();
  }

  protected override render(): JSX.Element {
    const panel = this.registry.currentPanel;
    const state = this.session?.store.state ?? EMPTY_SESSION;
    const document = panel?.content.model?.sharedModel ?? null;
    return (
      <Panel
        key={this.session?.kernelId ?? ''}
        state={state}
        actions={this.session?.actions ?? NO_ACTIONS}
        notebookName={panel ? PathExt.basename(panel.context.path) : null}
        suggestions={state.runs.length === 0 ? suggestionsFor(document) : undefined}
      />
    );
  }

  private follow(): void {
    const session = this.registry.current;
    if (session !== this.session) {
      this.session?.store.changed.disconnect(this.update, this);
      this.session = session;
      session?.store.changed.connect(this.update, this);
    }
    this.update();
  }

  private session: IKernelSession | null = null;
}
