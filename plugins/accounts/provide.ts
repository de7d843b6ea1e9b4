import type { AccountContext } from "./account-context.ts";
import { agreementsOf } from "./agreements.ts";
import { mailTexts } from "./mail-texts.ts";
import { unproven } from "./routes/proof.ts";

/** Fills the slots for the customer guard, for passwords set by other plugins, and for sealing keys. */
export function provide(context: AccountContext): void {
  const { guards, customers, keySealer } = context.services;
  guards.customer.provide((request) => context.sessions.enter(request, context.publicUrl));
  customers.provide({
    get publicUrl() {
      return context.publicUrl;
    },

    signUp: context.options.sign_up,
    agreements: agreementsOf(context.options),
    activeKeysMax: context.options.active_keys_max,

    async setPassword(accountId, password) {
      const passwordHash = await context.passwords.hash(password);
      if (passwordHash === "busy") throw new Error("too many passwords are waiting to be hashed");
      await context.credentials.put(accountId, passwordHash);
      return true;
    },

    async recipient(accountId) {
      const account = await context.credentials.ofAccount(accountId);
      if (account === undefined) return undefined;
      const { email, isEmailVerified } = account;
      return { email, isEmailVerified, language: context.languageOf(account) };
    },

    unproven: (customer) => unproven(context, customer),

    invite(accountId, email, from, cause) {
      const kind = "team-invited";
      const texts = mailTexts({ kind, about: `${from}\n${context.publicUrl}/dashboard/team` });
      return context.services.messages.current.post({ accountId, email, cause, kind, texts });
    },
  });
  if (context.sealer.newest !== undefined) keySealer.provide(context.sealer);
}
