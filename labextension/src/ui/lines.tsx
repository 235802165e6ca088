/** The small members of a turn: thinking, notices, skills, what was withdrawn, how it ended. */
import { memo, useEffect, useState } from 'react';
import type { JSX } from 'react';
import type {
  CompactedItem,
  NoticeItem,
  RunState,
  SkillItem,
  ThinkingItem,
  WithdrawnItem
} from '../session/state';
import type { SessionActions } from './actions';
import { cost, seconds, tokens, wholeSeconds } from './format';
import { Markdown } from './Markdown';
import { Elapsed, Fold, useRequest } from './parts';
import { VisibleText, oneLine } from './visible';
import { endWords } from './words';

export const Thinking = memo(function Thinking({ item, open }: { item: ThinkingItem; open: boolean }): JSX.Element {
  return (
    <Fold
      className="ak-thinking"
      summary={
        <span className="ak-thinking-title">
          Thinking
          {open ? (
            <>
              {' · '}
              <Elapsed startedAt={item.startedAt} />
            </>
          ) : item.seconds !== null && item.seconds > 0 ? (
            ` · ${wholeSeconds(item.seconds)}`
          ) : null}
        </span>
      }
    >
      {() =>
        item.text.trim() === '' ? (
          <p className="ak-note">The model did not show what it thought.</p>
        ) : (
          <Markdown text={item.text} growing={open} />
        )
      }
    </Fold>
  );
});

const LEVELS = { info: 'Note', warning: 'Warning', error: 'Error' } as const;

export const NoticeLine = memo(function NoticeLine({ item, live }: { item: NoticeItem; live: boolean }): JSX.Element {
  return (
    <div className={`ak-notice ak-notice-${item.level}`}>
      <span className="ak-notice-level">{LEVELS[item.level]}</span>{' '}
      <span className="ak-notice-text">
        <VisibleText text={item.text} />
        {live && item.until !== null ? <Countdown until={item.until} /> : null}
      </span>
    </div>
  );
});

function Countdown({ until }: { until: number }): JSX.Element | null {
  const [left, setLeft] = useState(() => until - Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setLeft(until - Date.now() / 1000), 500);
    return () => clearInterval(timer);
  }, [until]);
  return left > 0.5 ? <span className="ak-time"> · {wholeSeconds(left)}</span> : null;
}

export function SkillLine({ item }: { item: SkillItem }): JSX.Element {
  return (
    <div className="ak-skill-line">
      <span className="ak-verb">Skill</span>{' '}
      <span className="ak-mono">
        <VisibleText text={oneLine(`${item.name} ${item.args}`.trim())} />
      </span>
      {item.by === 'model' ? <span className="ak-faint"> · chosen by the model</span> : null}
    </div>
  );
}

export function CompactedLine({ item }: { item: CompactedItem }): JSX.Element {
  return (
    <Fold
      className="ak-thinking"
      summary={
        <span className="ak-thinking-title">
          Conversation compacted · {tokens(item.tokensBefore)} to {tokens(item.tokensAfter)} tokens
        </span>
      }
    >
      {() => <Markdown text={item.summary || 'No summary was kept.'} />}
    </Fold>
  );
}

/** What was taken back fades, once, in front of the person; then one line says why. */
export function Withdrawn({ item, live }: { item: WithdrawnItem; live: boolean }): JSX.Element {
  const [fading, setFading] = useState(live && item.parts.length > 0);
  const text = item.parts.map(part => (part.kind === 'text' ? part.text : '')).join('\n\n');
  useEffect(() => {
    if (!fading) {
      return undefined;
    }
    const timer = setTimeout(() => setFading(false), 900);
    return () => clearTimeout(timer);
  }, [fading]);
  return (
    <>
      {fading ? (
        <div className="ak-fading" aria-hidden="true">
          <Markdown text={text} />
        </div>
      ) : null}
      <div className="ak-notice ak-notice-info">
        <span className="ak-notice-level">Withdrawn</span>{' '}
        <span className="ak-notice-text">
          <VisibleText text={item.reason} />
        </span>
      </div>
    </>
  );
}

export interface RunEndProps {
  readonly run: RunState;
  readonly live: boolean;
  readonly actions?: SessionActions | undefined;
}

/** The last lines: how it ended if not as it should, and what it took. */
export function RunEndLines({ run, live, actions }: RunEndProps): JSX.Element | null {
  if (run.end === null) {
    return live ? null : (
      <div className="ak-end ak-end-stopped">
        <strong>Cut off.</strong> The kernel went away before this turn ended.
      </div>
    );
  }
  const words = endWords(run.end);
  return (
    <>
      {words === null ? null : (
        <div className={`ak-end ak-end-${words.tone}`}>
          <div>
            <strong>{words.title}.</strong> {words.advice}
            {run.detail ? (
              <p className="ak-end-detail">
                <VisibleText text={run.detail} />
              </p>
            ) : null}
          </div>
          {words.again !== undefined && actions !== undefined && (actions.can?.('prompt') ?? true) ? (
            <Again
              label={words.again}
              prompt={words.again === 'Retry' ? run.prompt : 'Continue.'}
              actions={actions}
            />
          ) : null}
        </div>
      )}
      <UsageLine run={run} />
    </>
  );
}

function Again({ label, prompt, actions }: { label: string; prompt: string; actions: SessionActions }): JSX.Element {
  const { busy, problem, run } = useRequest();
  return (
    <>
      <button
        type="button"
        className="ak-button"
        disabled={busy || prompt === ''}
        onClick={() => void run(() => actions.prompt(prompt))}
      >
        {label}
      </button>
      {problem ? <span role="alert">{problem}</span> : null}
    </>
  );
}

/** One grey line: "claude-sonnet · 3 turns · 8.1k in (6.9k cached) · 410 out · $0.02 · 14 s". */
export function UsageLine({ run }: { run: RunState }): JSX.Element {
  const { usage } = run;
  const parts = [
    run.offline ? 'offline script' : run.model,
    `${usage.turns} ${usage.turns === 1 ? 'turn' : 'turns'}`,
    usage.input > 0 ? `${tokens(usage.input)} in${usage.cached > 0 ? ` (${tokens(usage.cached)} cached)` : ''}` : '',
    usage.output > 0 ? `${tokens(usage.output)} out` : '',
    usage.costUsd !== null ? cost(usage.costUsd) : '',
    usage.durationMs > 0 ? seconds(usage.durationMs / 1000) : ''
  ].filter(part => part !== '');
  return (
    <p className="ak-usage" aria-label="What this took">
      <VisibleText text={parts.join(' · ')} />
    </p>
  );
}
