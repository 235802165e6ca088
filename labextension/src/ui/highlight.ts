/** A cheap highlighter: one pass, a few kinds of token, no library. */

export type Kind = 'keyword' | 'string' | 'comment' | 'number' | 'plain';

export interface Span {
  readonly kind: Kind;
  readonly text: string;
}

interface Grammar {
  readonly comment: string;
  readonly string: string;
  readonly keywords: ReadonlySet<string>;
}

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

const QUOTED = String.raw`"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?`;

const PYTHON: Grammar = {
  comment: '#[^\\n]*',
  string: String.raw`[rbfuRBFU]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|${QUOTED})`,
  keywords: words(
    'False None True and as assert async await break class continue def del elif else except ' +
      'finally for from global if import in is lambda match case nonlocal not or pass raise ' +
      'return try while with yield'
  )
};

const SCRIPT: Grammar = {
  comment: String.raw`//[^\n]*|/\*[\s\S]*?(?:\*/|$)`,
  string: String.raw`${QUOTED}|\`(?:\\.|[^\`\\])*\`?`,
  keywords: words(
    'async await break case catch class const continue default delete do else enum export extends ' +
      'false finally fn for function if impl import in instanceof interface let match mut new null of ' +
      'pub return static struct super switch this throw true try type typeof undefined use var void while yield'
  )
};

const SHELL: Grammar = {
  comment: '(?<=^|\\s)#[^\\n]*',
  string: String.raw`"(?:\\[\s\S]|[^"\\])*"?|'[^']*'?`,
  keywords: words('case do done elif else esac export fi for function if in local return then until while')
};

const SQL: Grammar = {
  comment: String.raw`--[^\n]*|/\*[\s\S]*?(?:\*/|$)`,
  string: String.raw`'(?:''|[^'])*'?|"[^"]*"?`,
  keywords: words(
    'and as asc between by case create cross delete desc distinct drop else end exists from full ' +
      'group having in inner insert into is join left like limit not null on or order outer over ' +
      'partition right select set table then union update values view when where with'
  )
};

const DATA: Grammar = {
  comment: '(?<=^|\\s)#[^\\n]*',
  string: QUOTED,
  keywords: words('true false null yes no')
};

const GRAMMARS: Readonly<Record<string, Grammar>> = {
  python: PYTHON,
  py: PYTHON,
  python3: PYTHON,
  ipython: PYTHON,
  javascript: SCRIPT,
  js: SCRIPT,
  jsx: SCRIPT,
  typescript: SCRIPT,
  ts: SCRIPT,
  tsx: SCRIPT,
  java: SCRIPT,
  c: SCRIPT,
  cpp: SCRIPT,
  rust: SCRIPT,
  go: SCRIPT,
  css: SCRIPT,
  bash: SHELL,
  sh: SHELL,
  shell: SHELL,
  zsh: SHELL,
  console: SHELL,
  sql: SQL,
  json: DATA,
  yaml: DATA,
  yml: DATA,
  toml: DATA,
  ini: DATA
};

const made = new Map<Grammar, RegExp>();

function scanner(grammar: Grammar): RegExp {
  let found = made.get(grammar);
  if (found === undefined) {
    found = new RegExp(
      `(?<comment>${grammar.comment})|(?<string>${grammar.string})|(?<number>\\b(?:0[xob][\\da-f_]+|\\d[\\d_]*(?:\\.\\d+)?(?:e[+-]?\\d+)?)\\b)|(?<word>[A-Za-z_][\\w]*)`,
      'gim'
    );
    made.set(grammar, found);
  }
  return found;
}

/** More than this is drawn plain: a page must stay quick. */
const LIMIT = 50_000;

export function highlight(code: string, language: string): readonly Span[] {
  const grammar = GRAMMARS[language.toLowerCase()];
  if (grammar === undefined || code.length > LIMIT) {
    return [{ kind: 'plain', text: code }];
  }
  const spans: Span[] = [];
  let from = 0;
  const add = (kind: Kind, text: string): void => {
    if (text !== '') {
      spans.push({ kind, text });
    }
  };
  const ignoreCase = grammar === SQL;
  for (const match of code.matchAll(scanner(grammar))) {
    const groups = match.groups ?? {};
    const word = groups['word'];
    if (word !== undefined && !grammar.keywords.has(ignoreCase ? word.toLowerCase() : word)) {
      continue;
    }
    add('plain', code.slice(from, match.index));
    const kind: Kind =
      groups['comment'] !== undefined
        ? 'comment'
        : groups['string'] !== undefined
          ? 'string'
          : groups['number'] !== undefined
            ? 'number'
            : 'keyword';
    add(kind, match[0]);
    from = match.index + match[0].length;
  }
  add('plain', code.slice(from));
  return spans;
}
