/**
 * Model text as React elements: no HTML string is ever made, so there is nothing to sanitise. HTML
 * in the text shows as text, links are http, https and mailto, and no picture is fetched.
 */
import { Fragment, memo, useRef } from 'react';
import type { JSX, ReactNode } from 'react';
import { CodeBlock } from './CodeBlock';
import { decode, parse, safeLink, NOTHING } from './parse';
import type { MarkedToken, Parsed, Token } from './parse';

export interface MarkdownProps {
  readonly text: string;
  readonly growing?: boolean;
}

export const Markdown = memo(function Markdown({ text, growing = false }: MarkdownProps): JSX.Element {
  const before = useRef<Parsed>(NOTHING);
  // A cache of the last parse: writing it while drawing is safe, any order gives the same result.
  const parsed = (before.current = parse(text, before.current));
  const last = parsed.blocks.length - 1;
  return (
    <div className="ak-markdown">
      {parsed.blocks.map((block, at) => (
        <Block key={at} token={block} growing={growing && at === last} />
      ))}
    </div>
  );
});

/** Whole blocks keep their token, so they are not drawn again. */
const Block = memo(function Block({
  token,
  growing
}: {
  token: MarkedToken;
  growing: boolean;
}): JSX.Element {
  return <>{draw(token, 0, growing)}</>;
});

/** Deeper nesting than this is shown as its source. */
const DEPTH = 24;

function all(tokens: readonly Token[] | undefined, depth: number): ReactNode {
  return (tokens ?? []).map((token, at) => (
    <Fragment key={at}>{draw(token as MarkedToken, depth + 1, false)}</Fragment>
  ));
}

function draw(token: MarkedToken, depth: number, growing: boolean): ReactNode {
  if (depth > DEPTH) {
    return token.raw;
  }
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading': {
      // A turn is no document: its headings are small and start below the notebook's own.
      const Tag = `h${Math.min(6, token.depth + 2)}` as 'h3' | 'h4' | 'h5' | 'h6';
      return <Tag>{all(token.tokens, depth)}</Tag>;
    }
    case 'paragraph':
      return <p>{all(token.tokens, depth)}</p>;
    case 'text':
      return token.tokens ? all(token.tokens, depth) : decode(token.text);
    case 'escape':
      return token.text;
    case 'html':
      return token.block ? <p className="ak-source">{token.text.trim()}</p> : token.text;
    case 'code':
      return (
        <CodeBlock
          code={token.text}
          language={(token.lang ?? '').split(/\s/)[0] ?? ''}
          growing={growing && !/\n *(?:```+|~~~+)\s*$/.test(token.raw)}
        />
      );
    case 'codespan':
      return <code>{token.text}</code>;
    case 'blockquote':
      return <blockquote>{all(token.tokens, depth)}</blockquote>;
    case 'list':
      return token.ordered ? (
        <ol start={token.start === '' ? 1 : token.start}>{token.items.map((item, at) => (
          <li key={at}>{listItem(item, depth)}</li>
        ))}</ol>
      ) : (
        <ul>{token.items.map((item, at) => (
          <li key={at} className={item.task ? 'ak-task' : undefined}>{listItem(item, depth)}</li>
        ))}</ul>
      );
    case 'list_item':
      return listItem(token, depth);
    case 'checkbox':
      return <span aria-label={token.checked ? 'done' : 'open'} role="img">{token.checked ? '☑ ' : '☐ '}</span>;
    case 'table':
      return (
        <div className="ak-table" tabIndex={0} role="region" aria-label="Table">
          <table>
            <thead>
              <tr>{token.header.map((cell, at) => (
                <th key={at} style={align(cell.align)}>{all(cell.tokens, depth)}</th>
              ))}</tr>
            </thead>
            <tbody>{token.rows.map((row, line) => (
              <tr key={line}>{row.map((cell, at) => (
                <td key={at} style={align(cell.align)}>{all(cell.tokens, depth)}</td>
              ))}</tr>
            ))}</tbody>
          </table>
        </div>
      );
    case 'hr':
      return <hr />;
    case 'br':
      return <br />;
    case 'strong':
      return <strong>{all(token.tokens, depth)}</strong>;
    case 'em':
      return <em>{all(token.tokens, depth)}</em>;
    case 'del':
      return <del>{all(token.tokens, depth)}</del>;
    case 'link': {
      const href = safeLink(token.href);
      return href === null ? (
        <span className="ak-no-link" title={token.href}>{all(token.tokens, depth)}</span>
      ) : (
        <a href={href} title={href} target="_blank" rel="noopener noreferrer">
          {all(token.tokens, depth)}
        </a>
      );
    }
    case 'image': {
      // Fetching it would tell its server that the text was read.
      const href = safeLink(token.href);
      const words = `Picture: ${decode(token.text) || token.href}`;
      return href === null ? (
        <span className="ak-no-link">{words}</span>
      ) : (
        <a href={href} title={href} target="_blank" rel="noopener noreferrer">{words}</a>
      );
    }
    default:
      return (token as { raw: string }).raw;
  }
}

function listItem(item: Extract<MarkedToken, { type: 'list_item' }>, depth: number): ReactNode {
  return (
    <>
      {item.task && item.tokens[0]?.type !== 'checkbox' && !hasCheckbox(item.tokens)
        ? item.checked ? '☑ ' : '☐ '
        : null}
      {all(item.tokens, depth)}
    </>
  );
}

function hasCheckbox(tokens: readonly Token[]): boolean {
  return tokens.some(
    token => token.type === 'checkbox' || ('tokens' in token && hasCheckbox(token.tokens ?? []))
  );
}

function align(side: 'center' | 'left' | 'right' | null): { textAlign: 'center' | 'left' | 'right' } | undefined {
  return side === null ? undefined : { textAlign: side };
}
