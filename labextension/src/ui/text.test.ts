import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { skill } from '../gallery/script';
import { commandOf, isReference, skillOffers } from './completion';
import { clock, cost, count, firstLine, seconds, tokens, withoutAnsi } from './format';
import { highlight } from './highlight';
import { changedLines, diffLines, hunks } from './lineDiff';
import { decode, NOTHING, parse, safeLink } from './parse';
import { search } from './SkillList';
import { lastChanges } from './Strip';
import { oneLine, pieces } from './visible';
import { resolvedWords } from './words';

function random(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const labels = (text: string): string[] =>
  pieces(text).flatMap(piece => (piece.label === undefined ? [] : [piece.label]));

describe('text that may hide something', () => {
  it('gets a box for control, bidi and zero-width characters', () => {
    assert.deepEqual(labels('a\u202eb\u200bc\u0007'), ['U+202E RLO', 'U+200B ZERO WIDTH SPACE', 'U+0007 BEL']);
    assert.deepEqual(labels('\u2066x\u2069\u00ad\ufeff\u{e0041}\u3164\u00a0'), [
      'U+2066 LRI', 'U+2069 PDI', 'U+00AD SOFT HYPHEN', 'U+FEFF BOM', 'U+E0041', 'U+3164', 'U+00A0 NBSP'
    ]);
  });

  it('names lone surrogates, which no file can hold', () => {
    assert.deepEqual(labels('a\ud800b\udc00'), ['U+D800', 'U+DC00']);
    assert.deepEqual(labels('🙂'), []);
  });

  it('leaves emoji, accents and other scripts alone', () => {
    assert.deepEqual(labels('naïve 日本語 Ελλάδα 👩‍💻 ✔️ é'), []);
  });

  it('names padding that pushes the end out of sight, but no indentation', () => {
    assert.deepEqual(labels(`ls${' '.repeat(300)}; rm x`), ['300 SPACES']);
    assert.deepEqual(labels(`ls${'\n'.repeat(60)}rm x`), ['59 EMPTY LINES']);
    assert.deepEqual(labels(`if x:\n${' '.repeat(40)}y`), []);
    assert.deepEqual(labels('a\n\n\nb'), []);
  });

  it('keeps every character: the pieces are the text', () => {
    const next = random(7);
    const alphabet = ['a', ' ', '\n', '\t', '\u202e', '\u200b', '\r', '🙂', '\ud800', '\u0000', ' '.repeat(30), '\n'.repeat(9)];
    for (let round = 0; round < 500; round++) {
      const text = Array.from({ length: next(30) }, () => alphabet[next(alphabet.length)]).join('');
      assert.equal(pieces(text).map(piece => piece.text).join(''), text);
      assert.equal(pieces(text, false).map(piece => piece.text).join(''), text);
    }
  });

  it('folds line ends where one line is all there is', () => {
    assert.equal(oneLine('Run\n\nAllowed'), 'Run ⏎ Allowed');
  });
});

describe('Markdown', () => {
  it('parsed as it grows is Markdown parsed at once', () => {
    const text = [
      '# Head\n\nText *with* `code` and\nmore\n\n- a\n\n- b\n  - c\n\n1. x\n2. y\n\n',
      '```python\nx = 1\n\n\ny = 2\n```\n\n> quote\nlazy\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n',
      'Title\n===\n\nend  \nbreak\n\n    indented\n\nlast\r\nline\tx\n'
    ].join('');
    const next = random(3);
    for (let round = 0; round < 60; round++) {
      let parsed = NOTHING;
      for (let at = 0; at < text.length; at += 1 + next(12)) {
        parsed = parse(text.slice(0, at), parsed);
      }
      parsed = parse(text, parsed);
      const fresh = parse(text);
      assert.deepEqual(parsed.blocks.map(({ type, raw }) => [type, raw]), fresh.blocks.map(({ type, raw }) => [type, raw]));
    }
  });

  it('keeps the tokens of whole blocks while the last one grows', () => {
    const before = parse('one\n\ntwo\n\nthr');
    const after = parse('one\n\ntwo\n\nthree', before);
    assert.equal(after.blocks[0], before.blocks[0]);
    assert.equal(after.blocks[2], before.blocks[2]);
  });

  it('a text that does not continue the last one is parsed anew', () => {
    assert.deepEqual(parse('other', parse('one\n\ntwo')).blocks.map(block => block.raw), ['other']);
  });

  it('links go to the web and to mail only', () => {
    for (const href of ['https://example.org/a?b#c', 'http://localhost:8888', 'mailto:a@b.org', 'HTTPS://example.org']) {
      assert.equal(safeLink(href), href);
    }
    for (const href of ['javascript:alert(1)', 'JAVASCRIPT:x', 'java\tscript:x', ' javascript:x', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd', '//evil.example', '/lab', 'blob:x', '\u0001javascript:x', 'https://']) {
      assert.equal(safeLink(href), null, href);
    }
  });

  it('decodes entities to text', () => {
    assert.equal(decode('a &lt;b&gt; &amp;amp; &#106;s &#x41; &unknown; &#0;'), 'a <b> &amp; js A &unknown; \ufffd');
  });
});

describe('a diff', () => {
  it('gives back both texts, for any two', () => {
    const next = random(11);
    for (let round = 0; round < 400; round++) {
      const text = (): string => Array.from({ length: next(14) }, () => 'abc'[next(3)]).join('\n');
      const [old, now] = [text(), text()];
      const lines = diffLines(old, now);
      const side = (without: 'added' | 'removed'): string =>
        lines.filter(line => line.op !== without).map(line => line.text).join('\n');
      assert.equal(side('added'), old.replace(/\n$/, ''));
      assert.equal(side('removed'), now.replace(/\n$/, ''));
    }
  });

  it('is as short as it can be', () => {
    assert.deepEqual(diffLines('a\nb\nc\n', 'a\nx\nc\nd\n').map(line => line.op), ['same', 'removed', 'added', 'same', 'added']);
    assert.deepEqual(changedLines(diffLines('', 'a\nb\n')), { added: 2, removed: 0 });
  });

  it('numbers the lines of both sides', () => {
    assert.deepEqual(
      diffLines('a\nb', 'b').map(({ oldNumber, newNumber }) => [oldNumber, newNumber]),
      [[1, null], [2, 1]]
    );
  });

  it('folds only lines that did not change', () => {
    const old = Array.from({ length: 40 }, (_, at) => `line ${at}`).join('\n');
    const parts = hunks(diffLines(old, old.replace('line 20', 'changed')));
    assert.deepEqual(parts.map(part => [part.kind, part.lines.length]), [['folded', 17], ['lines', 8], ['folded', 16]]);
    assert.ok(parts.filter(part => part.kind === 'folded').every(part => part.lines.every(line => line.op === 'same')));
  });

  it('of two large texts with nothing in common shows one replaced by the other', () => {
    const text = (name: string): string => Array.from({ length: 3000 }, (_, at) => `${name} ${at}`).join('\n');
    const lines = diffLines(text('old'), text('new'));
    assert.deepEqual(changedLines(lines), { added: 3000, removed: 3000 });
  });
});

describe('code', () => {
  it('coloured is the same text, for whatever is in it', () => {
    const next = random(5);
    const alphabet = ['"', "'", '"""', '#', '\n', 'def ', 'x', '1', '\\', '`', '/*', '--', ' '];
    for (const language of ['python', 'js', 'bash', 'sql', 'json', 'unknown']) {
      for (let round = 0; round < 100; round++) {
        const code = Array.from({ length: next(40) }, () => alphabet[next(alphabet.length)]).join('');
        assert.equal(highlight(code, language).map(span => span.text).join(''), code);
      }
    }
  });

  it('has keywords, strings, comments and numbers', () => {
    assert.deepEqual(highlight('def f(): return "a" # 1', 'python').filter(span => span.kind !== 'plain'), [
      { kind: 'keyword', text: 'def' },
      { kind: 'keyword', text: 'return' },
      { kind: 'string', text: '"a"' },
      { kind: 'comment', text: '# 1' }
    ]);
  });
});

describe('what the composer offers', () => {
  const skills = [skill('commit', 'c'), skill('review', 'r'), skill('hidden', 'h', { user_invocable: false }), skill('recommit', 'x')];

  it('skills after a slash, names that begin so first', () => {
    assert.deepEqual(skillOffers('/com', 4, skills).offers.map(offer => offer.insert), ['/commit ', '/recommit ']);
    assert.deepEqual(skillOffers('/', 1, skills).offers.length, 3);
    assert.deepEqual(skillOffers('see /com', 8, skills).offers, []);
    assert.deepEqual(skillOffers('/commit now', 11, skills).offers, []);
  });

  it('knows a command from a path', () => {
    assert.deepEqual(commandOf('/commit  fix it\nnow'), { name: 'commit', args: 'fix it\nnow' });
    assert.deepEqual(commandOf('/user:commit'), { name: 'user:commit', args: '' });
    assert.equal(commandOf('/usr/bin/python is gone'), null);
    assert.equal(commandOf('divide a / b'), null);
  });

  it('references after an at sign', () => {
    assert.equal(isReference('plot @df', 8), true);
    assert.equal(isReference('mail a@b', 8), false);
  });

  it('searches skills by every word, names first', () => {
    assert.deepEqual(search([skill('b', 'commit it'), skill('commit', '')], 'commit').map(found => found.name), ['commit', 'b']);
    assert.deepEqual(search(skills, 'commit nothing'), []);
  });
});

describe('words and numbers', () => {
  it('carry their units', () => {
    assert.deepEqual([0.04, 2.4, 9.96, 14.2, 60, 125, 3840].map(seconds), ['0.0 s', '2.4 s', '10 s', '14 s', '1 min', '2 min 5 s', '1 h 4 min']);
    assert.deepEqual([410, 8100, 6000, 171_000, 999_960, 1_200_000].map(tokens), ['410', '8.1k', '6k', '171k', '1M', '1.2M']);
    assert.deepEqual([0.0213, 0.0041, 0, 3].map(cost), ['$0.02', '$0.0041', '$0.00', '$3.00']);
    assert.equal(count(1, 'line'), '1 line');
    assert.equal(count(1204, 'line'), '1,204 lines');
    assert.equal(clock(0), '');
    assert.match(clock(1_764_511_320), /^\d\d:\d\d$/);
    assert.equal(firstLine('\n\n  ValueError: x\nmore'), 'ValueError: x');
    assert.equal(withoutAnsi('\u001b[31mred\u001b[0m \u001b]0;title\u0007text'), 'red text');
  });

  it('say who decided, when, and by what', () => {
    const resolution = {
      type: 'permission_resolved', run_id: 'r', seq: 1, agent_id: 'main', at: 0, request_id: 'q', tool_use_id: 't',
      decision: 'allow_once', by: 'you', rule: null, reason: ''
    } as const;
    assert.equal(resolvedWords(resolution), 'Allowed once by you');
    assert.match(resolvedWords({ ...resolution, at: 1_764_511_320 }), /^Allowed once by you, \d\d:\d\d$/);
    assert.equal(resolvedWords({ ...resolution, decision: 'allow_always', rule: 'Edit(src/**)' }), 'Always allowed by you · rule Edit(src/**)');
    assert.equal(resolvedWords({ ...resolution, decision: 'deny', reason: 'Not\nnow' }), 'Denied by you: Not ⏎ now');
    assert.equal(resolvedWords({ ...resolution, decision: 'deny', by: 'stop' }), 'Not answered: the turn was stopped');
  });

  it('count a cell once, as what became of it', () => {
    const change = (cell_id: string, op: 'made' | 'edited' | 'deleted' | 'ran') => ({ cell_id, op, hash: null, where: '', source_head: '' });
    assert.deepEqual(
      lastChanges([change('a', 'made'), change('a', 'edited'), change('b', 'edited'), change('b', 'ran'), change('c', 'made'), change('c', 'deleted')])
        .map(({ cell_id, op }) => [cell_id, op]),
      [['a', 'made'], ['b', 'edited']]
    );
  });
});
