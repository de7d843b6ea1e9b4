import {
  addCustomerRoutes,
  addOperatorRoutes,
  addPublicRoutes,
  type Plugin,
  type Services,
} from "../../core/plugin/index.ts";
import { customerRoutes, unsubscribeRoutes } from "./customer-routes.ts";
import { MoneyMessages } from "./money.ts";
import { commands, operatorRoutes } from "./operator-routes.ts";
import { type Options, options } from "./options.ts";
import { Outbox } from "./outbox.ts";
import { SecretMails } from "./secret-mails.ts";
import { printingTransport, smtpTransport } from "./transport.ts";

export { options };
export const provides = ["messages", "counters"];

const PREFIX = "/account/v1";
const SWEEP_MS = 600_000;

/** Sends the messages of all plugins to customers, from an outbox in the ledger. Takes no part in calls. */
export default function messages(services: Services, settings: Options): Plugin {
  const { log } = services;
  const sendsMail = settings.smtp !== undefined;
  const transport = settings.smtp ? smtpTransport(settings.smtp) : printingTransport();
  const secretMails = new SecretMails(transport, log);
  const outbox = new Outbox({ services, transport, counts: secretMails.counts });
  const money = new MoneyMessages(services, outbox, settings.low_balance_vnd);
  let sweeping: NodeJS.Timeout | undefined;

  return {
    name: "messages",
    // Code runs from dist; SQL is read from the sources.
    migrations: new URL("../../../plugins/messages/migrations/", import.meta.url),
    commands,

    async start() {
      if (!sendsMail) log.warn("no smtp configured; printing the links of mails to stdout");
      services.messages.provide({
        sendsMail,
        secretMails,
        post: async (message) => {
          if (sendsMail) await outbox.post(message);
        },
        announce: async (announcement) => (sendsMail ? outbox.announce(announcement) : 0),
      });
      services.counters.provide({
        name: "tollgate_mails_total",
        help: "Mails to customers that the mail server took, and those that were given up.",
        label: "result",
        counts: () => secretMails.counts,
      });
      if (sendsMail) {
        outbox.start();
        money.start();
      }
      sweeping = setInterval(() => {
        outbox.sweep().catch((error: unknown) => {
          log.warn({ err: error }, "cannot delete old messages; trying again in 10 minutes");
        });
      }, SWEEP_MS).unref();
    },

    routes(router) {
      addPublicRoutes(router, services, PREFIX, unsubscribeRoutes(services));
      addCustomerRoutes(router, services, PREFIX, customerRoutes(services, settings));
      addOperatorRoutes(router, services, "/admin/v1", operatorRoutes(services, outbox));
    },

    async stop() {
      clearInterval(sweeping);
      await money.stop();
      await outbox.stop();
      await secretMails.stop();
      transport.close();
    },
  };
}
