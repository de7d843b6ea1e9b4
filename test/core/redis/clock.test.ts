import t from "tap";
import { timeOfRedis } from "../../../core/redis/settings.ts";

const NOW = Date.UTC(2026, 0);
const clock = { now: () => NOW };

/** A client whose nodes are ahead by these ms; one that is undefined does not reply. */
function clientOf(isCluster: boolean, aheadMs: readonly (number | undefined)[]) {
  const asked = new Set<number>();
  const run = async (_: unknown, [key = ""]: readonly string[]) => {
    const node = Number(/\{b(\d+)\}/.exec(key)?.[1]) % aheadMs.length;
    asked.add(node);
    const ahead = aheadMs[node];
    if (ahead === undefined) throw new Error("away");
    const ms = NOW + ahead;
    return [String(Math.floor(ms / 1_000)), String((ms % 1_000) * 1_000)];
  };
  return { asked, client: { isCluster, run } };
}

t.test("the clock of one Redis", async (t) => {
  const { client } = clientOf(false, [1_250]);
  t.equal(await timeOfRedis(client, "p", clock), NOW + 1_250);
});

t.test("of a cluster, the clock of the node that is off most", async (t) => {
  const { client, asked } = clientOf(true, [5, -3_600_000, 200]);
  t.equal(await timeOfRedis(client, "p", clock), NOW - 3_600_000);
  t.equal(asked.size, 3);
});

t.test("a node that is down hides no other, and all of them down is an error", async (t) => {
  t.equal(await timeOfRedis(clientOf(true, [undefined, 700]).client, "p", clock), NOW + 700);
  await t.rejects(timeOfRedis(clientOf(true, [undefined]).client, "p", clock), /away/);
});
