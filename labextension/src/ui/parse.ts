/** Model text → tokens. Blocks that are whole are not parsed again while the text grows. */
import { Lexer, Marked } from 'marked';
import type { MarkedToken, Token } from 'marked';

export type { MarkedToken, Token };

export interface Parsed {
  readonly text: string;
  readonly blocks: readonly MarkedToken[];
}

export const NOTHING: Parsed = { text: '', blocks: [] };

const options = new Marked({ gfm: true, breaks: false }).defaults;

/** Parse `text`; where it continues `before`, only from the last block on. */
export function parse(source: string, before: Parsed = NOTHING): Parsed {
  const text = source.includes('\r') ? source.replace(/\r\n?/g, '\n') : source;
  if (text === before.text) {
    return before;
  }
  let kept: readonly MarkedToken[] = [];
  let from = 0;
  if (before.text !== '' && text.startsWith(before.text) && !hasDefinition(before.blocks)) {
    // A list or a paragraph may go on after a blank line, so the last block with text is open.
    let open = before.blocks.length - 1;
    while (open > 0 && before.blocks[open]?.type === 'space') {
      open--;
    }
    kept = before.blocks.slice(0, Math.max(0, open));
    from = kept.reduce((length, block) => length + block.raw.length, 0);
  }
  return { text, blocks: [...kept, ...lex(text.slice(from))] };
}

/** A link definition may change blocks before it. */
function hasDefinition(blocks: readonly MarkedToken[]): boolean {
  return blocks.some(block => block.type === 'def');
}

function lex(source: string): readonly MarkedToken[] {
  try {
    const blocks = new Lexer(options).lex(source) as MarkedToken[];
    // Where the next parse starts is counted on `raw`, so that has to be the whole source.
    const length = blocks.reduce((sum, block) => sum + block.raw.length, 0);
    return length === source.length ? blocks : blocks.length > 0 ? whole(source, blocks) : plain(source);
  } catch {
    // Nested too deeply for the parser's stack.
    return plain(source);
  }
}

function plain(source: string): readonly MarkedToken[] {
  return source === '' ? [] : [{ type: 'text', raw: source, text: source }];
}

/** Make the lengths add up, so that the next parse starts at the right place: at the very start. */
function whole(source: string, blocks: readonly MarkedToken[]): readonly MarkedToken[] {
  const first = blocks[0];
  return first === undefined
    ? plain(source)
    : blocks.map((block, at) => (at === 0 ? { ...block, raw: source } : { ...block, raw: '' }));
}

/** Only these leave the page, and only by a click. */
export function safeLink(href: string): string | null {
  // Browsers drop white space and control characters inside a scheme; so a link with them is none.
  // eslint-disable-next-line no-control-regex -- they are what is looked for
  if (/[\u0000-\u0020\u007f-\u00a0\u200b-\u200f\u2028-\u202e]/.test(href)) {
    return null;
  }
  return /^(?:https?:\/\/|mailto:)[^\s]/i.test(href) ? href : null;
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  times: '×',
  middot: '·',
  deg: '°',
  plusmn: '±',
  le: '≤',
  ge: '≥',
  ne: '≠',
  larr: '←',
  rarr: '→',
  copy: '©',
  euro: '€'
};

/** `&lt;` and its like; the result is only ever used as a text node. */
export function decode(text: string): string {
  if (!text.includes('&')) {
    return text;
  }
  return text.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|([a-z]{2,8}));/gi, (all, hex, dec, name) => {
    if (typeof name === 'string') {
      return ENTITIES[name] ?? all;
    }
    const code = typeof hex === 'string' ? parseInt(hex, 16) : parseInt(String(dec), 10);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
      ? String.fromCodePoint(code)
      : '\ufffd';
  });
}
