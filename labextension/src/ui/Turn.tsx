/** One turn of the agent: the same in a cell and in the panel. */
import { Component, memo, useCallback, useMemo } from 'react';
import type { JSX, ReactNode } from 'react';
import type { PermissionRequested } from '../protocol/generated';
import { isOpen } from '../session/items';
import type { RunState, ToolItem, TurnItem } from '../session/state';
import type { SessionActions } from './actions';
import { Approval, ApprovalStack } from './Approval';
import { Announcer } from './Announcer';
import { CompactedLine, NoticeLine, RunEndLines, SkillLine, Thinking, Withdrawn } from './lines';
import { Markdown } from './Markdown';
import { Elapsed, Fold } from './parts';
import { StateDot } from './icons';
import { StopButton, ToolCard, ToolGroup } from './ToolCard';
import { VisibleText, oneLine } from './visible';

export interface TurnProps {
  readonly run: RunState;
  /** What the live kernel waits for; only these get buttons. */
  readonly pending?: readonly PermissionRequested[];
  /** Absent where there is no kernel: then nothing has a button. */
  readonly actions?: SessionActions | undefined;
  /** Whether the run may still grow. */
  readonly live?: boolean;
  /** Draw the prompt above the turn (the panel; a cell already shows it). */
  readonly showPrompt?: boolean;
}

const NONE: readonly PermissionRequested[] = [];

export const Turn = memo(function Turn({
  run,
  pending = NONE,
  actions,
  live = false,
  showPrompt = false
}: TurnProps): JSX.Element {
  const growing = live && run.end === null;
  const { runId } = run;
  const stop = useCallback(() => void actions?.stop(runId).catch(() => undefined), [actions, runId]);
  const mine = useMemo(() => pending.filter(request => request.run_id === runId), [pending, runId]);
  const last = run.items[run.items.length - 1];
  // A running tool's line and the panel's composer have a Stop of their own.
  const stoppable = actions !== undefined && !showPrompt && !(last?.kind === 'tool' && last.state === 'running');
  return (
    <section
      className="ak-root ak-turn"
      aria-label="Turn of the agent"
      aria-busy={growing}
      data-run-id={runId}
      data-end={run.end ?? undefined}
      data-lm-suppress-shortcuts
    >
      {showPrompt && run.prompt !== '' ? <Prompt text={run.prompt} /> : null}
      <Flow
        items={run.items}
        pending={mine}
        actions={actions}
        growing={growing}
        stop={growing && actions !== undefined ? stop : undefined}
      />
      {growing ? (
        <div className="ak-working">
          <StateDot state="running" />
          <span>
            {mine.length > 0 ? 'Waiting for you' : 'Working'} · <Elapsed startedAt={run.startedAt} />
          </span>
          {stoppable ? <StopButton stop={stop} /> : null}
        </div>
      ) : null}
      <RunEndLines run={run} live={live} actions={actions} />
      <Announcer run={run} pending={mine} growing={growing} />
    </section>
  );
});

export function Prompt({ text, queued = false }: { text: string; queued?: boolean }): JSX.Element {
  return (
    <div className={queued ? 'ak-prompt ak-prompt-queued' : 'ak-prompt'}>
      <span className="ak-sr">You: </span>
      <VisibleText text={text} />
      {queued ? <span className="ak-note">will be seen at the next step</span> : null}
    </div>
  );
}

interface FlowProps {
  readonly items: readonly TurnItem[];
  readonly pending: readonly PermissionRequested[];
  readonly actions: SessionActions | undefined;
  readonly growing: boolean;
  readonly stop: (() => void) | undefined;
}

/** Items that are drawn as one: reads in a row, questions in a row. */
type Row =
  | { readonly kind: 'item'; readonly item: TurnItem; readonly last: boolean }
  | { readonly kind: 'tools'; readonly tools: readonly ToolItem[] }
  | { readonly kind: 'questions'; readonly requests: readonly PermissionRequested[]; readonly key: string };

