import { debitOf } from "../../../core/money/debit.ts";
import { entryOf } from "../../../core/money/entry.ts";
import { type HoldStore, type Purse, type Short, WALLET } from "../../../core/money/hold-store.ts";
import { isReadable, type StoredEntry } from "../../../core/money/outbox-entry.ts";
import { loadWithPurses } from "../../../core/money/purse.ts";
import { MemoryLedger } from "../../support/memory-ledger.ts";
import { posting } from "../../support/posting.ts";
import type { Create, HoldStoreUnderTest } from "./under-test.ts";

const NOT_YET_MS = 20;

/** Runs the lines of a table against a store and a ledger in memory, and records the results. */
export class Table {
  static async begin(create: Create): Promise<Table> {
    const ledger = new MemoryLedger();
    return new Table(await create(ledger), ledger);
  }

  private constructor(
    private subject: HoldStoreUnderTest,
    private readonly ledger: MemoryLedger,
  ) {
    this.ledger.addAccount("A");
  }

  /** Returns the table as given and as it came out, in the same columns. */
  async run(text: string): Promise<{ expected: string; found: string }> {
    const lines = text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]));
    const found: string[] = [];
    for (const line of lines) {
      const step = line.slice(0, line.indexOf("->")).trimEnd();
      const answer = await this.step(step).catch((error: Error) => error.name);
      found.push(`${line.slice(0, line.indexOf("->"))}-> ${answer}`);
    }
    return { expected: lines.join("\n"), found: found.join("\n") };
  }

  dispose(): Promise<void> {
    return this.subject.dispose();
  }

  private get store(): HoldStore {
    return this.subject.store;
  }

  private async step(step: string): Promise<string> {
    const [verb = "", ...rest] = step.split(/\s+/);
    const [first = "", second = "", third = "", fourth = ""] = rest;
    switch (verb) {
      case "credit":
        return this.credit(first, BigInt(second), true);
      case "ledger-credit":
        return this.credit(first, BigInt(second), false);
      case "apply":
        return this.apply(first, Number(second), BigInt(third));
      case "hold":
        await this.load(second, pairsOf(rest.slice(3)));
        return this.hold(first, second, third, pairsOf(rest.slice(3)));
      case "bare-hold":
        return this.hold(first, second, third, pairsOf(rest.slice(3)));
      case "hold-at-once":
        return this.holdAtOnce(Number(first), second, third, pairsOf(rest.slice(3)));
      case "extend":
        return this.extend(first, second, third);
      case "post":
        return this.post(first, second, Number(fourth), pairsOf(rest.slice(4)));
      case "post-together":
        return this.postTogether(first, rest.slice(1));
      case "debit":
        return this.debit(first, BigInt(second), third);
      case "void":
        await this.store.void(first, second);
        return "ok";
      case "revoke":
        await this.store.revoke(first, second);
        return "ok";
      case "restore":
        await this.store.restore(first, second);
        return "ok";
      case "load":
        return String(await this.load(first));
      case "load-soon":
        return this.loadSoon(first);
      case "load-purse":
        return String(await this.store.load(first, () => this.ledger.purse(first, second), second));
      case "spent":
        return this.spent(first, second);
      case "wallet":
        return this.wallet(first);
      case "versions":
        return this.versions();
      case "ledger":
        return String((await this.ledger.wallet(first))?.balanceMicroVnd);
      case "commit":
        return `${(await this.commit()).length} committed`;
      case "acknowledge": {
        const entries = await this.commit();
        await this.store.acknowledge(entries);
        // A committer may acknowledge a batch twice.
        await this.store.acknowledge(entries);
        return `${entries.length} acknowledged`;
      }
      case "quarantine": {
        const made = posting({ callId: first, accountId: second, costMicroVnd: Number(third) });
        await this.ledger.quarantine(entryOf(first, made, Number(third), 0));
        return "ok";
      }
      case "retry":
        return String(await this.ledger.commitQuarantined(first));
      case "restore-from-ledger":
        return (await this.store.restoreFromLedger()).kind;
      case "crash":
        this.subject = await this.subject.crash();
        return "ok";
      default:
        throw new Error(`no such step: ${step}`);
    }
  }

  private load(accountId: string, { within }: Pairs = {}): Promise<boolean> {
    const names = pursesOf(within).map(({ name }) => name);
    return loadWithPurses(this.store, this.ledger, accountId, names);
  }

  private async loadSoon(accountId: string): Promise<string> {
    const later = new Promise<string>((resolve) => setTimeout(resolve, NOT_YET_MS, "waits"));
    return Promise.race([this.load(accountId).then(String), later]);
  }

  private async credit(accountId: string, amount: bigint, apply: boolean): Promise<string> {
    const reference = `r${Math.random()}`;
    const kind = amount < 0n ? "adjustment" : "topup";
    const movement = { accountId, amountMicroVnd: amount, reference, kind, reason: null } as const;
    // Money that the ledger alone takes away.
    if (amount < 0n) await this.ledger.commit([debitOf(movement, Date.now())]);
    const result = (await this.ledger.credited(movement)) ?? (await this.ledger.credit(movement));
    if (result.kind !== "credited") return result.kind;
    const { creditVersion, creditedMicroVnd } = result.wallet;
    const applyNow = () => this.apply(accountId, creditVersion, creditedMicroVnd);
    // One that meets a new epoch of Redis is applied later: see `Movements`.
    if (apply) await applyNow().catch(applyNow);
    return `version ${creditVersion}`;
  }

  private async apply(
    accountId: string,
    creditVersion: number,
    creditedMicroVnd: bigint,
  ): Promise<string> {
    const total = { accountId, creditVersion, creditedMicroVnd };
    return (await this.store.credit(total)) ? "ok" : "short";
  }

  private async debit(accountId: string, amount: bigint, reference: string): Promise<string> {
    const movement = { accountId, reference, kind: "adjustment", reason: null } as const;
    const entry = debitOf({ ...movement, amountMicroVnd: -amount }, Date.now());
    const result = await this.store.debit(entry);
    if (result.kind === "short") return heldOrShort(result);
    return result.kind === "posted" && result.duplicate ? "duplicate" : result.kind;
  }

  private async hold(
    callId: string,
    accountId: string,
    range: string,
    { key: keyId = "K", at, within }: Pairs,
  ): Promise<string> {
    const [floor, amount] = amounts(range);
    const result = await this.store.hold({
      callId,
      accountId,
      keyId,
      amountMicroVnd: amount,
      floorMicroVnd: floor,
      ...(at !== undefined && { creditVersion: Number(at) }),
      ...(within !== undefined && { purses: pursesOf(within) }),
    });
    return result.kind === "held" || result.kind === "short" ? heldOrShort(result) : result.kind;
  }

  /** Holds for calls `m1`, `m2`, … in one turn of the event loop. */
  private async holdAtOnce(count: number, accountId: string, range: string, pairs: Pairs) {
    await this.load(accountId, pairs);
    const calls = Array.from({ length: count }, (_, at) => `m${at + 1}`);
    const results = await Promise.all(
      calls.map((callId) => this.hold(callId, accountId, range, pairs)),
    );
    const held = results.filter((result) => result.startsWith("held")).length;
    return `${held} held, ${results.length - held} short`;
  }

  private async extend(callId: string, accountId: string, range: string): Promise<string> {
    const [floor, total] = amounts(range);
    const request = { callId, accountId, totalMicroVnd: total, floorMicroVnd: floor };
    const result = await this.store.extend(request);
    return result.kind === "gone" ? "gone" : heldOrShort(result);
  }

  private async post(
    callId: string,
    accountId: string,
    costMicroVnd: number,
    { within }: Pairs,
  ): Promise<string> {
    const purses = within === undefined ? {} : { purses: within.split(",") };
    const result = await this.store.post(posting({ callId, accountId, costMicroVnd, ...purses }));
    const answer = `charged ${result.chargedMicroVnd} off ${result.writtenOffMicroVnd}`;
    return result.duplicate ? `${answer} duplicate` : answer;
  }

  /** Posts `c1:7 c2:5`: calls and their costs. */
  private async postTogether(accountId: string, calls: readonly string[]): Promise<string> {
    const postings = calls.map((call) => {
      const [callId = "", cost] = call.split(":");
      return posting({ callId, accountId, costMicroVnd: Number(cost) });
    });
    const answers = await Promise.all(this.store.postAll(postings));
    return answers
      .map((answer) => (answer instanceof Error ? answer.name : answer.chargedMicroVnd))
      .join(", ");
  }

  private async spent(accountId: string, name: string): Promise<string> {
    const found = await this.store.balances(accountId, name);
    if (found === undefined) return "not loaded";
    const { availableMicroVnd, heldMicroVnd, uncommittedMicroVnd } = found;
    const uncommitted = uncommittedMicroVnd === 0 ? "" : ` uncommitted ${uncommittedMicroVnd}`;
    return `${0 - availableMicroVnd - heldMicroVnd} held ${heldMicroVnd}${uncommitted}`;
  }

  private async wallet(accountId: string): Promise<string> {
    const found = await this.store.balances(accountId);
    if (found === undefined) return "not loaded";
    const { availableMicroVnd, heldMicroVnd, uncommittedMicroVnd } = found;
    return `available ${availableMicroVnd} held ${heldMicroVnd} uncommitted ${uncommittedMicroVnd}`;
  }

  private async versions(): Promise<string> {
    const versions: string[] = [];
    for await (const page of this.store.loadedVersions()) {
      for (const { accountId, purse, version } of page) {
        versions.push(`${accountId}${purse === null ? "" : `/${purse}`} ${version}`);
      }
    }
    return versions.sort().join(" ");
  }

  private async commit(): Promise<StoredEntry[]> {
    const entries = (await this.store.read(1_000, 0)).filter(isReadable);
    const returned = await this.ledger.commit(entries);
    return entries.map((entry) => ({
      ...entry,
      ...(returned.includes(entry.entryId) && { isReturned: true }),
    }));
  }
}

