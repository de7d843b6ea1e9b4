import { setTimeout as pause } from "node:timers/promises";
import { messageOf } from "../core/process/thrown.ts";
import type { SpreadLoad } from "./spread-load.ts";
import { stallsSince } from "./stalls.ts";
import type { Target } from "./targets.ts";

/** Calls alone, before the first step of a phase. */
const BEFORE_MS = 3_000;

/** The calls and the gateways in one phase. */
export interface PhaseRow {
  readonly name: string;
  readonly calls: number;
  readonly refused: number;
  readonly firstError: string | undefined;
  readonly p99Ms: number;
  readonly longestMs: number;
  /** The longest of all gateways, by processor time and by the clock. */
  readonly stall: { readonly ranMs: number; readonly lateMs: number };
  /** The result of the action, or the reason for which it failed. */
  readonly note: string | undefined;
  readonly hasFailed: boolean;
}

/** Does one thing after another while calls run, and measures the gateways. */
export class LoadedPhases {
  readonly rows: PhaseRow[] = [];

  constructor(
    private readonly load: SpreadLoad,
    private readonly file: string,
  ) {}

  /** The file into which a gateway writes its stalls. */
  fileOf(gateway: number): string {
    return `${this.file}-${gateway}.jsonl`;
  }

  /** Runs one phase. The gateways that there are at its beginning take the calls. */
  async run(
    name: string,
    gateways: readonly Target[],
    action: () => Promise<string | void>,
  ): Promise<void> {
    const since = Date.now();
    const ports = gateways.map(({ port }) => port);
    this.load.start(ports);
    await pause(BEFORE_MS);
    let hasFailed = false;
    const note = await action().catch((error: unknown) => {
      hasFailed = true;
      return `failed: ${messageOf(error)}`;
    });
    const { calls, errors, firstError, latencyUs } = await this.load.end();
    const stalls = ports.flatMap((_, at) => stallsSince(this.fileOf(at), since));
    const most = (of: "ranMs" | "lateMs") => Math.max(0, ...stalls.map((stall) => stall[of]));
    const row: PhaseRow = {
      name,
      calls,
      refused: errors,
      firstError,
      p99Ms: latencyUs.p99 / 1_000,
      longestMs: latencyUs.max / 1_000,
      stall: { ranMs: most("ranMs"), lateMs: most("lateMs") },
      note: note ?? undefined,
      hasFailed,
    };
    this.rows.push(row);
    console.log(JSON.stringify(row));
  }
}
