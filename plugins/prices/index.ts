import {
  addOperatorRoutes,
  PeriodicTask,
  type Plugin,
  type Services,
  ThrottledLog,
} from "../../core/plugin/index.ts";
import { inWords } from "./changes.ts";
import { commands } from "./commands.ts";
import { askOthers, lastReload, recordPrices } from "./history.ts";
import { priceRoutes } from "./routes.ts";

/** Each process polls for reloads, since operators ask only one gateway. */
const POLL_MS = 1_000;
/** Maximum number of changes in the audit trail, which is for reading: the history has all of them. */
const NAMED_MAX = 15;

/** Reloads every gateway by one command that shows what it changes, and records the history of prices. */
export default function prices(services: Services): Plugin {
  const { database, log, clock, config, reloads, operatorActions } = services;
  const throttledLog = new ThrottledLog(log);
  const isAlone = config.stores.ledger === "embedded";
  let followed = 0n;
  let isAsking = false;
  let isRecorded = true;

  async function record(): Promise<void> {
    const { cause } = reloads;
    isRecorded = true;
    try {
      const changes = await recordPrices(database, reloads.prices(), cause, clock.now());
      if (changes.length === 0) return;
      const { operator, remoteAddress } = cause;
      const details = Object.fromEntries(changes.slice(0, NAMED_MAX).map(inWords));
      const more = changes.length - NAMED_MAX;
      const id = await operatorActions.begin({
        ...{ operator, remoteAddress, action: "prices changed", accountId: null },
        details: more > 0 ? { ...details, more } : details,
      });
      await operatorActions.end(id, 200);
    } catch (error) {
      isRecorded = false;
      throw error;
    }
  }

  /** Reloads this process if an operator has asked another gateway to. */
  async function follow(): Promise<void> {
    const last = await lastReload(database);
    if (isAsking || !last || last.id <= followed) return;
    followed = last.id;
    const next = await reloads.read();
    // Both log why not.
    if (next.ok) await next.apply(last).catch(() => undefined);
  }

  /** Makes the other gateways reload, not this one again. */
  async function askAll(cause: Services["reloads"]["cause"]): Promise<void> {
    isAsking = true;
    try {
      followed = await askOthers(database, cause);
    } finally {
      isAsking = false;
    }
  }

  const task = new PeriodicTask(async () => {
    try {
      if (!isAlone) await follow();
      if (!isRecorded) await record();
    } catch (error) {
      throttledLog.warn(
        { err: error },
        "cannot reach the table of prices; their changes are recorded, and reloads followed, later",
      );
    }
    return POLL_MS;
  });

  return {
    name: "prices",
    // Code runs from dist; SQL is read from the sources.
    migrations: new URL("../../../plugins/prices/migrations/", import.meta.url),
    commands,

    async start() {
      followed = (await lastReload(database))?.id ?? 0n;
      task.start();
    },

    routes(router) {
      // Runs at the start and at each reload. The task sees the config that serves then.
      isRecorded = false;
      task.hurry();
      addOperatorRoutes(router, services, "/admin/v1", priceRoutes(services, askAll));
    },

    stop: () => task.stop(),
  };
}
