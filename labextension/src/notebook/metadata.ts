/** The notebook's own conversation, named in its metadata (written when the person saves). */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { PartialJSONValue } from '@lumino/coreutils';
import { METADATA } from './document';

type Mark = Record<string, PartialJSONValue>;

function markOf(panel: NotebookPanel): Mark {
  const mark = panel.content.model?.sharedModel.getMetadata(METADATA);
  return mark !== null && typeof mark === 'object' && !Array.isArray(mark) ? (mark as Mark) : {};
}

/** The id of the conversation that was held in this notebook; null if it names none. */
export function namedSession(panel: NotebookPanel): string | null {
  const id = markOf(panel)['session_id'];
  return typeof id === 'string' && id !== '' ? id : null;
}

/** Name it, unless that stands there already. */
export function nameSession(panel: NotebookPanel, sessionId: string): void {
  const shared = panel.content.model?.sharedModel;
  if (shared && namedSession(panel) !== sessionId) {
    shared.setMetadata(METADATA, { ...markOf(panel), session_id: sessionId });
  }
}
