/** Keeps the person where they are while cells around them change. */
import type { Cell } from '@jupyterlab/cells';
import type { Notebook } from '@jupyterlab/notebook';

/** The topmost cell that is seen, and how far it stands below the upper edge. */
interface IAnchor {
  id: string;
  offset: number;
}

function scroller(notebook: Notebook): HTMLElement {
  return notebook.viewportNode.closest<HTMLElement>('.jp-WindowedPanel-outer') ?? notebook.node;
}

function anchorOf(notebook: Notebook, outer: HTMLElement): IAnchor | null {
  const box = outer.getBoundingClientRect();
  for (const cell of notebook.widgets) {
    if (!cell.isAttached) {
      continue;
    }
    const rect = cell.node.getBoundingClientRect();
    if (rect.height > 0 && rect.bottom > box.top && rect.top < box.bottom) {
      return { id: cell.model.id, offset: rect.top - box.top };
    }
  }
  return null;
}

function widgetOf(notebook: Notebook, id: string): Cell | undefined {
  return notebook.widgets.find(cell => cell.model.id === id);
}

/**
 * Run `change`, then put the active cell and the scroll position back. Focus is never taken: it is
 * only given back to the editor that had it, if its cell had to be made anew.
 */
export function keepView<T>(notebook: Notebook, change: () => T): T {
  const outer = scroller(notebook);
  const anchor = anchorOf(notebook, outer);
  const active = notebook.activeCell;
  const activeId = active?.model.id;
  const hadFocus = active?.editor?.hasFocus() ?? false;
  const cursor = hadFocus ? active?.editor?.getCursorPosition() : undefined;
  const { mode } = notebook;

  const result = change();

  const index = notebook.widgets.findIndex(cell => cell.model.id === activeId);
  if (index >= 0 && index !== notebook.activeCellIndex) {
    notebook.activeCellIndex = index;
  }
  const now = notebook.activeCell;
  if (hadFocus && now && now !== active && now.model.id === activeId) {
    notebook.mode = mode;
    now.editor?.focus();
    if (cursor) {
      now.editor?.setCursorPosition(cursor);
    }
  }
  if (anchor) {
    requestAnimationFrame(() => {
      const cell = widgetOf(notebook, anchor.id);
      if (cell?.isAttached) {
        const moved =
          cell.node.getBoundingClientRect().top - outer.getBoundingClientRect().top - anchor.offset;
        if (Math.abs(moved) > 1) {
          outer.scrollTop += moved;
        }
      }
    });
  }
  return result;
}
