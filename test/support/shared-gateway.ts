import { type GatewayOptions, startGateway, type TestGateway } from "./gateway.ts";

const started = new Map<string, Promise<TestGateway>>();

/**
 * A gateway that the test files of this process share, one for each config: a start takes more than a second of
 * processor time. A test creates customers of its own, counts what its own calls add, and leaves the gateway running
 * with the config that it was given. It is closed once the process has nothing else to do.
 */
export function sharedGateway(config: GatewayOptions["config"] = {}): Promise<TestGateway> {
  const key = JSON.stringify(config);
  let gateway = started.get(key);
  if (!gateway) {
    if (started.size === 0) process.once("beforeExit", closeAll);
    gateway = startGateway({ config });
    started.set(key, gateway);
  }
  return gateway;
}

async function closeAll(): Promise<void> {
  for (const gateway of started.values()) await (await gateway).close();
}
