/** What a call does or did: the exact thing, whole. */
import type { JSX } from 'react';
import type { CellPreview, Preview } from '../protocol/generated';
import { Diff } from './Diff';
import { count } from './format';
import { CopyButton } from './parts';
import { VisibleText, oneLine } from './visible';

const LANGUAGES = { code: 'Code', markdown: 'Markdown', raw: 'Raw text' } as const;

export function PreviewView({ preview }: { preview: Preview }): JSX.Element {
  switch (preview.kind) {
    case 'command':
      return <ExactText text={preview.command} title={preview.cwd ? `In ${preview.cwd}` : 'Command'} />;
    case 'code':
      return <ExactText text={preview.code} title={preview.language || 'Code'} />;
    case 'diff':
      return <Diff old={preview.old} new={preview.new} title={preview.path} />;
    case 'cell':
      return <CellChangeView preview={preview} />;
    case 'text':
      return <ExactText text={preview.text} title="Text" />;
    default:
      return <ExactText text={JSON.stringify(preview, null, 2)} title="Details" />;
  }
}

function CellChangeView({ preview }: { preview: CellPreview }): JSX.Element {
  const where = preview.where ? ` ${preview.where}` : '';
  switch (preview.op) {
    case 'insert':
      return <ExactText text={preview.new ?? ''} title={`${LANGUAGES[preview.cell_type]}, new cell${where}`} />;
    case 'replace':
      return <Diff old={preview.old ?? ''} new={preview.new ?? ''} title={`Cell${where}`} />;
    case 'delete':
      return <Diff old={preview.old ?? ''} new="" title={`Cell${where}, deleted`} />;
    case 'move':
      return <ExactText text={preview.old ?? preview.new ?? ''} title={`Cell, moved${where}`} />;
    default:
      return <ExactText text={preview.new ?? preview.old ?? ''} title={`Cell${where}`} />;
  }
}

/** One text node that scrolls and is never cut. */
export function ExactText({ text, title }: { text: string; title: string }): JSX.Element {
  const lines = text.split('\n').length;
  return (
    <figure className="ak-code">
      <figcaption className="ak-code-bar">
        <span className="ak-code-title">
          <VisibleText text={oneLine(title)} strict />
        </span>
        {lines > 1 ? <span className="ak-code-size">{count(lines, 'line')}</span> : null}
        <CopyButton text={text} what="it" />
      </figcaption>
      <pre className="ak-pre ak-exact" tabIndex={0} aria-label={title}>
        <VisibleText text={text} strict />
      </pre>
    </figure>
  );
}
