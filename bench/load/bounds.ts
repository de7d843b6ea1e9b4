import { formatVnd, parseVnd } from "../../core/catalogue/amount.ts";
import type { Percentiles, Report } from "./job.ts";
import {
  type Charges,
  driftOf,
  type Limit,
  showCount,
  showShare,
  showTime,
  supported,
  TIMES_MIN,
  VOID_ABOVE,
} from "./run.ts";

/** A bound of the command line: how it is written, and what of a run it is for. */
interface Kind {
  /** Returns undefined if the text is wrong. */
  parse(text: string): number | undefined;
  /** Returns undefined if the run has no such value, which breaks the bound. */
  measured(report: Report, charges: Charges | undefined): number | undefined;
  show(value: number): string;
  readonly isLeast?: boolean;
  /** A run without streams has no such value. */
  readonly isOfStreams?: boolean;
  /** Why a run has no such value. */
  readonly missing: string;
}

const fewer = (name: keyof Percentiles) => `fewer than ${TIMES_MIN[name]} good calls`;

const ofReply = (name: keyof Percentiles): Kind => ({
  parse: microsecondsOf,
  measured: ({ calls, latencyUs }) => supported(latencyUs, calls)[name],
  show: showTime,
  missing: fewer(name),
});

const KINDS = {
  "max-p50": ofReply("p50"),
  "max-p90": ofReply("p90"),
  "max-p99": ofReply("p99"),
  "max-p999": ofReply("p999"),
  "max-longest": ofReply("max"),
  "max-first-p99": {
    parse: microsecondsOf,
    measured: ({ calls, firstTokenUs }) => firstTokenUs && supported(firstTokenUs, calls).p99,
    show: showTime,
    isOfStreams: true,
    missing: fewer("p99"),
  },
  "max-gap-p99": {
    parse: microsecondsOf,
    measured: ({ events, gapUs }) => gapUs && supported(gapUs, events).p99,
    show: showTime,
    isOfStreams: true,
    missing: "fewer than 100 events",
  },
  "max-errors": {
    parse: shareOf,
    measured: ({ calls, errors }) => (calls + errors > 0 ? errors / (calls + errors) : undefined),
    show: showShare,
    missing: "no call",
  },
  "min-rate": {
    parse: numberOf,
    measured: ({ calls, seconds }) => calls / seconds,
    show: (rate) => `${showCount(rate)}/s`,
    isLeast: true,
    missing: "no call",
  },
  "max-drift": {
    parse: (text) => (parseVnd(text) === undefined ? undefined : Number(parseVnd(text))),
    measured: (report, charges) => {
      const drift = charges && driftOf(charges, report);
      return drift === undefined ? undefined : Math.abs(Number(drift));
    },
    show: (micro) => `${formatVnd(micro)} đ`,
    missing: "no balance, or calls whose cost is not stated",
  },
} as const satisfies Readonly<Record<string, Kind>>;

export type BoundName = keyof typeof KINDS;
export const BOUND_NAMES = Object.keys(KINDS) as readonly BoundName[];

/** How bounds are written, for the message about a wrong one. */
const EXAMPLES: Readonly<Partial<Record<BoundName, string>>> = {
  ...{ "max-errors": "0.1%", "min-rate": "450", "max-drift": "0" },
};

/** A bound of one run. */
export interface Bound {
  readonly name: BoundName;
  readonly value: number;
}

/** The bound of a run that has none for its failures. */
export const NOT_VOID: Bound = { name: "max-errors", value: VOID_ABOVE };

/** Returns a bound, or what is wrong with it. */
export function boundOf(name: BoundName, text: string, isStream: boolean): Bound | string {
  const { parse, isOfStreams = false }: Kind = KINDS[name];
  if (isOfStreams && !isStream) return `--${name} needs --stream`;
  const value = parse(text);
  if (value !== undefined) return { name, value };
  return `--${name} must be such as ${EXAMPLES[name] ?? "50ms or 1.5s"}, not ${text}`;
}

/** Returns whether a run kept a bound. */
export function limitOf(
  { name, value: bound }: Bound,
  report: Report,
  charges: Charges | undefined,
): Limit {
  const { measured, show, isLeast = false, missing }: Kind = KINDS[name];
  const value = measured(report, charges);
  const isKept = value !== undefined && (isLeast ? value >= bound : value <= bound);
  return {
    name,
    bound: show(bound),
    value: value === undefined ? `not known: ${missing}` : show(value),
    isKept,
  };
}

/** Returns the seconds of a text such as `500ms`, `10s` or `2m`. */
export function secondsOf(text: string): number | undefined {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(us|ms|s|m|h)$/.exec(text) ?? [];
  if (number === undefined) return undefined;
  return Number(number) * { us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3_600 }[unit!]!;
}

function microsecondsOf(text: string): number | undefined {
  const seconds = secondsOf(text);
  return seconds === undefined ? undefined : seconds * 1e6;
}

function shareOf(text: string): number | undefined {
  const [, percent] = /^(\d+(?:\.\d+)?) ?%$/.exec(text) ?? [];
  if (percent !== undefined) return Number(percent) / 100;
  return text === "0" ? 0 : undefined;
}

function numberOf(text: string): number | undefined {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}
