import type { Plugin } from "../../core/plugin/plugin.ts";
import type { Services } from "../../core/plugin/services.ts";
import { refuse } from "../../core/wire/refusal.ts";

export const provides = ["guards.customer"];

/** A plugin for tests: a request with the header `x-test-account` is signed in as that account. */
export default function gateOfHeaders(services: Services): Plugin {
  return {
    name: "gate-of-headers",
    async start() {
      services.guards.customer.provide(async ({ headers }) => {
        const accountId = headers["x-test-account"];
        if (accountId === undefined) {
          return refuse.unauthenticated("You are not signed in.");
        }
        const email = `${accountId}@tollgate.test`;
        return { accountId, email, isEmailVerified: true, sessionId: "test" };
      });
    },
  };
}
