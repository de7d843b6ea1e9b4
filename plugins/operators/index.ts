import {
  addOperatorRoutes,
  addPublicRoutes,
  httpAddress,
  PeriodicTask,
  type Plugin,
  reachableAddress,
  type Services,
  ThrottledLog,
} from "../../core/plugin/index.ts";
import { Passwords } from "../sign-in-parts/passwords.ts";
import { sealAgain } from "../sign-in-parts/seal-again.ts";
import { Throttle } from "../sign-in-parts/throttle.ts";
import { approvalRoutes } from "./approval-routes.ts";
import { Approvals } from "./approvals.ts";
import { commands } from "./commands.ts";
import { type Options, options } from "./options.ts";
import { People } from "./people.ts";
import { operatorRoutes } from "./routes.ts";
import { signInRoutes } from "./sign-in.ts";
import { Tokens } from "./tokens.ts";

export { options };
export const provides = ["operators"];
/** `accounts` seals second factors, and counts attempts in its table. */
export const uses = ["guards.operator", "keySealer"];
export const after = ["accounts"];
export const reads = ["admin", "listen"];

const PREFIX = "/admin/v1";
const SWEEP_MS = 5_000;

/**
 * Lets people sign in to the admin API and the console, each with a role, and gives programs named tokens. A movement of
 * much money waits for a second person. Takes no part in calls.
 */
export default function operators(services: Services, settings: Options): Plugin {
  const { database, clock, config } = services;
  const log = new ThrottledLog(services.log);
  const people = new People(services);
  const tokens = new Tokens(services);
  const approvals = new Approvals(services, settings);
  const passwords = new Passwords();
  const throttle = new Throttle(database, clock);
  const { host, port } = config.admin.listen ?? config.listen;
  let address = reachableAddress(httpAddress(host, port));

  const secondFactors = {
    what: "second factors of operators",
    sealedByOthers: people.sealedByOthers.bind(people),
    reseal: people.reseal.bind(people),
  };
  const stopping = new AbortController();
  /** The sealer whose newest master key seals all second factors; a reload with other keys makes another one. */
  let sealer: unknown;

  const linkOf = (token: string) => {
    const base = settings.console_url?.replace(/\/+$/, "") ?? `${address}/console`;
    // The fragment of an address reaches no server and no log.
    return `${base}/join#token=${token}`;
  };

  const task = new PeriodicTask(async () => {
    try {
      const { current } = services.keySealer;
      if (current && current !== sealer) {
        sealer = current;
        await sealAgain([secondFactors], current, services.log, stopping.signal);
      }
      await approvals.sweep();
      await tokens.sweep();
    } catch (error) {
      log.warn({ err: error }, "cannot carry out approved movements; trying again in 5 seconds");
    }
    return SWEEP_MS;
  });

  return {
    name: "operators",
    // Code runs from dist; SQL is read from the sources.
    migrations: new URL("../../../plugins/operators/migrations/", import.meta.url),
    commands,

    async start() {
      services.gauges.provide({
        name: "tollgate_pending_approvals",
        help: "Movements of money that wait for a second person.",
        value: () => approvals.pending,
        newest: () => approvals.newest,
      });
      services.operators.provide({
        ofToken: async (token) => approvals.ofPass(token) ?? tokens.operatorOf(token),
        approval: (movement) => approvals.needed(movement),
        withdraw: (path, note) => approvals.withdraw(path, note),
        async setDemo(email, password) {
          const hash = await passwords.hash(password);
          if (hash === "busy") throw new Error("too many passwords are waiting to be hashed");
          await people.setDemo(email, hash);
          return true;
        },
      });
    },

    listening(at) {
      if (config.admin.listen === undefined) address = reachableAddress(at);
      task.start();
    },

    routes(router) {
      approvals.use(router);
      const parts = { services, people, tokens, passwords, throttle };
      addPublicRoutes(router, services, PREFIX, signInRoutes(parts), { forOperators: true });
      addOperatorRoutes(router, services, PREFIX, [
        ...operatorRoutes(people, tokens, linkOf),
        ...approvalRoutes(services, approvals),
      ]);
    },

    stop() {
      stopping.abort();
      return task.stop();
    },
  };
}
