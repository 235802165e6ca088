import { memo, useMemo } from 'react';
import type { JSX } from 'react';
import { highlight } from './highlight';
import { CopyButton } from './parts';
import { VisibleText } from './visible';

export interface CodeBlockProps {
  readonly code: string;
  readonly language?: string;
  /** It still grows: drawn plain, and coloured once when it is whole. */
  readonly growing?: boolean;
}

export const CodeBlock = memo(function CodeBlock({
  code,
  language = '',
  growing = false
}: CodeBlockProps): JSX.Element {
  const spans = useMemo(
    () => (growing ? [{ kind: 'plain' as const, text: code }] : highlight(code, language)),
    [code, language, growing]
  );
  return (
    <figure className="ak-code">
      <figcaption className="ak-code-bar">
        <span>{language || 'text'}</span>
        <CopyButton text={code} what="code" />
      </figcaption>
      <pre className="ak-pre" tabIndex={0} aria-label={`Code${language ? `, ${language}` : ''}`}>
        <code>
          {spans.map((span, at) => (
            <span key={at} className={`ak-tok-${span.kind}`}>
              <VisibleText text={span.text} />
            </span>
          ))}
        </code>
      </pre>
    </figure>
  );
});
