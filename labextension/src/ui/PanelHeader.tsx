import { useState } from 'react';
import type { JSX } from 'react';
import type { PermissionMode } from '../protocol/generated';
import type { SessionState } from '../session/state';
import type { SessionActions } from './actions';
import { Icon } from './icons';
import { useRequest } from './parts';
import { spoken } from './visible';
import { MODES } from './words';

export interface PanelHeaderProps {
  readonly state: SessionState;
  readonly actions: SessionActions;
  readonly notebookName: string | null;
  readonly models: readonly string[] | undefined;
  readonly contextUsed: number | undefined;
  readonly page: 'conversation' | 'skills';
  readonly onPage: (page: 'conversation' | 'skills') => void;
}

/** Notebook, model, mode; then the pages and a new conversation. */
export function PanelHeader(props: PanelHeaderProps): JSX.Element {
  const { state, actions, notebookName, models, contextUsed, page, onPage } = props;
  const ready = state.connection === 'ready';
  const { busy, problem, run } = useRequest();
  const [sure, setSure] = useState(false);
  const name = notebookName === null ? 'No notebook' : spoken(notebookName);
  const mode = MODES.find(known => known.mode === state.mode);
  return (
    <header className="ak-panel-head">
      <div className="ak-row">
        <h2 className="ak-panel-name" title={name}>
          {name}
        </h2>
        {ready ? (
          <>
            <button
              type="button"
              className="ak-quiet"
              aria-pressed={page === 'skills'}
              onClick={() => onPage(page === 'skills' ? 'conversation' : 'skills')}
            >
              <Icon name="list" />
              <span>Skills</span>
            </button>
            <button
              type="button"
              className="ak-quiet"
              title="Start a new conversation. This one stays on disk."
              disabled={busy || state.runs.length === 0}
              onClick={() => {
                if (state.running !== null && !sure) {
                  setSure(true);
                  return;
                }
                setSure(false);
                void run(() => actions.newSession());
              }}
              onBlur={() => setSure(false)}
            >
              <Icon name="plus" />
              <span>{sure ? 'Stop and start new' : 'New'}</span>
            </button>
          </>
        ) : null}
      </div>
      {ready ? (
        <div className="ak-row ak-pickers">
          <ModelPicker state={state} models={models} onPick={model => void run(() => actions.set({ model }))} />
          <span className="ak-pick" title={mode?.says}>
            <select
              aria-label="Mode"
              className={state.mode === 'bypassPermissions' ? 'ak-select ak-danger' : 'ak-select'}
              value={state.mode}
              onChange={event => {
                const picked = event.target.value as PermissionMode;
                void run(() => actions.set({ mode: picked }));
              }}
            >
              {MODES.map(known => (
                <option key={known.mode} value={known.mode} title={known.says}>
                  {known.name}
                </option>
              ))}
            </select>
          </span>
        </div>
      ) : null}
      {contextUsed === undefined || !ready ? null : (
        <div
          className="ak-meter"
          role="meter"
          aria-label="Context in use"
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(contextUsed * 100)}
          title={`${Math.round(contextUsed * 100)} % of the context is in use`}
        >
          <span style={{ width: `${Math.min(100, Math.max(0, contextUsed * 100))}%` }} />
        </div>
      )}
      {problem ? (
        <p className="ak-problem" role="alert">
          {problem}
        </p>
      ) : null}
    </header>
  );
}

interface ModelPickerProps {
  readonly state: SessionState;
  readonly models: readonly string[] | undefined;
  readonly onPick: (model: string) => void;
}

function ModelPicker({ state, models, onPick }: ModelPickerProps): JSX.Element | null {
  // Offline, the model that is named is not the one that answers.
  const current = state.model?.offline ? 'offline script' : (state.model?.model ?? '');
  const choices = [...new Set([current, ...(models ?? [])])].filter(model => model !== '');
  if (choices.length === 0) {
    return null;
  }
  if (choices.length === 1) {
    return (
      <span className="ak-model" title={state.model?.endpoint}>
        {current}
      </span>
    );
  }
  return (
    <span className="ak-pick">
      <select aria-label="Model" className="ak-select" value={current} onChange={event => onPick(event.target.value)}>
        {choices.map(model => (
          <option key={model} value={model}>
            {model}
          </option>
        ))}
      </select>
    </span>
  );
}
