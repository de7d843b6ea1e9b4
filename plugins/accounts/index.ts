import {
  addCustomerRoutes,
  addOperatorRoutes,
  addPublicRoutes,
  type Plugin,
  type Services,
} from "../../core/plugin/index.ts";
import { sealAgain } from "../sign-in-parts/seal-again.ts";
import { AccountContext } from "./account-context.ts";
import { serveAgreements } from "./agreements.ts";
import { commands, operatorRoutes } from "./operator-routes.ts";
import { type Options, options } from "./options.ts";
import { provide } from "./provide.ts";
import { keyRoutes } from "./routes/keys.ts";
import { meRoutes } from "./routes/me.ts";
import { changePasswordRoute, forgottenPasswordRoutes } from "./routes/password.ts";
import { proofRoute } from "./routes/proof.ts";
import { secondFactorRoutes } from "./routes/second-factor.ts";
import { sessionRoutes, signInRoute, signOutRoute } from "./routes/sign-in.ts";
import { signUpRoutes } from "./routes/sign-up.ts";
import { refuseMissingKeys, refuseWrongKeys } from "./sealing/known-keys.ts";
import { masterKeysOf } from "./sealing/master-keys.ts";
import { Sealer } from "./sealing/sealer.ts";
import { sealedTables } from "./sealing/tables.ts";

export { options };
export const uses = ["messages"];
export const provides = ["guards.customer", "customers", "keySealer"];
export const reads = ["listen", "stores"];

const PREFIX = "/account/v1";
const SWEEP_MS = 600_000;

/**
 * Serves customers under `/account/v1`: sign-up, sessions, passwords and API keys. Provides the customer guard, with
 * which other plugins know who is signed in. Takes no part in calls.
 */
export default function accounts(services: Services, settings: Options): Plugin {
  const { log } = services;
  const sealer = new Sealer();
  const context = new AccountContext(services, settings, sealer);
  let sweeping: NodeJS.Timeout | undefined;
  let rotation: Promise<void> | undefined;
  const stopping = new AbortController();

  async function sweep(): Promise<void> {
    try {
      await context.sessions.sweep();
      await context.credentials.sweep();
      await context.devices.sweep();
      await context.invitations.sweep();
    } catch (error) {
      log.warn({ err: error }, "cannot delete expired sessions; trying again in 10 minutes");
    }
  }

  return {
    name: "accounts",
    // Code runs from dist; SQL is read from the sources.
    migrations: new URL("../../../plugins/accounts/migrations/", import.meta.url),

    commands,

    async start() {
      const masterKeys = await masterKeysOf(services.config.stores, settings.master_keys);
      const secrets = sealedTables(context);
      const { database, config } = services;
      // An embedded ledger has one gateway, and no one could delete the row of a lost key while it is down.
      if (config.stores.ledger !== "embedded")
        await refuseMissingKeys(database, secrets, masterKeys);
      await refuseWrongKeys(database, masterKeys, log);
      sealer.use(masterKeys);
      if (sealer.newest === undefined) {
        log.warn(
          "no master_keys configured; customers see a new API key only once, and have no second factor",
        );
      }
      provide(context);
      rotation = sealAgain(secrets, sealer, log, stopping.signal);
      sweeping = setInterval(() => void sweep(), SWEEP_MS).unref();
    },

    listening: (address) => context.listening(address),

    routes(router) {
      addPublicRoutes(router, services, PREFIX, [
        ...signUpRoutes(context),
        signInRoute(context),
        signOutRoute(context),
        ...forgottenPasswordRoutes(context),
      ]);
      addCustomerRoutes(router, services, PREFIX, [
        ...meRoutes(context),
        changePasswordRoute(context),
        ...secondFactorRoutes(context),
        proofRoute(context),
        ...sessionRoutes(context),
        ...keyRoutes(context),
      ]);
      serveAgreements(router, settings);
      addOperatorRoutes(router, services, "/admin/v1", operatorRoutes(context));
    },

    async stop() {
      clearInterval(sweeping);
      stopping.abort();
      await rotation;
    },
  };
}
