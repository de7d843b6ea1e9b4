import { randomBytes } from "node:crypto";
import type { NewKey } from "../../../core/accounts/account.ts";
import { newId } from "../../../core/process/id.ts";
import { AT } from "../money/ledger/fixtures.ts";

export function newKey(accountId: string, activeKeysMax = 10): NewKey {
  return {
    id: newId(AT),
    accountId,
    name: "laptop",
    hash: randomBytes(32).toString("hex"),
    prefix: "tg-ab12",
    activeKeysMax,
    sealed: null,
    limits: {},
    memberId: undefined,
  };
}
