import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Directive } from "../../plugins/simulator/directive.ts";
import { startGateway, type TestGateway } from "./gateway.ts";
import type { TestSimulator } from "./simulator.ts";

/** One way to have a model served in a test: how its upstream behaves, and when it is chosen. */
export interface TestRoute {
  /** What the simulated provider does for this upstream, the address of another, or `dead`: nobody listens there. */
  readonly behaves: Directive | URL | "dead";
  readonly priority?: number;
  readonly weight?: number;
}

/** A port of the machine that nobody can listen on. */
const DEAD_PORT = 1;
export const PRICE_VND_PER_MTOK = 10_000;

/** The name of the upstream behind the nth route of a model. */
export function upstreamName(model: string, route: number): string {
  return `${model}-${route}`;
}

/**
 * A gateway whose models are the keys of `models`, each with upstreams of its own, so that the breaker of one test
 * is no matter to another. An upstream's key tells the simulator how to behave.
 */
export async function startRoutedGateway(
  simulator: TestSimulator,
  models: Readonly<Record<string, readonly TestRoute[]>>,
  limits: Readonly<Record<string, number>>,
): Promise<TestGateway> {
  const upstreams: Record<string, unknown> = {};
  const entries = Object.entries(models).map(([id, routes]) => ({
    id,
    price_vnd_per_mtok: PRICE_VND_PER_MTOK,
    context_window: 100_000,
    max_output_tokens: 10_000,
    labels: ["streaming", "tools", "vision", "reasoning"],
    standard: "messages",
    routes: routes.map(({ behaves, priority = 0, weight = 1 }, at) => {
      const name = upstreamName(id, at);
      const port = behaves === "dead" ? DEAD_PORT : simulator.port;
      const address = behaves instanceof URL ? behaves.origin : `http://127.0.0.1:${port}`;
      // A key holds no spaces; the JSON of a directive may spell them out.
      const key = `sim:${JSON.stringify(behaves).replaceAll(" ", "\\u0020")}`;
      upstreams[name] = { protocols: { messages: address }, keys: [key] };
      return { upstream: name, model: name, priority, weight };
    }),
  }));
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const catalogue = join(folder, "catalogue.yaml");
  writeFileSync(catalogue, stringify({ models: entries }));
  const [first = ""] = Object.keys(models);
  try {
    return await startGateway({
      simulator,
      config: { catalogue, limits, upstreams },
      plugins: { alias: { default_family: "any", families: { any: first } } },
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
