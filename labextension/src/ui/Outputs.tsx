/** Results and outputs: text, pictures, tables. Nothing of them is ever put in as HTML. */
import { Fragment, useEffect, useMemo, useRef, useState } from 'react';
import type { JSX } from 'react';
import type { CellOutput, JsonValue, ResultContent } from '../protocol/generated';
import { LongText } from './parts';

export function Results({ content }: { content: readonly ResultContent[] }): JSX.Element {
  return (
    <>
      {content.map((block, at) =>
        block.type === 'image' ? (
          <Picture key={at} type={block.media_type} data={block.data} />
        ) : (
          <LongText key={at} text={block.text} label="Result" />
        )
      )}
    </>
  );
}

export function Outputs({ outputs }: { outputs: readonly CellOutput[] }): JSX.Element {
  return (
    <>
      {outputs.map((output, at) => (
        <Fragment key={at}>{one(output)}</Fragment>
      ))}
    </>
  );
}

const PICTURES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;

function one(output: CellOutput): JSX.Element | null {
  if (output.output_type === 'stream') {
    return <LongText text={output.text ?? ''} label={output.name === 'stderr' ? 'Errors printed' : 'Printed'} />;
  }
  if (output.output_type === 'error') {
    const trace = output.traceback?.join('\n') ?? '';
    return <LongText text={trace || `${output.ename ?? ''}: ${output.evalue ?? ''}`} label="Error" />;
  }
  const data = output.data ?? {};
  const type = PICTURES.find(name => typeof data[name] === 'string');
  if (type !== undefined) {
    return <Picture type={type} data={textOf(data[type])} alt={textOf(data['text/plain'])} />;
  }
  const html = textOf(data['text/html']);
  const plain = textOf(data['text/plain']);
  return html.includes('<table') ? <HtmlTable html={html} plain={plain} /> : <LongText text={plain} label="Output" />;
}

/** nbformat allows a list of lines wherever it has text. */
function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string'
    ? value
    : Array.isArray(value)
      ? value.filter(line => typeof line === 'string').join('')
      : '';
}

interface Cell {
  readonly text: string;
  readonly head: boolean;
  readonly columns: number;
  readonly rows: number;
}

/** A data frame as the notebook shows it: only the text of its cells is taken over. */
function HtmlTable({ html, plain }: { html: string; plain: string }): JSX.Element {
  const rows = useMemo(() => tableOf(html), [html]);
  if (rows.length === 0) {
    return <LongText text={plain} label="Output" />;
  }
  return (
    <div className="ak-table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <tbody>
          {rows.map((row, line) => (
            <tr key={line}>
              {row.map((cell, at) => {
                const Tag = cell.head ? 'th' : 'td';
                return (
                  <Tag key={at} colSpan={cell.columns} rowSpan={cell.rows}>
                    {cell.text}
                  </Tag>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function tableOf(html: string): readonly (readonly Cell[])[] {
  // A document made this way runs no script and fetches nothing.
  const table = new DOMParser().parseFromString(html, 'text/html').querySelector('table');
  return Array.from(table?.rows ?? [], row =>
    Array.from(row.cells, cell => ({
      text: cell.textContent.trim(),
      head: cell.tagName === 'TH',
      columns: Math.min(100, Math.max(1, cell.colSpan)),
      rows: Math.min(100, Math.max(1, cell.rowSpan))
    }))
  );
}

/** A picture at the width there is; a click shows it large. */
export function Picture({ type, data, alt }: { type: string; data: string; alt?: string }): JSX.Element {
  const [large, setLarge] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const source = `data:${type};base64,${data.replace(/[^A-Za-z0-9+/=]/g, '')}`;
  const name = alt !== undefined && alt !== '' ? alt.slice(0, 80) : 'Picture';
  useEffect(() => {
    if (large) {
      dialog.current?.showModal();
    }
  }, [large]);
  return (
    <>
      <button
        type="button"
        className="ak-picture"
        aria-label={`${name}: enlarge`}
        onClick={() => setLarge(true)}
      >
        <img src={source} alt={name} />
      </button>
      {large ? (
        <dialog
          ref={dialog}
          className="ak-dialog"
          aria-label={name}
          data-lm-suppress-shortcuts
          onClose={() => setLarge(false)}
          onClick={() => dialog.current?.close()}
        >
          <img src={source} alt={name} />
          <button type="button" className="ak-button">
            Close
          </button>
        </dialog>
      ) : null}
    </>
  );
}
