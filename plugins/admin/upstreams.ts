import { done, type OperatorRoute, type Services } from "../../core/contract/index.ts";

/** How the upstreams are. Each process knows what it has seen itself, so the answer says which one speaks. */
export function upstreamRoutes(services: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/upstreams",
      async handle() {
        const { upstreams, clock } = services;
        const list = [...upstreams.all()].map((upstream) => {
          const { name, config, breaker } = upstream;
          const { state, failures, failuresInRow, retryInMs, lastFailure } = breaker;
          return {
            name,
            kind: config.kind,
            ...upstream.describe(),
            breaker: state,
            failures_in_row: failuresInRow,
            failures,
            last_failure: lastFailure
              ? {
                  at: new Date(clock.now() - (clock.monotonic() - lastFailure.atMs)).toISOString(),
                  reason: lastFailure.reason,
                }
              : null,
            retry_in_ms: retryInMs,
          };
        });
        return done({ process: process.pid, upstreams: list });
      },
    },
  ];
}
