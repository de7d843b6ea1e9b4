import type { SealedTable } from "../../sign-in-parts/seal-again.ts";
import type { AccountContext } from "../account-context.ts";

/** Returns the tables of what customers' master keys seal. */
export function sealedTables({ services, secondFactors }: AccountContext): SealedTable[] {
  const { accounts } = services;
  return [
    {
      what: "keys",
      sealedByOthers: (newest, after) => accounts.keysSealedByOthers(newest, after),
      reseal: (id, sealedBy, next) => accounts.resealKey(id, sealedBy, next),
    },
    {
      what: "second factors",
      sealedByOthers: (newest, after) => secondFactors.sealedByOthers(newest, after),
      reseal: (id, sealedBy, next) => secondFactors.reseal(id, sealedBy, next),
    },
  ];
}
