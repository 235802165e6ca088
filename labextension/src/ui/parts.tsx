/** What many components need: clock ticks, copying, folding, long text. */
import { useCallback, useEffect, useId, useRef, useState } from 'react';
import type { JSX, ReactNode } from 'react';
import { count, seconds, withoutAnsi } from './format';
import { Icon } from './icons';
import { VisibleText } from './visible';

/** Seconds since `startedAt` (epoch seconds), counted on while it is mounted. */
export function Elapsed({ startedAt }: { startedAt: number }): JSX.Element {
  // The kernel's clock may differ from this one's: start from zero unless it fits.
  const [origin] = useState(() => {
    const now = Date.now() / 1000;
    return startedAt > now - 86_400 && startedAt <= now ? startedAt : now;
  });
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), 200);
    return () => clearInterval(timer);
  }, []);
  return <span className="ak-time">{seconds(now - origin)}</span>;
}

export function CopyButton({ text, what }: { text: string; what: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) {
      return undefined;
    }
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = useCallback(() => {
    void copyText(text).then(setCopied);
  }, [text]);
  return (
    <button type="button" className="ak-quiet ak-copy" aria-label={`Copy ${what}`} onClick={copy}>
      <Icon name={copied ? 'check' : 'copy'} />
      <span>{copied ? 'Copied' : 'Copy'}</span>
    </button>
  );
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages without https have no clipboard object.
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'ak-sr';
    document.body.append(area);
    area.select();
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the only way on such pages
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

export interface FoldProps {
  readonly summary: ReactNode;
  readonly className?: string;
  readonly startOpen?: boolean;
  /** Stands beside the button, so that it may hold a button of its own. */
  readonly aside?: ReactNode;
  readonly children: () => ReactNode;
}

/** A line that opens. What is inside is only drawn when it is open. */
export function Fold({ summary, className, startOpen, aside, children }: FoldProps): JSX.Element {
  const [open, setOpen] = useState(startOpen ?? false);
  const body = useId();
  return (
    <div className={`ak-fold ${className ?? ''}`} data-open={open}>
      <div className="ak-fold-line">
        <button
          type="button"
          className="ak-fold-button"
          aria-expanded={open}
          aria-controls={open ? body : undefined}
          onClick={() => setOpen(!open)}
        >
          {summary}
          <span className="ak-chevron">
            <Icon name="chevron" />
          </span>
        </button>
        {aside}
      </div>
      {open ? (
        <div className="ak-fold-body" id={body}>
          {children()}
        </div>
      ) : null}
    </div>
  );
}

const HEAD = 12;
const TAIL = 8;

/** Output as text: beginning and end, the middle on request. */
export function LongText({ text, label }: { text: string; label: string }): JSX.Element {
  const [whole, setWhole] = useState(false);
  const clean = withoutAnsi(text).replace(/\n+$/, '');
  const lines = clean.split('\n');
  const hidden = lines.length - HEAD - TAIL;
  const cut = !whole && hidden > 4;
  return (
    <div className="ak-long">
      <pre className="ak-pre" tabIndex={0} aria-label={label}>
        <VisibleText text={cut ? lines.slice(0, HEAD).join('\n') : clean} />
      </pre>
      {cut ? (
        <>
          <button type="button" className="ak-more" onClick={() => setWhole(true)}>
            Show {count(hidden, 'more line', 'more lines')}
          </button>
          <pre className="ak-pre" tabIndex={0} aria-label={`${label}, end`}>
            <VisibleText text={lines.slice(-TAIL).join('\n')} />
          </pre>
        </>
      ) : null}
    </div>
  );
}

/** Ask for something and keep what came of it: whether it is under way, and why it failed. */
export function useRequest(): {
  busy: boolean;
  problem: string;
  run: (work: () => Promise<unknown>) => Promise<boolean>;
} {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const mounted = useRef(true);
  useEffect(() => {
    mounted.current = true;
    return () => {
      mounted.current = false;
    };
  }, []);
  const run = useCallback(async (work: () => Promise<unknown>) => {
    setBusy(true);
    setProblem('');
    try {
      await work();
      return true;
    } catch (error) {
      if (mounted.current) {
        setProblem(error instanceof Error && error.message !== '' ? error.message : 'It did not work.');
      }
      return false;
    } finally {
      if (mounted.current) {
        setBusy(false);
      }
    }
  }, []);
  return { busy, problem, run };
}
