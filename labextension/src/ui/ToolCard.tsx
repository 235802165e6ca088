/** One tool call is one line; what it was given and what came out is inside. */
import { memo } from 'react';
import type { JSX } from 'react';
import type { JsonValue } from '../protocol/generated';
import { isOpen } from '../session/items';
import type { ToolItem } from '../session/state';
import { firstLine, seconds, withoutAnsi } from './format';
import { StateDot, STATE_WORDS } from './icons';
import { Outputs, Results } from './Outputs';
import { CopyButton, Elapsed, Fold, LongText } from './parts';
import { ExactText, PreviewView } from './PreviewView';
import { VisibleText, oneLine } from './visible';

export interface ToolCardProps {
  readonly tool: ToolItem;
  /** Stops the turn; absent where it cannot be stopped. */
  readonly stop?: (() => void) | undefined;
}

export const ToolCard = memo(function ToolCard({ tool, stop }: ToolCardProps): JSX.Element {
  const error = tool.state === 'error' ? firstLine(withoutAnsi(textOf(tool))) : '';
  return (
    <div className={`ak-tool ak-tool-${tool.state}`}>
      <Fold
        summary={
          <>
            <StateDot state={tool.state} />
            <span className="ak-line-text">
              <span className="ak-verb">{tool.verb}</span>{' '}
              <span className="ak-subject">
                <VisibleText text={oneLine(tool.subject)} />
              </span>
              <Fact tool={tool} error={error} />
            </span>
            <Time tool={tool} />
          </>
        }
        aside={stop !== undefined && tool.state === 'running' ? <StopButton stop={stop} /> : null}
      >
        {() => <Inside tool={tool} />}
      </Fold>
      {error ? (
        <p className="ak-tool-reason">
          <VisibleText text={error} />
        </p>
      ) : null}
    </div>
  );
});

export function StopButton({ stop }: { stop: () => void }): JSX.Element {
  return (
    <button type="button" className="ak-stop" aria-label="Stop this turn" title="Stop" onClick={stop}>
      <span className="ak-stop-square" aria-hidden="true" />
    </button>
  );
}

/** The one fact, or the state where it says more than a number could. */
function Fact({ tool, error }: { tool: ToolItem; error: string }): JSX.Element | null {
  const said = tool.state === 'ok' || tool.state === 'running' ? '' : STATE_WORDS[tool.state];
  // The error stands below in its own line.
  const known = tool.fact === said || (error !== '' && error.startsWith(tool.fact));
  const words = [said, known ? '' : oneLine(tool.fact)].filter(part => part !== '').join(' · ');
  return words === '' ? null : (
    <span className="ak-fact" aria-hidden={tool.fact === '' ? true : undefined}>
      {' · '}
      <VisibleText text={words} />
    </span>
  );
}

function Time({ tool }: { tool: ToolItem }): JSX.Element | null {
  if (tool.state === 'running') {
    return <Elapsed startedAt={tool.startedAt} />;
  }
  return tool.durationMs > 0 ? <span className="ak-time">{seconds(tool.durationMs / 1000)}</span> : null;
}

function Inside({ tool }: { tool: ToolItem }): JSX.Element {
  const result = textOf(tool);
  return (
    <>
      {tool.preview ? (
        <PreviewView preview={tool.preview} />
      ) : tool.state === 'writing' ? (
        <ExactText text={tool.partialInput} title="Input, being written" />
      ) : (
        <InputView input={tool.input} />
      )}
      {tool.progress ? <LongText text={tool.progress} label="Progress" /> : null}
      {tool.outputs.length > 0 ? <Outputs outputs={tool.outputs} /> : null}
      {tool.content.length > 0 ? (
        <section className="ak-result" aria-label="Result">
          <div className="ak-code-bar">
            <span>Result, as the model got it</span>
            {result ? <CopyButton text={result} what="the result" /> : null}
          </div>
          <Results content={tool.content} />
        </section>
      ) : isOpen(tool) || tool.outputs.length > 0 || tool.preview !== null ? null : (
        <p className="ak-note">No result.</p>
      )}
    </>
  );
}

/** Every field by itself, whole. */
function InputView({ input }: { input: ToolItem['input'] }): JSX.Element {
  return (
    <>
      {Object.entries(input).map(([name, value]) => (
        <ExactText key={name} title={name} text={inputText(value)} />
      ))}
    </>
  );
}

function inputText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function textOf(tool: ToolItem): string {
  return tool.content.flatMap(block => (block.type === 'text' ? [block.text] : [])).join('\n');
}

/** Calls of one read-only kind in a row: "Read 6 files". */
export const ToolGroup = memo(
  function ToolGroup({ tools, stop }: { tools: readonly ToolItem[]; stop?: (() => void) | undefined }): JSX.Element {
    const running = tools.find(isOpen);
    const names = [...new Set(tools.map(tool => tool.subject).filter(name => name !== ''))];
    const milliseconds = tools.reduce((sum, tool) => sum + tool.durationMs, 0);
    const verb = tools[0]?.verb ?? '';
    return (
      <div className="ak-tool ak-tool-group">
        <Fold
          summary={
            <>
              <StateDot state={running?.state ?? 'ok'} />
              <span className="ak-line-text">
                <span className="ak-verb">
                  {verb} {names.length > 1 ? `${names.length} ${unit(verb)}` : `${tools.length} times`}
                </span>{' '}
                <span className="ak-subject ak-faint">
                  <VisibleText text={oneLine(names.join(', '))} />
                </span>
              </span>
              {milliseconds > 0 && running === undefined ? (
                <span className="ak-time">{seconds(milliseconds / 1000)}</span>
              ) : null}
            </>
          }
        >
          {() => tools.map(tool => <ToolCard key={tool.key} tool={tool} stop={stop} />)}
        </Fold>
      </div>
    );
  },
  (before, after) =>
    before.stop === after.stop &&
    before.tools.length === after.tools.length &&
    before.tools.every((tool, at) => tool === after.tools[at])
);

function unit(verb: string): string {
  return verb === 'Read' ? 'files' : 'times';
}
