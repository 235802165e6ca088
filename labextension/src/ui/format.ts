/** Numbers in the person's units. */

/** "0.1 s", "14 s", "2 min 5 s", "1 h 4 min". */
export function seconds(value: number): string {
  if (value < 9.95) {
    return `${Math.max(0, value).toFixed(1)} s`;
  }
  const whole = Math.round(value);
  if (whole < 60) {
    return `${whole} s`;
  }
  if (whole < 3600) {
    return `${Math.floor(whole / 60)} min${whole % 60 > 0 ? ` ${whole % 60} s` : ''}`;
  }
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** Whole seconds, for what needs no precision: "4 s". */
export function wholeSeconds(value: number): string {
  return value < 10 ? `${Math.max(1, Math.round(value))} s` : seconds(value);
}

/** "410", "8.1k", "1.2M". */
export function tokens(count: number): string {
  if (count < 1000) {
    return String(count);
  }
  // 999,950 and more would round to "1000k".
  return count < 999_950 ? `${short(count / 1000)}k` : `${short(count / 1_000_000)}M`;
}

function short(value: number): string {
  return value < 99.95 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value));
}

/** "$0.02"; four places below a cent, since one turn often costs less. */
export function cost(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`;
}

/** "14:02" of seconds since the epoch, in the person's time zone; "" without a time. */
export function clock(at: number): string {
  if (at <= 0) {
    return '';
  }
  const date = new Date(at * 1000);
  return `${String(date.getHours()).padStart(2, '0')}:${String(date.getMinutes()).padStart(2, '0')}`;
}

/** "1 line", "1,204 lines". */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en-US')} ${number === 1 ? one : many}`;
}

export function firstLine(text: string): string {
  const line = text.split('\n').find(part => part.trim() !== '') ?? '';
  return line.trim();
}

/** Without the colour codes that terminals' programs print. */
export function withoutAnsi(text: string): string {
  // eslint-disable-next-line no-control-regex -- escape sequences begin with a control character
  return text.replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g, '');
}
