/** The side panel: the conversation of one notebook's kernel. */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { JSX } from 'react';
import type { RunState, SessionState } from '../session/state';
import type { SessionActions } from './actions';
import { Composer } from './Composer';
import { PanelHeader } from './PanelHeader';
import { Empty, Offer, SetKey, TurnOn, Warning } from './PanelStates';
import { SkillList } from './SkillList';
import { Strip } from './Strip';
import { Prompt, Turn } from './Turn';
import { VisibleText } from './visible';

export interface PanelProps {
  readonly state: SessionState;
  readonly actions: SessionActions;
  /** Null: no notebook is open. */
  readonly notebookName: string | null;
  /** Up to three prompts that fit *this* notebook, shown while the conversation is empty. */
  readonly suggestions?: readonly string[] | undefined;
  /** Names of models to choose from; the current one is always offered. */
  readonly models?: readonly string[] | undefined;
  /** Share of the context window in use, 0 to 1; absent: unknown. */
  readonly contextUsed?: number | undefined;
  /** A short error of the host ("The kernel did not answer"). */
  readonly problem?: string | undefined;
}

export function Panel(props: PanelProps): JSX.Element {
  const { state, actions, notebookName, suggestions, models, contextUsed, problem } = props;
  const [page, setPage] = useState<'conversation' | 'skills'>('conversation');
  const [answer, setAnswer] = useState('');
  const ready = state.connection === 'ready';
  // What a command said belongs to the conversation that was on then.
  useEffect(() => setAnswer(''), [state.sessionId, state.runs.length]);
  const newest = state.runs[state.runs.length - 1];
  return (
    <div className="ak-root ak-panel">
      <PanelHeader
        state={state}
        actions={actions}
        notebookName={notebookName}
        models={models}
        contextUsed={contextUsed}
        page={page}
        onPage={setPage}
      />
      {problem ? <Warning>{problem}</Warning> : null}
      {state.connection === 'lost' ? (
        <Warning>The connection to the kernel is lost. What you see is from before; it reconnects by itself.</Warning>
      ) : null}
      {ready && !state.saved ? (
        <Warning>This conversation could not be written to disk. It is kept only while the kernel runs.</Warning>
      ) : null}
      {page === 'skills' && ready ? (
        <div className="ak-scroll">
          <SkillList skills={state.skills} actions={actions} onRun={() => setPage('conversation')} />
        </div>
      ) : (
        <Conversation state={state}>
          {notebookName === null ? (
            <p className="ak-state">Open a notebook. The agent works with the one in front.</p>
          ) : state.connection === 'connecting' ? (
            <p className="ak-state" role="status">
              Connecting to the kernel…
            </p>
          ) : state.connection === 'none' ? (
            <p className="ak-state">This notebook has no kernel yet. Start one, and the agent is here.</p>
          ) : state.connection === 'unavailable' ? (
            <TurnOn actions={actions} />
          ) : null}
          {ready && state.model?.offline ? <SetKey actions={actions} /> : null}
          {ready && state.runs.length === 0 && state.offered ? (
            <Offer actions={actions} offered={state.offered} />
          ) : null}
          {ready && state.runs.length === 0 ? <Empty actions={actions} suggestions={suggestions} /> : null}
          {state.runs.map(run => (
            <PanelTurn key={run.runId} run={run} state={state} actions={actions} />
          ))}
          {state.queued.map((text, at) => (
            <Prompt key={at} text={text} queued />
          ))}
          {answer ? (
            <pre className="ak-pre ak-command-answer" role="status">
              <VisibleText text={answer} />
            </pre>
          ) : null}
        </Conversation>
      )}
      {ready ? (
        <>
          <Strip run={newest} pending={state.pending} actions={actions} />
          <Composer
            actions={actions}
            skills={state.skills}
            running={state.running !== null}
            disabled={false}
            onAnswer={setAnswer}
          />
        </>
      ) : null}
    </div>
  );
}

interface PanelTurnProps {
  readonly run: RunState;
  readonly state: SessionState;
  readonly actions: SessionActions;
}

function PanelTurn({ run, state, actions }: PanelTurnProps): JSX.Element {
  const reachable = state.connection === 'ready';
  return (
    <Turn
      run={run}
      pending={state.pending}
      actions={reachable ? actions : undefined}
      live={run.end === null && (state.running === run.runId || !reachable)}
      showPrompt
    />
  );
}

/** Stays at the newest text while the person is there, and leaves them alone when they are not. */
function Conversation({ state, children }: { state: SessionState; children: React.ReactNode }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const [behind, setBehind] = useState(false);

  const toEnd = useCallback(() => {
    const element = box.current;
    if (element !== null) {
      element.scrollTop = element.scrollHeight;
    }
  }, []);

  useLayoutEffect(() => {
    if (atEnd.current) {
      toEnd();
    } else {
      setBehind(true);
    }
  }, [state.runs, state.queued, toEnd]);

  useEffect(() => {
    const element = box.current;
    if (element === null) {
      return undefined;
    }
    // Pictures and opened lines change the height without news.
    const watch = new ResizeObserver(() => {
      if (atEnd.current) {
        toEnd();
      }
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [toEnd]);

  return (
    <div className="ak-conversation">
      <div
        ref={box}
        className="ak-scroll"
        role="log"
        aria-live="off"
        aria-label="Conversation"
        tabIndex={0}
        onScroll={event => {
          const element = event.currentTarget;
          atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
          if (atEnd.current) {
            setBehind(false);
          }
        }}
      >
        {children}
      </div>
      {behind ? (
        <button type="button" className="ak-button ak-newest" onClick={toEnd}>
          Newest
        </button>
      ) : null}
    </div>
  );
}
