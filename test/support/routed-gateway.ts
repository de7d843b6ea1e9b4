import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { testModel } from "./catalogue.ts";
import { startGateway, type TestGateway } from "./gateway.ts";
import type { Directive } from "./provider/directive.ts";
import type { TestSimulator } from "./simulator.ts";

/** A route of a model in a test: how its upstream behaves, and when it is chosen. */
export interface TestRoute {
  /**
   * A directive for the simulated provider, another address, or `dead`: a port without a listener.
   */
  readonly behaves: Directive | URL | "dead";
  readonly priority?: number;
  readonly weight?: number;
}

/** A port that nothing can listen on. */
const DEAD_PORT = 1;

/** The name of the upstream behind the nth route of a model. */
export function upstreamName(model: string, route: number): string {
  return `${model}-${route}`;
}

/**
 * A gateway that serves the keys of `models`. Each model has its own upstreams, so that tests do
 * not share breakers. An upstream's key is a directive for the simulator.
 */
export async function startRoutedGateway(
  simulator: TestSimulator,
  models: Readonly<Record<string, readonly TestRoute[]>>,
  limits: Readonly<Record<string, number>>,
): Promise<TestGateway> {
  const upstreams: Record<string, unknown> = {};
  const labels = ["streaming", "tools", "vision", "reasoning"];
  const entries = Object.entries(models).map(([id, routes]) => {
    const given = routes.map(({ behaves, priority = 0, weight = 1 }, at) => {
      const name = upstreamName(id, at);
      const port = behaves === "dead" ? DEAD_PORT : simulator.port;
      const address = behaves instanceof URL ? behaves.origin : `http://127.0.0.1:${port}`;
      // A key has no spaces, so the JSON of a directive escapes them.
      const key = `sim:${JSON.stringify(behaves).replaceAll(" ", "\\u0020")}`;
      upstreams[name] = { protocols: { messages: address }, keys: [key] };
      return { upstream: name, model: name, priority, weight };
    });
    return testModel(id, given, { labels });
  });
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const catalogue = join(folder, "catalogue.yaml");
  writeFileSync(catalogue, stringify({ models: entries }));
  const [first = ""] = Object.keys(models);
  // It may be started again.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return startGateway({
    simulator,
    config: { catalogue, limits, upstreams },
    plugins: { alias: { default_family: "any", families: { any: first } } },
  });
}
