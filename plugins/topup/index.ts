import {
  addCustomerRoutes,
  addOperatorRoutes,
  addPublicRoutes,
  type Call,
  type Plugin,
  type Services,
} from "../../core/plugin/index.ts";
import { commands } from "./commands.ts";
import { Crediting } from "./crediting.ts";
import { importRoute } from "./import-route.ts";
import type { Settings } from "./options.ts";
import { orderRoutes } from "./order-routes.ts";
import { Poll } from "./poll.ts";
import { promotionRoutes } from "./promotion-routes.ts";
import { discountsOf, standingOf } from "./promotions.ts";
import { Recording } from "./recording.ts";
import { WebhookGuard } from "./signature.ts";
import { transferRoutes } from "./transfer-routes.ts";
import { webhookRoute } from "./webhook.ts";

export { review } from "./bank.ts";
export { discounts, options } from "./options.ts";
export const uses = ["guards.customer", "wallets", "corrections"];
export const provides = ["discounts", "counters", "gauges"];

/**
 * Lets customers top up by bank transfer: orders with a VietQR code, the bank's notifications, credits, promotions.
 * Takes no part in calls.
 */
export default function topup(services: Services, settings: Settings): Plugin {
  const guard = new WebhookGuard(services, settings);
  const crediting = new Crediting(services, settings.promotions.bonuses);
  const { clock, wallets } = services;
  const transfers = { unmatched: 0, refused: 0, found: 0 };
  const recording = new Recording(services, settings, transfers);
  const poll = settings.poll && new Poll(services, settings, settings.poll, recording, crediting);

  async function earned(
    accountId: string,
  ): Promise<NonNullable<Call["key"]>["discounts"][number][]> {
    const { promotions } = settings;
    return discountsOf(
      await standingOf(wallets.current, accountId, promotions, clock.now()),
      promotions,
    );
  }

  return {
    name: "topup",
    // Code runs from dist; SQL is read from the sources.
    migrations: new URL("../../../plugins/topup/migrations/", import.meta.url),

    commands,

    async start() {
      await guard.prepare();
      services.discounts.provide(earned);
      services.counters.provide({
        name: "tollgate_transfers_total",
        help: "Bank transfers that need an operator (unmatched, set_aside), that SePay listed and did not notify (found), and notifications without a valid signature (refused).",
        label: "result",
        counts: () => ({ ...transfers, set_aside: crediting.setAside }),
      });
      services.gauges.provide({
        name: "tollgate_unmatched_transfers",
        help: "Bank transfers that wait for an operator.",
        value: () => crediting.unmatched?.count,
        newest: () => crediting.unmatched?.newest,
      });
      services.gauges.provide({
        name: "tollgate_last_transfer_timestamp_seconds",
        help: "Time of the last bank transfer that SePay notified.",
        value: () => crediting.lastReceivedMs && crediting.lastReceivedMs / 1_000,
      });
      services.gauges.provide({
        name: "tollgate_last_transfer_poll_timestamp_seconds",
        help: "Time at which SePay's list of transactions was last read to its end, or at which this gateway began to.",
        value: () => poll && poll.lastMs / 1_000,
      });
      crediting.start();
      poll?.start();
    },

    routes(router) {
      addCustomerRoutes(router, services, "/account/v1", [
        ...orderRoutes(services, settings),
        ...promotionRoutes(services, settings),
      ]);
      addOperatorRoutes(router, services, "/admin/v1", [
        ...transferRoutes(services, settings, crediting),
        importRoute(services, settings, recording, crediting),
      ]);
      addPublicRoutes(router, services, "/webhooks", [
        webhookRoute(services, settings, guard, recording, crediting, transfers),
      ]);
    },

    async stop() {
      await poll?.stop();
      await crediting.stop();
    },
  };
}
