/** Cell outputs between nbformat (what the document holds) and the wire. */
import type * as nbformat from '@jupyterlab/nbformat';
import { TURN_MIME, type CellOutput, type JsonValue } from '../protocol/generated';

type Bundle = { [key: string]: JsonValue };

const joined = (text: unknown): string =>
  Array.isArray(text) ? text.join('') : typeof text === 'string' ? text : '';

/** nbformat may hold long texts as lists of lines; JSON bundles stay as they are. */
function bundle(data: nbformat.IMimeBundle): Bundle {
  return Object.fromEntries(
    Object.entries(data).map(([mime, value]) => [
      mime,
      (Array.isArray(value) && !/[/+]json$/.test(mime) ? joined(value) : value) as JsonValue
    ])
  );
}

/** What the kernel and the model read of one output; null for a kind nobody knows. */
export function toWire(output: nbformat.IOutput): CellOutput | null {
  const raw = output;
  switch (raw.output_type) {
    case 'stream':
      return {
        output_type: 'stream',
        name: raw['name'] === 'stderr' ? 'stderr' : 'stdout',
        text: joined(raw['text'])
      };
    case 'display_data':
    case 'execute_result':
    case 'update_display_data':
      return {
        output_type: raw.output_type === 'execute_result' ? 'execute_result' : 'display_data',
        data: bundle((raw['data'] ?? {}) as nbformat.IMimeBundle),
        metadata: (raw['metadata'] ?? {}) as Bundle,
        execution_count: (raw['execution_count'] ?? null) as number | null
      };
    case 'error':
      return {
        output_type: 'error',
        ename: joined(raw['ename']),
        evalue: joined(raw['evalue']),
        traceback: (raw['traceback'] ?? []) as string[]
      };
    default:
      return null;
  }
}

/** Outputs as a shared cell takes them: stream texts as one string, nothing null. */
export function toDocument(outputs: readonly { [key: string]: JsonValue }[]): nbformat.IOutput[] {
  return outputs.map(output => {
    const kept = Object.entries(output).filter(
      ([key, value]) => value !== null || key === 'execution_count'
    );
    const clean = Object.fromEntries(kept) as Bundle & { output_type: string };
    if (clean.output_type === 'stream') {
      clean['text'] = joined(clean['text']);
    }
    if (clean.output_type === 'display_data') {
      delete clean['execution_count'];
    }
    if (clean.output_type === 'display_data' || clean.output_type === 'execute_result') {
      clean['metadata'] ??= {};
    }
    return clean;
  });
}

/** The run a turn output shows; null for any other output. */
export function turnRun(output: nbformat.IOutput): string | null {
  const data = (output as { data?: Record<string, unknown> }).data;
  const turn = data?.[TURN_MIME] as { run_id?: unknown } | undefined;
  return typeof turn?.run_id === 'string' ? turn.run_id : null;
}

/** `old` with `added` behind it; a turn replaces the output that shows the same run. */
export function appended(old: nbformat.IOutput[], added: nbformat.IOutput[]): nbformat.IOutput[] {
  const result = [...old];
  for (const output of added) {
    const run = turnRun(output);
    const at = run === null ? -1 : result.findIndex(item => turnRun(item) === run);
    if (at < 0) {
      result.push(output);
    } else {
      result[at] = output;
    }
  }
  return result;
}
