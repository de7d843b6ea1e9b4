import {
  addCustomerRoutes,
  addOperatorRoutes,
  addPublicRoutes,
  httpAddress,
  type Plugin,
  reachableAddress,
  type Services,
} from "../../core/plugin/index.ts";
import { Channels } from "./channels.ts";
import { customerRoutes, unsubscribeRoutes } from "./customer-routes.ts";
import { MoneyMessages } from "./money.ts";
import { commands, operatorRoutes } from "./operator-routes.ts";
import { type Options, options, review } from "./options.ts";
import { Outbox } from "./outbox.ts";
import { SecretMails } from "./secret-mails.ts";
import { printingTransport, smtpTransport } from "./transport.ts";
import { Watch } from "./watch.ts";

export { options, review };
export const provides = ["messages", "counters", "gauges"];
export const reads = ["listen", "admin"];

const PREFIX = "/account/v1";
const SWEEP_MS = 60_000;

/**
 * Sends the messages of all plugins to customers, and to operators what needs a person, from an outbox in the ledger. Takes no part in
 * calls.
 */
export default function messages(services: Services, settings: Options): Plugin {
  const { log } = services;
  const sendsMail = settings.smtp !== undefined;
  const transport = settings.smtp ? smtpTransport(settings.smtp) : printingTransport();
  const secretMails = new SecretMails(transport, services);
  const channels = new Channels(settings.operators, transport);
  const outbox = new Outbox({ services, transport, channels, secretMails });
  const money = new MoneyMessages(services, outbox, settings.low_balance_vnd);
  const watch = new Watch({
    ...{ services, outbox, channels },
    consoleUrl: settings.operators?.console_url?.replace(/\/+$/, "") ?? consoleUrl(services),
    remindHours: settings.operators?.remind_hours ?? 24,
  });
  let sweeping: NodeJS.Timeout | undefined;
  let state: Awaited<ReturnType<Outbox["state"]>> | undefined;

  async function sweep(): Promise<void> {
    try {
      await outbox.sweep();
      state = await outbox.state();
    } catch (error) {
      log.warn({ err: error }, "cannot delete old messages; trying again in a minute");
    }
  }

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
        help: "Messages that were sent; and those that were given up: mails whose recipient is refused, messages to a channel of operators, and mails that failed.",
        label: "result",
        counts: () => secretMails.counts,
      });
      services.gauges.provide({
        name: "tollgate_messages_given_up",
        help: "Mails to customers that were given up: see `message list --state failed`.",
        value: () => state?.givenUp,
        newest: () => state?.newestGivenUp ?? undefined,
      });
      services.gauges.provide({
        name: "tollgate_mails_late_seconds",
        help: "How long the mail server has taken no mail to customers since one failed; 0 if it takes them.",
        value: () => state?.lateSeconds,
      });
      if (channels.names.length > 0) watch.start();
      void sweep();
      sweeping = setInterval(() => void sweep(), SWEEP_MS).unref();
    },

    routes(router) {
      // All plugins have started: the one that signs customers in knows their addresses.
      if (sendsMail) money.start();
      if (sendsMail || channels.names.length > 0) outbox.start();
      addPublicRoutes(router, services, PREFIX, unsubscribeRoutes(services));
      addCustomerRoutes(router, services, PREFIX, customerRoutes(services, settings));
      addOperatorRoutes(router, services, "/admin/v1", operatorRoutes(services, outbox, channels));
    },

    async stop() {
      clearInterval(sweeping);
      await Promise.all([watch.stop(), money.stop(), outbox.stop(), secretMails.stop()]);
      transport.close();
    },
  };
}

function consoleUrl({ config }: Services): string {
  const { host, port } = config.admin.listen ?? config.listen;
  return reachableAddress(httpAddress(host, port));
}
