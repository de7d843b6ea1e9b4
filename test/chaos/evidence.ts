import type { ClientCall } from "./call.ts";
import type { Allowance } from "./losses.ts";
import type { Movement } from "./movements.ts";
import type { RedisState } from "./redis-state.ts";

/** The observations of clients and operators. */
export interface Evidence {
  readonly calls: readonly ClientCall[];
  readonly movements: readonly Movement[];
  /** Accounts whose wallets never run low: each call is charged in full. */
  readonly rich: ReadonlySet<string>;
  readonly startMicroVnd: ReadonlyMap<string, bigint>;
  /** At the end of the run; undefined if Redis was not whole. */
  readonly redisState: RedisState | undefined;
  readonly belowZero: ReadonlySet<string>;
  /** Double failures that may have lost charges. */
  readonly allowances: readonly Allowance[];
}

export interface Violation {
  readonly rule: string;
  readonly what: string;
  readonly callId?: string | undefined;
}

/** Adds a violation. */
export type Report = (rule: string, what: string, callId?: string) => void;
