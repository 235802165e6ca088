/** Skills with a search field; each can be run with arguments. */
import { useId, useMemo, useState } from 'react';
import type { JSX } from 'react';
import type { SkillInfo } from '../protocol/generated';
import type { SessionActions } from './actions';
import { count } from './format';
import { useRequest } from './parts';
import { VisibleText, oneLine } from './visible';

export interface SkillListProps {
  readonly skills: readonly SkillInfo[];
  /** Absent where there is no kernel: then nothing can be run. */
  readonly actions?: SessionActions | undefined;
  /** After a skill was started. */
  readonly onRun?: (() => void) | undefined;
}

export function SkillList({ skills, actions, onRun }: SkillListProps): JSX.Element {
  const id = useId();
  const [query, setQuery] = useState('');
  const found = useMemo(() => search(skills, query), [skills, query]);
  return (
    <section className="ak-root ak-skills" aria-label="Skills" data-lm-suppress-shortcuts>
      <div className="ak-skills-bar">
        <label className="ak-sr" htmlFor={id}>
          Search skills
        </label>
        <input
          id={id}
          type="search"
          className="ak-input"
          placeholder="Search skills"
          value={query}
          onChange={event => setQuery(event.target.value)}
        />
        <span className="ak-note" role="status">
          {query.trim() === '' ? count(skills.length, 'skill') : `${found.length} of ${skills.length}`}
        </span>
      </div>
      {skills.length === 0 ? (
        <p className="ak-note">
          No skills yet. A folder <code>.claude/skills/name</code> with a file <code>SKILL.md</code> makes one.
        </p>
      ) : found.length === 0 ? (
        <p className="ak-note">No skill matches.</p>
      ) : (
        <ul className="ak-plain-list">
          {found.map(skill => (
            <SkillRow key={`${skill.source}:${skill.name}`} skill={skill} actions={actions} onRun={onRun} />
          ))}
        </ul>
      )}
    </section>
  );
}

/** Every word has to occur; a hit in the name comes before one elsewhere. */
export function search(skills: readonly SkillInfo[], query: string): readonly SkillInfo[] {
  const words = query.toLowerCase().split(/\s+/).filter(word => word !== '');
  if (words.length === 0) {
    return skills;
  }
  const named: SkillInfo[] = [];
  const others: SkillInfo[] = [];
  for (const skill of skills) {
    const name = skill.name.toLowerCase();
    const text = `${name} ${skill.description} ${skill.source}`.toLowerCase();
    if (words.every(word => text.includes(word))) {
      (words.some(word => name.includes(word)) ? named : others).push(skill);
    }
  }
  return [...named, ...others];
}

interface SkillRowProps extends Omit<SkillListProps, 'skills'> {
  readonly skill: SkillInfo;
}

function SkillRow({ skill, actions, onRun }: SkillRowProps): JSX.Element {
  const [args, setArgs] = useState('');
  const { busy, problem, run } = useRequest();
  const takesArguments = skill.argument_hint !== '' || skill.arguments.length > 0;
  const hint = skill.argument_hint || skill.arguments.map(name => `[${name}]`).join(' ') || 'arguments';
  // A hidden one is reached by its source's name.
  const callName = skill.shadowed_by === null ? skill.name : `${skill.source}:${skill.name}`;
  const start = (): void => {
    if (actions !== undefined) {
      void run(() => actions.command(callName, args.trim())).then(done => {
        if (done) {
          onRun?.();
        }
      });
    }
  };
  return (
    <li className="ak-skill">
      <div className="ak-skill-head">
        <span className="ak-skill-name">
          <VisibleText text={oneLine(callName)} />
        </span>
        {skill.source ? <span className="ak-badge">{oneLine(skill.source)}</span> : null}
        {skill.shadowed_by !== null ? (
          <span className="ak-badge ak-badge-quiet">hidden by {oneLine(skill.shadowed_by)}</span>
        ) : null}
      </div>
      {skill.description ? (
        <p className="ak-skill-text">
          <VisibleText text={oneLine(skill.description)} />
        </p>
      ) : null}
      {!skill.user_invocable ? (
        <p className="ak-note">Only the agent uses this one.</p>
      ) : actions !== undefined ? (
        <form
          className="ak-skill-run"
          onSubmit={event => {
            event.preventDefault();
            start();
          }}
        >
          <input
            className="ak-input ak-mono"
            aria-label={`Arguments of ${skill.name}`}
            placeholder={takesArguments ? hint : 'no arguments'}
            value={args}
            onChange={event => setArgs(event.target.value)}
          />
          <button type="submit" className="ak-button" disabled={busy} aria-label={`Run ${skill.name}`}>
            Run
          </button>
        </form>
      ) : null}
      {problem ? (
        <p className="ak-problem" role="alert">
          {problem}
        </p>
      ) : null}
    </li>
  );
}
