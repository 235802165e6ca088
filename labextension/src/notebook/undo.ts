/** Takes the edits of a run back, cell by cell, where nobody has changed them since. */
import type { ISharedNotebook } from '@jupyter/ydoc';
import type { EditedCell } from '../protocol/generated';
import { hashOf, METADATA, typeOf } from './document';
import { writeSource, type Inverse } from './edit';

/** The edits of each run of one document, oldest first. Lives as long as the page. */
export class Journal {
  record(runId: string, inverse: readonly Inverse[]): void {
    this.runs.set(runId, [...(this.runs.get(runId) ?? []), ...inverse]);
  }

  /** `kept` are cells left alone since they are no longer the agent's. */
  undo(notebook: ISharedNotebook, runId: string): { cells: EditedCell[]; kept: string[] } {
    const steps = [...(this.runs.get(runId) ?? [])].reverse();
    this.runs.delete(runId);
    const touched = new Set<string>();
    const kept = new Set<string>();
    for (const step of steps) {
      const id = step.kind === 'deleted' ? (step.before['id'] as string) : step.id;
      // A cell that was kept once is kept whole: an older state below a newer edit helps nobody.
      (!kept.has(id) && takeBack(notebook, step) ? touched : kept).add(id);
    }
    kept.forEach(id => touched.delete(id));
    const cells = [...touched].map((id): EditedCell => {
      const index = notebook.cells.findIndex(cell => cell.id === id);
      const cell = notebook.cells[index];
      return cell ? { id, index, hash: hashOf(cell) } : { id, index: null, hash: null };
    });
    return { cells, kept: [...kept] };
  }

  private readonly runs = new Map<string, Inverse[]>();
}

function takeBack(notebook: ISharedNotebook, step: Inverse): boolean {
  if (step.kind === 'deleted') {
    if (notebook.cells.some(cell => cell.id === step.before['id'])) {
      return false;
    }
    notebook.insertCell(behind(notebook, step.after), step.before);
    return true;
  }
  const at = notebook.cells.findIndex(cell => cell.id === step.id);
  const cell = notebook.cells[at];
  if (!cell) {
    return false;
  }
  if (step.kind === 'moved') {
    const to = behind(notebook, step.after);
    notebook.moveCell(at, to > at ? to - 1 : to);
    return true;
  }
  if (hashOf(cell) !== step.hash) {
    return false;
  }
  if (step.kind === 'made') {
    notebook.deleteCell(at);
  } else if (typeOf(cell) === step.before.cell_type) {
    const metadata = (step.before.metadata ?? {}) as Record<string, unknown>;
    writeSource(cell, step.before['source'] as string);
    if (metadata[METADATA] === undefined) {
      cell.deleteMetadata(METADATA);
    } else {
      cell.setMetadata(METADATA, metadata[METADATA] as never);
    }
  } else {
    notebook.transact(() => {
      notebook.deleteCell(at);
      notebook.insertCell(at, step.before);
    });
  }
  return true;
}

function behind(notebook: ISharedNotebook, id: string | null): number {
  if (id === null) {
    return 0;
  }
  const at = notebook.cells.findIndex(cell => cell.id === id);
  return at < 0 ? notebook.cells.length : at + 1;
}
