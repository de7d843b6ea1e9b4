import { refuseArguments } from "../core/process/command-line.ts";

/** Returns the number above 0 that an option has, or refuses the arguments. */
export function positiveOption(usage: string, name: string, text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  return refuseArguments(usage, `--${name} must be a number above 0, not ${text}`);
}

/** As `positiveOption`, for a whole number. */
export function wholeOption(usage: string, name: string, text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isSafeInteger(value)) return value;
  return refuseArguments(usage, `--${name} must be a whole number above 0, not ${text}`);
}
