import { done, type OperatorRoute, type Services } from "../../core/plugin/index.ts";

type Clock = Services["clock"];

type Upstream = NonNullable<ReturnType<Services["upstreams"]["get"]>>;
type Failure = Upstream["keys"][number]["lastFailure"];

/** Route that shows the upstreams' health. Each process sees only its own calls, so the reply names the process. */
export function upstreamRoutes(services: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/upstreams",
      async handle() {
        const { upstreams, clock, catalogue } = services;
        const routes = routesOf(catalogue.models);
        const list = [...upstreams.all()].map((upstream) => ({
          ...shown(upstream, clock),
          routes: routes.get(upstream.name) ?? [],
        }));
        return done({ process: process.pid, upstreams: list });
      },
    },
  ];
}

function shown(upstream: Upstream, clock: Clock): object {
  const { name, config, keys } = upstream;
  const breakers = [...upstream.breakers];
  const counts: Record<string, number> = {};
  for (const { breaker } of breakers) {
    for (const [cause, count] of Object.entries(breaker.failuresByCause)) {
      counts[cause] = (counts[cause] ?? 0) + count;
    }
  }
  const list = breakers.map(({ model, breaker }) => ({
    model: model === "" ? null : model,
    breaker: breaker.state,
    failures_in_row: breaker.failuresInRow,
    failures: breaker.failures,
    last_failure: failureOf(breaker.lastFailure, clock),
    retry_in_ms: Math.round(breaker.retryInMs),
  }));
  const states = list.map(({ breaker: state }) => state);
  return {
    name,
    kind: config.kind,
    ...upstream.describe(),
    switched_off: [...upstream.off].map((model) => (model === "" ? "all models" : model)),
    // The worst of its models, and their sum.
    breaker: states.find((state) => state !== "closed") ?? "closed",
    failures: list.reduce((sum, { failures }) => sum + failures, 0),
    failures_by_cause: counts,
    breakers: list,
    keys: keys.map((key) => ({
      key: key.last4 === "" ? null : `…${key.last4}`,
      id: key.id,
      switched: key.isOff ? "off" : "on",
      last_used: timeOf(key.lastUsedMs, clock),
      failures: key.failures,
      last_failure: failureOf(key.lastFailure, clock),
      rests: key.restsAt(clock.monotonic()).map(({ model, fault, inMs }) => ({
        ...(model !== "" && { model }),
        cause: fault,
        wakes_in_ms: Math.round(inMs),
      })),
    })),
  };
}

/** Returns the routes to each upstream, with the share of the model's calls that each gets while all of them work. */
function routesOf(models: Services["catalogue"]["models"]): ReadonlyMap<string, object[]> {
  const found = new Map<string, object[]>();
  for (const { id, routes } of models) {
    const first = Math.min(...routes.map(({ priority }) => priority));
    const weights = routes.reduce(
      (sum, { priority, weight }) => sum + (priority === first ? weight : 0),
      0,
    );
    for (const { upstream, model, priority, weight } of routes) {
      const share = priority === first ? Math.round((weight / weights) * 1_000) / 10 : 0;
      const list = found.get(upstream) ?? [];
      found.set(upstream, list);
      list.push({ model: id, name: model, priority, weight, share_percent: share });
    }
  }
  return found;
}

function failureOf(failure: Failure, clock: Clock): object | null {
  return failure ? { at: timeOf(failure.atMs, clock), reason: failure.reason } : null;
}

/** Converts a time on the monotonic clock. */
function timeOf(atMs: number | undefined, clock: Clock): string | null {
  if (atMs === undefined) return null;
  return new Date(clock.now() - (clock.monotonic() - atMs)).toISOString();
}