interface Pairs {
  readonly key?: string;
  readonly at?: string;
  readonly within?: string;
}

/** Parses pairs of words: `key K1 within key:K1=500,day=900`. */
function pairsOf(words: readonly string[]): Pairs {
  const pairs: Record<string, string> = {};
  for (let at = 0; at + 1 < words.length; at += 2) pairs[words[at] ?? ""] = words[at + 1] ?? "";
  return pairs;
}

/** Parses `key:K1=500,day=900`: purses and their limits. */
function pursesOf(within?: string): Purse[] {
  return (within?.split(",") ?? []).map((each) => {
    const [name = "", limit] = each.split("=");
    return { name, limitMicroVnd: Number(limit) };
  });
}

/** Returns `held 20` or `short 20`, with the purse that is short unless it is the wallet. */
function heldOrShort(
  result: { readonly kind: "held"; readonly amountMicroVnd: number } | Short,
): string {
  if (result.kind === "held") return `held ${result.amountMicroVnd}`;
  const of = result.purse === WALLET ? "" : ` of ${result.purse}`;
  return `short ${result.availableMicroVnd}${of}`;
}

/** Parses `600..800`: the floor and the amount. */
function amounts(range: string): [number, number] {
  const [floor = "", amount = ""] = range.split("..");
  return [Number(floor), Number(amount)];
}
