/** Knows every turn that is drawn, and so where a pending approval can be seen. */
import { Cell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import type { IApprovalSight } from '../tokens';
import { above, type TurnView } from './views';

/** Pixels of a card that have to be seen. */
const ENOUGH = 40;

export class ApprovalSight implements IApprovalSight {
  constructor(private readonly activate: (id: string) => void) {}

  add(view: TurnView): void {
    this.views.add(view);
    view.disposed.connect(() => this.views.delete(view));
  }

  isInSight(requestId: string): boolean {
    return document.visibilityState === 'visible' && this.cards(requestId).some(isSeen);
  }

  show(requestId: string): boolean {
    for (const view of this.views) {
      if (!view.requests.some(request => request.request_id === requestId)) {
        continue;
      }
      const panel = above(view, NotebookPanel);
      const cell = above(view, Cell);
      if (panel) {
        this.activate(panel.id);
      }
      const scrolled = panel && cell ? panel.content.scrollToCell(cell) : Promise.resolve();
      void scrolled.then(() => {
        cardIn(view.node, requestId)?.scrollIntoView({ block: 'center' });
      });
      return true;
    }
    return false;
  }

  private cards(requestId: string): Element[] {
    return [...this.views].flatMap(view =>
      view.isVisible ? (cardIn(view.node, requestId) ?? []) : []
    );
  }

  private readonly views = new Set<TurnView>();
}

function cardIn(node: HTMLElement, requestId: string): Element | null {
  return node.querySelector(`[data-request-id="${CSS.escape(requestId)}"]`);
}

/** Inside the part of the notebook that is scrolled into sight. */
function isSeen(card: Element): boolean {
  const box = card.getBoundingClientRect();
  let [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, window.innerHeight)];
  const outer = card.closest('.jp-WindowedPanel-outer')?.getBoundingClientRect();
  if (outer) {
    [top, bottom] = [Math.max(top, outer.top), Math.min(bottom, outer.bottom)];
  }
  return box.width > 0 && bottom - top >= Math.min(ENOUGH, box.height);
}
