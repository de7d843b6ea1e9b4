/**
 * A gateway in its own process, which the parent can freeze. Runs the operations on money that the parent sends, and
 * reports their results.
 */
import { createInterface } from "node:readline";
import type { LedgerEpoch, LedgerEpochs } from "../../../../core/money/ledger-epochs.ts";
import { MemoryHistory } from "../../../support/commit-counts.ts";
import { posting } from "../../../support/posting.ts";
import { startStore } from "./store.ts";

const [servers = "", prefix = "", balance = "0"] = process.argv.slice(2);
const { store } = await startStore({
  servers,
  prefix,
  ledger: {
    wallet: async (accountId) => snapshot(accountId),
    purse: async (accountId) => ({ ...snapshot(accountId), balanceMicroVnd: 0n }),
    hasCall: async () => false,
    history: new MemoryHistory(),
    epochs: epochsOfParent(),
  },
});
process.stdout.write("ready\n");
for await (const line of createInterface({ input: process.stdin })) {
  const [verb = "", callId = "", amount = "0", ...purses] = line.split(" ");
  const answer = await step(verb, callId, Number(amount), purses).catch(
    (error: Error) => error.message,
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

/** The ledger's list of gateways, which the parent has. */
function epochsOfParent(): LedgerEpochs {
  const waiting: ((reply: unknown) => void)[] = [];
  process.on("message", (reply) => waiting.shift()?.(reply));
  const ask = (...asked: unknown[]) =>
    new Promise<never>((resolve) => {
      waiting.push((reply) => resolve(reply as never));
      process.send?.(asked);
    });
  return {
    async read(bucket) {
      const epoch = (await ask("read", bucket)) as { members: [string, string][] } & LedgerEpoch;
      return { ...epoch, members: new Map(epoch.members) };
    },
    begin: (...args) => ask("begin", ...args),
    enter: (...args) => ask("enter", ...args),
    leave: (...args) => ask("leave", ...args),
    open: (...args) => ask("open", ...args),
  };
}

async function step(
  verb: string,
  callId: string,
  microVnd: number,
  names: readonly string[],
): Promise<unknown> {
  switch (verb) {
    case "load":
      return store.load("A", async () => snapshot("A"));
    case "hold": {
      const amounts = { amountMicroVnd: microVnd, floorMicroVnd: microVnd };
      const purses = names.map((name) => ({ name, limitMicroVnd: 600 }));
      return store.hold({ callId, accountId: "A", keyId: "K", ...amounts, purses });
    }
    case "extend":
      return store.extend({
        callId,
        accountId: "A",
        totalMicroVnd: microVnd,
        floorMicroVnd: microVnd,
      });
    default:
      return store.post(posting({ callId, accountId: "A", costMicroVnd: microVnd, purses: names }));
  }
}

function snapshot(accountId: string) {
  const balanceMicroVnd = BigInt(balance);
  return { accountId, balanceMicroVnd, creditVersion: 1, creditedMicroVnd: balanceMicroVnd };
}
