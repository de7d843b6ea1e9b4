import type { Desk } from "./desk.ts";

/** Fills the slots that need what only this plugin knows: who is signed in, how a customer gets in, how keys are sealed. */
export function provide(desk: Desk): void {
  const { guards, customers, keySealer } = desk.services;
  guards.customer.provide((request) => desk.sessions.enter(request, desk.publicUrl));
  customers.provide({
    async setPassword(accountId, password) {
      const passwordHash = await desk.passwords.hash(password);
      if (passwordHash === "busy") throw new Error("too many passwords wait to be hashed");
      await desk.credentials.put(accountId, passwordHash);
      return true;
    },
  });
  if (desk.sealer.newest !== undefined) keySealer.provide(desk.sealer);
}
