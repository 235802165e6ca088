/** Text shown so that nothing in it can hide: what is invisible gets a labelled box. */
import { Fragment, memo } from 'react';
import type { JSX } from 'react';

const NAMES: Readonly<Record<number, string>> = {
  0x00: 'NUL',
  0x07: 'BEL',
  0x08: 'BACKSPACE',
  0x0b: 'VT',
  0x0c: 'FF',
  0x0d: 'CR',
  0x1b: 'ESC',
  0x7f: 'DEL',
  0x85: 'NEL',
  0xa0: 'NBSP',
  0xad: 'SOFT HYPHEN',
  0x061c: 'ALM',
  0x200b: 'ZERO WIDTH SPACE',
  0x200c: 'ZWNJ',
  0x200d: 'ZWJ',
  0x200e: 'LRM',
  0x200f: 'RLM',
  0x2028: 'LINE SEP',
  0x2029: 'PARA SEP',
  0x202a: 'LRE',
  0x202b: 'RLE',
  0x202c: 'PDF',
  0x202d: 'LRO',
  0x202e: 'RLO',
  0x2060: 'WORD JOINER',
  0x2066: 'LRI',
  0x2067: 'RLI',
  0x2068: 'FSI',
  0x2069: 'PDI',
  0xfeff: 'BOM'
};

/**
 * Control and format characters (but line feed and tab), unusual spaces, fillers that draw nothing,
 * tags and lone surrogates. Joiners and selectors inside an emoji are what makes it one.
 */
const UNSEEN = [
  String.raw`[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5]`,
  String.raw`[\u180b-\u180f\u2000-\u200c\u200e\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164]`,
  String.raw`(?<!\p{Extended_Pictographic}\ufe0f?)\u200d|\ufe0f(?=[\ufe00-\ufe0f])`,
  String.raw`[\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\p{Cs}`
].join('|');
/** Runs of blanks or blank lines that could push what follows out of sight. */
const PADDING = String.raw`(?<=[^ \t\n])[ \t]{24,}|(?<![^\n])[ \t]{81,}(?=[^ \t\n])|(?:[ \t]*\n){7,}`;

/* eslint-disable no-misleading-character-class -- each is looked for by itself */
const HIDDEN = new RegExp(UNSEEN, 'gu');
const HIDDEN_OR_PADDING = new RegExp(`${UNSEEN}|${PADDING}`, 'gu');
/* eslint-enable no-misleading-character-class */

export interface Piece {
  readonly text: string;
  /** What the box says; absent: the text is drawn as it is. */
  readonly label?: string;
}

/** Cut a text into what is drawn as it is and what gets a box; `strict` counts padding too. */
export function pieces(text: string, strict = true): readonly Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(strict ? HIDDEN_OR_PADDING : HIDDEN)) {
    const at = match.index;
    // A carriage return before a line feed is how some files end their lines.
    if (match[0] === '\r' && text[at + 1] === '\n') {
      continue;
    }
    if (at > from) {
      found.push({ text: text.slice(from, at) });
    }
    found.push({ text: match[0], label: labelOf(match[0]) });
    from = at + match[0].length;
  }
  if (from < text.length) {
    found.push({ text: text.slice(from) });
  }
  return found;
}

function labelOf(hidden: string): string {
  if (hidden.length > 2 || /^[ \t\n]/.test(hidden)) {
    const lines = hidden.split('\n').length - 1;
    return lines > 0 ? `${lines - 1} EMPTY LINES` : `${hidden.length} SPACES`;
  }
  const code = hidden.codePointAt(0) ?? 0;
  const number = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  const name = NAMES[code];
  return name === undefined ? number : `${number} ${name}`;
}

/** For names and titles: as `VisibleText`, on one line. */
export function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ⏎ ');
}

/** The same for attributes and for what is read out: labels instead of boxes, on one line. */
export function spoken(text: string): string {
  return pieces(oneLine(text))
    .map(piece => piece.label ?? piece.text)
    .join('');
}

export interface VisibleTextProps {
  readonly text: string;
  /** Where a person decides by it: long padding is named as well. */
  readonly strict?: boolean;
}

export const VisibleText = memo(function VisibleText({
  text,
  strict = false
}: VisibleTextProps): JSX.Element {
  return (
    <bdi className="ak-visible" dir="ltr">
      {pieces(text, strict).map((piece, at) =>
        piece.label === undefined ? (
          <Fragment key={at}>{piece.text}</Fragment>
        ) : (
          <Fragment key={at}>
            <span className="ak-hidden-char" title="This would not be seen">
              {piece.label}
            </span>
            {piece.text.includes('\n') ? '\n' : null}
          </Fragment>
        )
      )}
    </bdi>
  );
});
