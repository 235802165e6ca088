/** Small drawings. Each state has its own shape, so that colour only repeats what is seen. */
import type { JSX } from 'react';
import type { ToolState } from '../session/state';

const PATHS = {
  chevron: 'M4.5 2.5 8 6l-3.5 3.5',
  down: 'M2.5 4.5 6 8l3.5-3.5',
  cross: 'M3 3l6 6M9 3l-6 6',
  copy: 'M4.5 4.5h5v5h-5zM2.5 7.5v-5h5',
  check: 'M2.5 6.5 5 9l4.5-6',
  plus: 'M6 2v8M2 6h8',
  list: 'M2 3h8M2 6h8M2 9h5'
} as const;

export function Icon({ name }: { name: keyof typeof PATHS }): JSX.Element {
  return (
    <svg className="ak-icon" viewBox="0 0 12 12" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** What a state is called: read out with the line, and shown where nothing else says it. */
export const STATE_WORDS: Readonly<Record<ToolState, string>> = {
  writing: 'being written',
  waiting: 'waiting for you',
  running: 'running',
  ok: 'done',
  error: 'failed',
  denied: 'denied',
  cancelled: 'stopped'
};

export function StateDot({ state }: { state: ToolState }): JSX.Element {
  return (
    <span className={`ak-dot ak-dot-${state}`}>
      <svg viewBox="0 0 12 12" aria-hidden="true" focusable="false">
        {SHAPES[state]}
      </svg>
      <span className="ak-sr">{STATE_WORDS[state]}</span>
    </span>
  );
}

const ring = <circle cx="6" cy="6" r="4" className="ak-line" />;

const SHAPES: Readonly<Record<ToolState, JSX.Element>> = {
  writing: <circle cx="6" cy="6" r="4" className="ak-line ak-dashed" />,
  waiting: (
    <>
      {ring}
      <circle cx="6" cy="6" r="1.5" className="ak-fill" />
    </>
  ),
  running: (
    <g className="ak-spin">
      {ring}
      <path d="M6 2a4 4 0 0 1 0 8z" className="ak-fill" />
    </g>
  ),
  ok: <circle cx="6" cy="6" r="4" className="ak-fill" />,
  error: <path d="M2.5 2.5l7 7M9.5 2.5l-7 7" className="ak-line ak-thick" />,
  denied: (
    <>
      {ring}
      <path d="M3.2 8.8l5.6-5.6" className="ak-line" />
    </>
  ),
  cancelled: <rect x="2.5" y="2.5" width="7" height="7" className="ak-fill" />
};
