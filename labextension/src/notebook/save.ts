/** Saving for the person, carefully: only what nobody was in the middle of. */
import type { NotebookPanel } from '@jupyterlab/notebook';

/**
 * Whether a document may be written without the person asking. One that lost most of its cells, or
 * all but an empty one, is more likely broken than meant (a lost connection can do that).
 */
export function looksWhole(before: number, panel: NotebookPanel): boolean {
  const cells = panel.content.model?.sharedModel.cells ?? [];
  const only = cells.length === 1 ? cells[0] : undefined;
  const emptied = only !== undefined && before > 1 && only.getSource() === '';
  return cells.length > 0 && cells.length * 2 >= before && !emptied;
}

/** Save unless it is read-only. Rejects when it could not be written. */
export async function save(panel: NotebookPanel): Promise<void> {
  if (panel.context.contentsModel?.writable === false) {
    throw new Error('The notebook is read-only here.');
  }
  await panel.context.save();
}

/** Run `change`; if the document was clean before, save it afterwards, in the background. */
export function savedIfClean<T>(panel: NotebookPanel, change: () => T): T {
  const model = panel.content.model;
  const wasClean = model !== null && !model.dirty;
  const before = model?.sharedModel.cells.length ?? 0;
  const result = change();
  if (wasClean && looksWhole(before, panel)) {
    save(panel).catch((error: unknown) => {
      console.warn('agent-kernel: the notebook was not saved', error);
    });
  }
  return result;
}
