/** The anywidget entry: the components of `ui/` in hosts without our JupyterLab extension. */
import type { AnyModel } from '@anywidget/types';
import { createRoot } from 'react-dom/client';
import type { JSX } from 'react';
import { useSyncExternalStore } from 'react';
import type { SkillInfo } from '../protocol/generated';
import { SkillList, Turn } from '../ui';
import { guardKeys } from '../ui/keys';
import { createActions, Feed } from './feed';
import type { WidgetModel } from './feed';

function TurnView({ feed }: { feed: Feed }): JSX.Element {
  const state = useSyncExternalStore(feed.subscribe, feed.get);
  const run = state.runs[0];
  return run === undefined ? (
    <p className="ak-root ak-note">Starting…</p>
  ) : (
    <Turn run={run} pending={state.pending} actions={feed.actions} live={run.end === null} />
  );
}

function SkillsView({ model }: { model: AnyModel<WidgetModel> }): JSX.Element {
  return <SkillList skills={skillsOf(model.get('initial'))} actions={createActions(model)} />;
}

function skillsOf(json: string): readonly SkillInfo[] {
  try {
    const result = JSON.parse(json) as { skills?: readonly SkillInfo[] };
    return result.skills ?? [];
  } catch {
    return [];
  }
}

interface RenderContext {
  readonly model: AnyModel<WidgetModel>;
  readonly el: HTMLElement;
}

function render({ model, el }: RenderContext): () => void {
  guardKeys(el);
  const root = createRoot(el);
  if (model.get('kind') === 'skills') {
    root.render(<SkillsView model={model} />);
    return () => root.unmount();
  }
  const feed = new Feed(model);
  root.render(<TurnView feed={feed} />);
  return () => {
    feed.dispose();
    root.unmount();
  };
}

export default { render };
