import { Counter, type Registry } from "prom-client";
import type { EndedCall } from "../../core/plugin/index.ts";

/** The cause of the attempts that have served a call. */
const SERVED = "served";

/** An attempt, as it is counted. A client can make up none of its labels: they come from the config and few causes. */
interface Labels {
  readonly upstream: string;
  readonly model: string;
  /** The last four characters of the key. */
  readonly key: string;
  readonly cause: string;
}

interface Counts {
  readonly labels: Labels;
  count: number;
  lost: number;
  lostInputTokens: number;
}

/** Counts attempts at upstreams: who served, who failed, and the ones that a provider may bill although no customer pays. */
export class Attempts {
  private readonly byUpstream = new Map<string, Map<string, Map<string, Map<string, Counts>>>>();

  count(call: EndedCall): void {
    const { failedAttempts, route, attempts } = call;
    for (const failed of failedAttempts) {
      const counts = this.of(failed.upstream, failed.model, failed.key, failed.cause);
      counts.count++;
      if (!failed.lost) continue;
      counts.lost++;
      counts.lostInputTokens += call.inputTokensBound;
    }
    if (!route || attempts <= failedAttempts.length) return;
    this.of(route.upstream, route.model, call.upstreamKey, SERVED).count++;
  }

  addTo(registry: Registry): void {
    const counter = (name: string, help: string, read: (counts: Counts) => number) => {
      const all = this;
      new Counter({
        name,
        help,
        labelNames: ["upstream", "model", "key", "cause"],
        registers: [registry],
        collect() {
          this.reset();
          for (const counts of all.counts()) {
            const value = read(counts);
            if (value > 0) this.inc({ ...counts.labels }, value);
          }
        },
      });
    };
    counter(
      "tollgate_upstream_attempts_total",
      "Attempts at upstreams, by the model's name there, the last characters of the key, and what came of them: served; key, account, access, model, limit (refusals); http_ and the status, connect, dns, tls, connection, silent, cut, empty, unreadable, credentials, gateway.",
      ({ count }) => count,
    );
    counter(
      "tollgate_lost_attempts_total",
      "Failed attempts that a provider may bill although no customer pays for them.",
      ({ lost }) => lost,
    );
    counter(
      "tollgate_lost_input_tokens_total",
      "The most input tokens that these attempts may have had.",
      ({ lostInputTokens }) => lostInputTokens,
    );
  }

  private *counts(): Iterable<Counts> {
    for (const byModel of this.byUpstream.values()) {
      for (const byKey of byModel.values()) {
        for (const byCause of byKey.values()) yield* byCause.values();
      }
    }
  }

  private of(upstream: string, model: string, key: string, cause: string): Counts {
    const byCause = inner(inner(inner(this.byUpstream, upstream), model), key);
    let counts = byCause.get(cause);
    if (counts === undefined) {
      const labels = { upstream, model, key, cause };
      counts = { labels, count: 0, lost: 0, lostInputTokens: 0 };
      byCause.set(cause, counts);
    }
    return counts;
  }
}

function inner<Value>(outer: Map<string, Map<string, Value>>, name: string): Map<string, Value> {
  let found = outer.get(name);
  if (found === undefined) {
    found = new Map();
    outer.set(name, found);
  }
  return found;
}
