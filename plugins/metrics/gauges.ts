import { Counter, Gauge, type Registry } from "prom-client";
import type { Services } from "../../core/plugin/index.ts";

const STATES = ["closed", "open", "probing"] as const;
/** The label of what concerns all models. */
const ALL = "all";

type Upstream = ReturnType<Services["upstreams"]["all"]> extends Iterable<infer One> ? One : never;
type Key = Upstream["keys"][number];

/** Adds gauges and counters of the state of this process, read at each scrape. */
export function addGauges(registry: Registry, services: Services): void {
  new Gauge({
    name: "tollgate_open_calls",
    help: "Calls in flight.",
    registers: [registry],
    collect() {
      this.set(services.callsInFlight.size);
    },
  });
  new Gauge({
    name: "tollgate_left_calls",
    help: "Calls in flight whose client has left; their upstream goes on.",
    registers: [registry],
    collect() {
      this.set(services.callsInFlight.left);
    },
  });
  new Gauge({
    name: "tollgate_unread_reply_bytes",
    help: "Memory of replies that their clients have not read yet; limits.unread_mb bounds it.",
    registers: [registry],
    collect() {
      this.set(services.status.unreadReplies.bytes);
    },
  });
  new Counter({
    name: "tollgate_unread_replies_cut_total",
    help: "Replies that were cut because all that wait took more than limits.unread_mb.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(services.status.unreadReplies.cut);
    },
  });
  new Counter({
    name: "tollgate_log_lines_lost_total",
    help: "Lines of the log that were lost: its disk was full, or its reader was slow or gone.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(services.status.lostLogLines);
    },
  });
  new Gauge({
    name: "tollgate_outbox_backlog",
    help: "Charged calls that the ledger has not committed yet.",
    registers: [registry],
    collect() {
      this.set(services.status.uncommittedCalls());
    },
  });
  new Gauge({
    name: "tollgate_oldest_unsent_seconds",
    help: "Age of the oldest charge that only this process has, in its spool or memory; 0 if there is none.",
    registers: [registry],
    aggregator: "max",
    collect() {
      const { operations, clock } = services;
      const sinceMs = operations.current.unsent().map((post) => post.sinceMs);
      this.set(Math.max(0, ...sinceMs.map((ms) => clock.now() - ms)) / 1_000);
    },
  });
  new Gauge({
    name: "tollgate_oldest_unsynced_seconds",
    help: "How long the oldest charged call has waited for the disk; 0 if none waits. From 3 s on, new calls get 503.",
    registers: [registry],
    aggregator: "max",
    collect() {
      this.set(services.status.unsyncedMs() / 1_000);
    },
  });
  new Gauge({
    name: "tollgate_paced_calls",
    help: "Calls that wait before their hold, because the ledger is slower than the calls.",
    registers: [registry],
    collect() {
      this.set(services.status.pace.waitingCalls);
    },
  });
  new Gauge({
    name: "tollgate_waiting_bodies",
    help: "Long bodies that wait for a thread to read them.",
    registers: [registry],
    collect() {
      this.set(services.bodyThreads.waiting);
    },
  });
  new Counter({
    name: "tollgate_paced_seconds_total",
    help: "Time that calls have waited for the ledger before their hold.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(services.status.pace.waitedMs / 1_000);
    },
  });
  new Gauge({
    name: "tollgate_hold_store_refuses",
    help: "1 while the hold store refuses some or all new calls, with the cause.",
    labelNames: ["cause", "calls"],
    registers: [registry],
    aggregator: "max",
    collect() {
      this.reset();
      const health = services.status.holdStoreHealth();
      if (health.kind === "ok") return;
      this.set({ cause: health.cause, calls: health.kind === "away" ? "all" : "some" }, 1);
    },
  });
  new Gauge({
    name: "tollgate_clock_ahead_seconds",
    help: "How far the clock of Postgres is ahead of this gateway's, measured every minute.",
    labelNames: ["store"],
    registers: [registry],
    aggregator: "first",
    collect() {
      this.reset();
      const aheadMs = services.status.ledgerClockAheadMs;
      if (aheadMs !== undefined) this.set({ store: "postgres" }, aheadMs / 1_000);
    },
  });
  new Gauge({
    name: "tollgate_store_setting_fault",
    help: "1 for each setting or clock of a store with which no gateway starts (`broken`), or which makes failures worse (`weak`), read every minute.",
    labelNames: ["store", "setting", "guarantee"],
    registers: [registry],
    aggregator: "max",
    collect() {
      this.reset();
      for (const { store, setting, breaks } of services.status.storeFaults) {
        this.set({ store, setting, guarantee: breaks ? "broken" : "weak" }, 1);
      }
    },
  });
  new Counter({
    name: "tollgate_unreadable_entries_total",
    help: "Posted calls that this version cannot read; each is in quarantine as text.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(services.status.commits.unreadableEntries);
    },
  });
  new Gauge({
    name: "tollgate_ledger_went_back",
    help: "1 if the ledger lacks commits that it had confirmed; no call is served until an operator restores.",
    registers: [registry],
    aggregator: "max",
    collect() {
      this.set(services.status.ledgerWentBack() ? 1 : 0);
    },
  });
  new Gauge({
    name: "tollgate_upstream_keys",
    help: "Keys of an upstream that work for all models (`awake`) or not for each (`partly`), rest, or are switched off; each worker has its own view.",
    labelNames: ["upstream", "state"],
    registers: [registry],
    aggregator: "max",
    collect() {
      this.reset();
      const nowMs = services.clock.monotonic();
      for (const { name, keys } of services.upstreams.all()) {
        const counts = { awake: 0, partly: 0, resting: 0, off: 0 };
        for (const key of keys) counts[stateOf(key, nowMs)] += 1;
        for (const [state, count] of Object.entries(counts))
          this.set({ upstream: name, state }, count);
      }
    },
  });
  new Gauge({
    name: "tollgate_upstream_key_refused",
    help: "1 from the upstream's refusal of a key (the cause: key, account, access or model) until the key serves a call again, or no call has tried it for an hour after its rest; the model `all` stands for each. The key is its last characters.",
    labelNames: ["upstream", "key", "model", "cause"],
    registers: [registry],
    aggregator: "max",
    collect() {
      this.reset();
      const nowMs = services.clock.monotonic();
      for (const { name, keys } of services.upstreams.all()) {
        for (const key of keys.filter(({ isOff }) => !isOff)) {
          for (const { model, fault } of key.restsAt(nowMs)) {
            if (fault === "limit") continue;
            const labels = { upstream: name, key: key.last4, model: model || ALL, cause: fault };
            this.set(labels, 1);
          }
        }
      }
    },
  });
  new Gauge({
    name: "tollgate_upstream_breaker",
    help: "1 for the current state of a model's breaker at an upstream, 0 for the others; the model `all` is that of its connections. Each worker has its own.",
    labelNames: ["upstream", "model", "state"],
    registers: [registry],
    aggregator: "max",
    collect() {
      this.reset();
      for (const { name, breakers } of services.upstreams.all()) {
        for (const { model, breaker } of breakers) {
          for (const state of STATES) {
            const labels = { upstream: name, model: model || ALL, state };
            this.set(labels, breaker.state === state ? 1 : 0);
          }
        }
      }
    },
  });
}

/** A key that rests for one model serves the others. */
function stateOf(key: Key, nowMs: number): "awake" | "partly" | "resting" | "off" {
  if (key.isOff) return "off";
  const rests = key.restsAt(nowMs).filter(({ inMs }) => inMs > 0);
  if (rests.some(({ model }) => model === "")) return "resting";
  return rests.length > 0 ? "partly" : "awake";
}
