import { done, type OperatorRoute, type Services } from "../../core/plugin/index.ts";

/** Route that shows the upstreams' health. Each process sees only its own calls, so the reply names the process. */
export function upstreamRoutes(services: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/upstreams",
      async handle() {
        const { upstreams, clock } = services;
        const list = [...upstreams.all()].map((upstream) => {
          const { name, config, breaker } = upstream;
          const { state, failures, failuresByCause, failuresInRow, retryInMs, lastFailure } =
            breaker;
          return {
            name,
            kind: config.kind,
            ...upstream.describe(),
            breaker: state,
            failures_in_row: failuresInRow,
            failures,
            failures_by_cause: failuresByCause,
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
