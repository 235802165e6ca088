/** What the composer offers while a word is typed. */
import type { SkillInfo } from '../protocol/generated';

export interface Offer {
  readonly insert: string;
  readonly detail: string;
}

export interface Offers {
  /** `text[start:end]` is replaced by one of them. */
  readonly start: number;
  readonly end: number;
  readonly offers: readonly Offer[];
}

export const NO_OFFERS: Offers = { start: 0, end: 0, offers: [] };

const MOST = 8;

/** Skills for a text that begins with `/` and has no blank before the cursor. */
export function skillOffers(text: string, cursor: number, skills: readonly SkillInfo[]): Offers {
  const word = /^\/([\w:.-]*)$/.exec(text.slice(0, cursor));
  if (word === null) {
    return NO_OFFERS;
  }
  const typed = (word[1] ?? '').toLowerCase();
  const usable = skills.filter(skill => skill.user_invocable && skill.shadowed_by === null);
  const begins = usable.filter(skill => skill.name.toLowerCase().startsWith(typed));
  const holds = usable.filter(
    skill => !begins.includes(skill) && skill.name.toLowerCase().includes(typed)
  );
  const end = cursor + (/^[\w:.-]*/.exec(text.slice(cursor))?.[0].length ?? 0);
  return {
    start: 0,
    end,
    offers: [...begins, ...holds].slice(0, MOST).map(skill => ({
      insert: `/${skill.name} `,
      detail: skill.description
    }))
  };
}

/** Whether the word before the cursor names a cell, a variable or a file. */
export function isReference(text: string, cursor: number): boolean {
  return /(?:^|\s)@[^\s]*$/.test(text.slice(0, cursor));
}

/** "/name rest" is a command; a path is not. */
export function commandOf(text: string): { name: string; args: string } | null {
  const match = /^\/([\w:.-]+)(?:\s+([\s\S]*))?$/.exec(text.trim());
  return match === null ? null : { name: match[1] ?? '', args: (match[2] ?? '').trim() };
}
