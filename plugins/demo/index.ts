import { join } from "node:path";
import { MICRO_VND_PER_VND, type Plugin, type Services } from "../../core/contract/index.ts";
import { demoAccount } from "./account.ts";
import { greeting } from "./greeting.ts";
import { type DemoKey, demoKey } from "./key.ts";
import { demoPassword } from "./password.ts";

const CREDIT_MICRO_VND = BigInt(100_000 * MICRO_VND_PER_VND);

/**
 * Makes a demo account with some money and a key when the gateway starts, and prints how to make a first call;
 * takes no part in calls. For trying out: a gateway with customers does without.
 */
export default function demo(services: Services): Plugin {
  let accountId = "";
  let key: DemoKey = { kind: "none" };
  let password: string | undefined;

  return {
    name: "demo",

    async start() {
      const { stores } = services.config;
      accountId = await demoAccount(services, CREDIT_MICRO_VND);
      key = await demoKey(services.keys, accountId, join(stores.data, "demo-key"));
      const file = join(stores.data, "demo-password");
      password = await demoPassword(services.customers, accountId, file);
    },

    async listening(address) {
      const wallet = await services.wallets.balances(accountId);
      const balance = wallet?.availableMicroVnd ?? 0;
      process.stdout.write(greeting(services, { address, accountId, key, password, balance }));
    },
  };
}
