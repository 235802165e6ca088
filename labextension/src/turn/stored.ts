/** What stands in a notebook file is somebody's data: taken only if it has the shape of a turn. */
import { EVENT_TYPES, type Event, type RunSnapshot, type SkillInfo } from '../protocol/generated';
import { runFromSnapshot } from '../session/reducer';
import type { RunState } from '../session/state';

const KNOWN: ReadonlySet<string> = new Set(EVENT_TYPES);

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The run of a stored turn, or null when the data is no turn. Events it cannot read are left out. */
export function storedRun(data: unknown): RunState | null {
  if (!isRecord(data) || typeof data['run_id'] !== 'string' || !Array.isArray(data['events'])) {
    return null;
  }
  const events = data['events'].filter(
    (event): event is Event =>
      isRecord(event) && typeof event['type'] === 'string' && KNOWN.has(event['type'])
  );
  const text = (key: string): string | null => {
    const value = data[key];
    return typeof value === 'string' ? value : null;
  };
  const snapshot: RunSnapshot = {
    version: 1,
    run_id: data['run_id'],
    session_id: text('session_id') ?? '',
    cell_id: text('cell_id'),
    events,
    seq: typeof data['seq'] === 'number' ? data['seq'] : 0,
    end: text('end') as RunSnapshot['end']
  };
  try {
    return runFromSnapshot(snapshot);
  } catch {
    return null;
  }
}

/** The skills of a stored list; entries of another shape are left out. */
export function storedSkills(data: unknown): SkillInfo[] {
  const skills = isRecord(data) && Array.isArray(data['skills']) ? (data['skills'] as unknown[]) : [];
  return skills.filter(
    (skill): skill is SkillInfo =>
      isRecord(skill) && typeof skill['name'] === 'string' && Array.isArray(skill['arguments'])
  );
}
