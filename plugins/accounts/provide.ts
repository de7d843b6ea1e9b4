import type { Desk } from "./desk.ts";

/**
 * Offers to the core and to other plugins what only this plugin knows: who is signed in, how a customer is let
 * in, how keys are sealed. Answers how to take it back, where no later instance of the plugin has come instead.
 */
export function provide(desk: Desk): () => void {
  const { gates, customers, keys } = desk.services;
  const before = {
    customer: gates.customer,
    setPassword: customers.setPassword,
    sealer: keys.sealer,
  };

  const customer: typeof gates.customer = (request) => desk.sessions.enter(request, desk.publicUrl);

  gates.customer = customer;
  customers.setPassword = async (accountId, password) => {
    const passwordHash = await desk.passwords.hash(password);
    if (passwordHash === "busy") throw new Error("too many passwords wait to be hashed");
    await desk.credentials.put(accountId, passwordHash);
    return true;
  };
  keys.sealer = desk.sealer.newest === undefined ? undefined : desk.sealer;

  return () => {
    if (gates.customer !== customer) return;
    gates.customer = before.customer;
    customers.setPassword = before.setPassword;
    keys.sealer = before.sealer;
  };
}
