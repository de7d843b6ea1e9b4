import {
  addCustomerRoutes,
  addPublicRoutes,
  type ConfigKey,
  type Plugin,
  type Services,
  type SlotName,
} from "../../core/contract/index.ts";
import { Desk } from "./desk.ts";
import { Mailer } from "./mail/mailer.ts";
import { printingTransport, smtpTransport } from "./mail/transport.ts";
import { type Options, options } from "./options.ts";
import { provide } from "./provide.ts";
import { keyRoutes } from "./routes/keys.ts";
import { meRoutes } from "./routes/me.ts";
import { changePasswordRoute, forgottenPasswordRoutes } from "./routes/password.ts";
import { sessionRoutes, signInRoute } from "./routes/sign-in.ts";
import { signUpRoutes } from "./routes/sign-up.ts";
import { masterKeysOf } from "./sealing/master-keys.ts";
import { rotate } from "./sealing/rotate.ts";
import { Sealer } from "./sealing/sealer.ts";

export { options };
export const provides: readonly SlotName[] = ["guards.customer", "customers", "keySealer"];
export const reads: readonly ConfigKey[] = ["listen", "stores"];

const PREFIX = "/account/v1";
const SWEEP_MS = 600_000;

/**
 * Serves customers under `/account/v1`: sign-up, sessions, passwords and keys of their own; takes no part in
 * calls. Provides the gate by which other plugins know who is signed in.
 */
export default function accounts(services: Services, settings: Options): Plugin {
  const { log } = services;
  const transport = settings.smtp ? smtpTransport(settings.smtp) : printingTransport();
  const mailer = new Mailer(transport, log);
  const sealer = new Sealer();
  const desk = new Desk(services, settings, mailer, sealer);
  let sweeping: NodeJS.Timeout | undefined;
  let rotation: Promise<void> | undefined;
  const stopping = new AbortController();

  async function sweep(): Promise<void> {
    try {
      await desk.sessions.sweep();
      await desk.credentials.sweep();
    } catch (error) {
      log.warn({ err: error }, "sessions that are over could not be deleted");
    }
  }

  return {
    name: "accounts",
    // The code runs from dist, the SQL is read from the sources.
    migrations: new URL("../../../plugins/accounts/migrations/", import.meta.url),

    async start() {
      sealer.use(await masterKeysOf(services.config.stores, settings.master_keys));
      if (sealer.newest === undefined) {
        log.warn("without master_keys no key can be shown again to its owner");
      }
      if (!settings.smtp) log.warn("without smtp the links of mails are printed on stdout");
      provide(desk);
      rotation = rotate(services.accounts, sealer, log, stopping.signal);
      sweeping = setInterval(() => void sweep(), SWEEP_MS).unref();
    },

    listening: (address) => desk.listening(address),

    routes(router) {
      addPublicRoutes(router, services, PREFIX, [
        ...signUpRoutes(desk),
        signInRoute(desk),
        ...forgottenPasswordRoutes(desk),
      ]);
      addCustomerRoutes(router, services, PREFIX, [
        ...meRoutes(desk),
        changePasswordRoute(desk),
        ...sessionRoutes(desk),
        ...keyRoutes(desk),
      ]);
    },

    async stop() {
      clearInterval(sweeping);
      stopping.abort();
      await rotation;
      await mailer.stop();
    },
  };
}
