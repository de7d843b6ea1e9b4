import { join } from "node:path";
import {
  allowPublic,
  type Config,
  type Fault,
  MICRO_VND_PER_VND,
  type Plugin,
  publicHost,
  type Services,
  v,
} from "../../core/plugin/index.ts";
import { demoAccount, OPERATOR_EMAIL } from "./account.ts";
import { greeting } from "./greeting.ts";
import { type DemoKey, demoKey } from "./key.ts";
import { demoPassword } from "./password.ts";

export const uses = ["wallets"];
/** Comes after those that set the passwords of the demo account and of the demo operator. */
export const after = ["accounts", "operators"];

export const options = v.strictObject({ allow_public: allowPublic });

export function review(
  settings: v.InferOutput<typeof options>,
  { listen }: Config,
): readonly Fault[] {
  return publicHost(listen.host, settings.allow_public, [], "it gives away money and a key");
}

const CREDIT_MICRO_VND = BigInt(100_000 * MICRO_VND_PER_VND);

/**
 * Creates a demo account with 100,000 đ and a key at the start, and a demo operator, and prints how to make a first call.
 * Takes no part in calls. Delete it from the config of a gateway with customers.
 */
export default function demo(services: Services): Plugin {
  let accountId = "";
  let key: DemoKey = { kind: "none" };
  let password: string | undefined;
  let operatorPassword: string | undefined;

  return {
    name: "demo",

    async start() {
      const { stores } = services.config;
      accountId = await demoAccount(services, CREDIT_MICRO_VND);
      key = await demoKey(services.keys, accountId, join(stores.data, "demo-key"));
      const file = join(stores.data, "demo-password");
      const { customers, operators } = services;
      password = await demoPassword(file, (chosen) =>
        customers.current.setPassword(accountId, chosen),
      );
      operatorPassword = await demoPassword(join(stores.data, "demo-operator-password"), (chosen) =>
        operators.current.setDemo(OPERATOR_EMAIL, chosen),
      );
    },

    async listening(address) {
      const wallet = await services.balances(accountId);
      const balance = wallet?.availableMicroVnd ?? 0;
      process.stdout.write(
        greeting(services, { address, key, password, operatorPassword, balance }),
      );
    },
  };
}
