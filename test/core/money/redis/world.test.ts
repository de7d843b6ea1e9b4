import t from "tap";
import { startRedisServer } from "../../../support/redis.ts";
import { World } from "./world.ts";

t.test("a store that ends without `kill` does not stop the event loop of its test", async (t) => {
  const server = await startRedisServer();
  const world = new World({ servers: server.url });
  try {
    const gateway = await world.addGateway();
    await gateway.die();
    // If its committer were a loop of promises, this timer would never fire.
    await new Promise((resolve) => setTimeout(resolve, 1));
    t.equal(gateway.store.uncommittedCalls(), 0);
  } finally {
    await world.dispose();
    await server.stop();
  }
});