function Flow({ items, pending, actions, growing, stop }: FlowProps): JSX.Element {
  const rows = rowsOf(items, pending, growing);
  return (
    <>
      {rows.map(row => {
        switch (row.kind) {
          case 'tools':
            return <ToolGroup key={row.tools[0]?.key} tools={row.tools} stop={stop} />;
          case 'questions':
            return <ApprovalStack key={row.key} requests={row.requests} actions={actions} />;
          default:
            return (
              <Guard key={row.item.key}>
                <Item
                  item={row.item}
                  pending={pending}
                  actions={actions}
                  growing={growing}
                  last={row.last}
                  stop={stop}
                />
              </Guard>
            );
        }
      })}
    </>
  );
}

function rowsOf(
  items: readonly TurnItem[],
  pending: readonly PermissionRequested[],
  growing: boolean
): readonly Row[] {
  const asked = new Set(pending.map(request => request.request_id));
  const rows: Row[] = [];
  items.forEach((item, at) => {
    const before = rows[rows.length - 1];
    if (item.kind === 'tool' && foldable(item)) {
      const first = before?.kind === 'tools' ? before.tools[0] : undefined;
      if (before?.kind === 'tools' && first?.tool === item.tool && first.verb === item.verb) {
        rows[rows.length - 1] = { kind: 'tools', tools: [...before.tools, item] };
      } else {
        rows.push({ kind: 'tools', tools: [item] });
      }
    } else if (
      item.kind === 'approval' &&
      growing &&
      item.resolution === null &&
      asked.has(item.request.request_id)
    ) {
      if (before?.kind === 'questions') {
        rows[rows.length - 1] = { ...before, requests: [...before.requests, item.request] };
      } else {
        rows.push({ kind: 'questions', requests: [item.request], key: item.key });
      }
    } else {
      rows.push({ kind: 'item', item, last: at === items.length - 1 });
    }
  });
  return rows.map(row => {
    // One alone is an ordinary line or card.
    const tool = row.kind === 'tools' && row.tools.length === 1 ? row.tools[0] : undefined;
    return tool === undefined ? row : { kind: 'item', item: tool, last: false };
  });
}

function foldable(tool: ToolItem): boolean {
  return tool.readOnly && (tool.state === 'ok' || tool.state === 'running') && tool.outputs.length === 0;
}

interface ItemProps extends Omit<FlowProps, 'items'> {
  readonly item: TurnItem;
  readonly last: boolean;
}

const Item = memo(function Item({ item, pending, actions, growing, last, stop }: ItemProps): JSX.Element {
  switch (item.kind) {
    case 'text':
      return <Markdown text={item.text} growing={growing && last} />;
    case 'thinking':
      return <Thinking item={item} open={growing && last && item.seconds === null} />;
    case 'tool':
      return <ToolCard tool={item} stop={growing && isOpen(item) ? stop : undefined} />;
    case 'approval':
      // Without the live kernel's word it is a record, not a question.
      return item.resolution === null ? (
        <div className="ak-resolved">
          Not answered: <VisibleText text={oneLine(item.request.title)} />
        </div>
      ) : (
        <Approval request={item.request} resolution={item.resolution} />
      );
    case 'notice':
      return <NoticeLine item={item} live={growing} />;
    case 'skill':
      return <SkillLine item={item} />;
    case 'prompt':
      return <Prompt text={item.text} />;
    case 'compacted':
      return <CompactedLine item={item} />;
    case 'withdrawn':
      return <Withdrawn item={item} live={growing} />;
    case 'agent':
      return (
        <Fold
          className="ak-tool"
          summary={
            <>
              <StateDot state={item.end === null ? 'running' : item.end === 'completed' ? 'ok' : 'error'} />
              <span className="ak-line-text">
                <span className="ak-verb">Agent</span>{' '}
                <span className="ak-subject">
                  <VisibleText text={oneLine(item.description || item.agentType)} />
                </span>
                {item.progress ? <span className="ak-fact"> · {oneLine(item.progress)}</span> : null}
              </span>
            </>
          }
        >
          {() => (
            <>
              <Flow
                items={item.items}
                pending={pending}
                actions={actions}
                growing={growing && item.end === null}
                stop={stop}
              />
              {item.items.length === 0 && item.text ? <Markdown text={item.text} /> : null}
            </>
          )}
        </Fold>
      );
  }
});

/** One item that cannot be drawn must not take the turn, or the notebook's output, with it. */
class Guard extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    return this.state.failed ? <p className="ak-note">This part could not be drawn.</p> : this.props.children;
  }
}
