import type { Services, ThrottledLog } from "../../core/plugin/index.ts";
import { type Channels, notDelivered } from "./channels.ts";
import { troubleTexts } from "./trouble-texts.ts";
import type { Trouble } from "./troubles.ts";

/** An outage that is over sooner needs no person. */
const OUTAGE_MS = 60_000;
/** The topic by which workers learn which of them is the first. */
const TOPIC = "messages";

const TROUBLE: Trouble = {
  cause: "ledger away",
  vi: "Sổ cái không ghi được: Postgres ngừng hoặc từ chối, lượt gọi đã phục vụ đang chờ",
  en: "The ledger takes nothing: Postgres is down or refuses, and served calls wait",
  path: "/servers",
};

interface Given {
  readonly services: Pick<Services, "clock" | "workers">;
  readonly log: ThrottledLog;
  readonly channels: Channels;
  readonly consoleUrl: string;
}

/**
 * Writes operators that the ledger is down, and that it is back, straight to the channels: the outbox is in the ledger itself. One
 * process of a gateway writes, and each gateway does, for only the ledger would show them what the others have written.
 */
export class LedgerOutage {
  private began: Date | undefined;
  /** The channels that took the message of its beginning, and not yet that of its end. */
  private readonly told = new Set<string>();

  constructor(private readonly given: Given) {
    given.services.workers.report(TOPIC, () => true);
  }

  /** The ledger has failed. */
  async fails(): Promise<void> {
    const nowMs = this.given.services.clock.now();
    this.began ??= new Date(nowMs);
    const untold = this.given.channels.names.filter((name) => !this.told.has(name));
    if (nowMs - this.began.getTime() < OUTAGE_MS || untold.length === 0) return;
    if (!(await this.isFirst())) return;
    await this.tell("trouble", untold, (name) => this.told.add(name));
  }

  /** The ledger works. */
  async works(): Promise<void> {
    await this.tell("trouble-over", [...this.told], (name) => this.told.delete(name));
    if (this.told.size === 0) this.began = undefined;
  }

  /** Writes to channels. `done` is called for each that took the message or never will; the next look tries the others again. */
  private async tell(
    kind: string,
    names: readonly string[],
    done: (name: string) => void,
  ): Promise<void> {
    const { channels, consoleUrl, log } = this.given;
    const { began } = this;
    if (began === undefined) return;
    const texts = troubleTexts(kind, TROUBLE, began, consoleUrl);
    const id = `outage-${began.getTime()}-${kind}`;
    await Promise.all(
      names.map(async (name) => {
        try {
          await channels.send(name, { id, kind, about: TROUBLE.cause, texts });
          done(name);
        } catch (error) {
          const { failure, isFinal } = notDelivered(error);
          log.warn({ failure }, "cannot write operators that the ledger is down or back");
          if (isFinal) done(name);
        }
      }),
    );
  }

  private async isFirst(): Promise<boolean> {
    const asked = await this.given.services.workers.ask(TOPIC).catch(() => undefined);
    // A worker that is dead, stuck or still starting writes nothing.
    return asked?.all.every(({ worker, isOld }) => isOld || worker >= asked.worker) ?? true;
  }
}
