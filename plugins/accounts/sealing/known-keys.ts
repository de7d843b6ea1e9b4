import type { Services } from "../../../core/plugin/index.ts";
import type { SealedTable } from "../../sign-in-parts/seal-again.ts";
import type { MasterKey } from "./master-keys.ts";
import { Sealer } from "./sealer.ts";

const CHECK = "master key";

/**
 * Refuses a start: rejects for a master key that is another one than the key of its id with which a gateway has started
 * before: what it seals, no other gateway could unseal. The first gateway that starts with an id keeps a text that its key
 * has sealed.
 */
export async function refuseWrongKeys(
  database: Services["database"],
  masterKeys: readonly MasterKey[],
  log: Services["log"],
): Promise<void> {
  for (const masterKey of masterKeys) {
    const { id, isNew } = masterKey;
    const sealer = new Sealer();
    sealer.use([masterKey]);
    const { sealed: own } = sealer.seal(id, id, CHECK);
    await database.query(
      "insert into account_master_keys (id, sealed) values ($1, $2) on conflict do nothing",
      [id, own],
    );
    const [row] = await database.query<{ sealed: Buffer }>(
      "select sealed from account_master_keys where id = $1",
      [id],
    );
    const kept = row && { keyId: id, accountId: id, sealed: row.sealed, sealedBy: id };
    if (kept && sealer.unseal(kept) === CHECK) continue;
    if (!isNew) {
      const isFile = isNew === false;
      const what = isFile ? "the file master-key in the data folder" : `master_keys: "${id}"`;
      const instead = isFile
        ? "or delete it, and lose the keys that it has sealed"
        : "or give the new one an id of its own and list it first";
      throw new Error(
        `${what} is another key than the one that has sealed keys in this ledger: put that one back, ${instead}`,
      );
    }
    log.error(
      "the file master-key is gone from the data folder, and a new one was made: " +
        "customers cannot see API keys of before again, and second factors must be removed by the operator",
    );
    await database.query("update account_master_keys set sealed = $2 where id = $1", [id, own]);
  }
}

/**
 * Refuses a start: rejects if a gateway has started with a master key that `masterKeys` lacks, and secrets are still sealed by
 * it. An operator who has lost the key deletes its row.
 */
export async function refuseMissingKeys(
  database: Services["database"],
  tables: readonly SealedTable[],
  masterKeys: readonly MasterKey[],
): Promise<void> {
  const own = new Set(masterKeys.map(({ id }) => id));
  const rows = await database.query<{ id: string }>("select id from account_master_keys");
  const missing = new Set(rows.map(({ id }) => id).filter((id) => !own.has(id)));
  if (missing.size === 0) return;
  for (const { what, sealedByOthers } of tables) {
    let after: string | undefined;
    for (;;) {
      const batch = await sealedByOthers(masterKeys[0]?.id ?? "", after);
      const id = batch.find(({ sealedBy }) => missing.has(sealedBy))?.sealedBy;
      if (id !== undefined) throw new Error(missingKey(id, what));
      after = batch.at(-1)?.keyId;
      if (after === undefined) break;
    }
  }
}

function missingKey(id: string, what: string): string {
  const source =
    id === "file" ? ", with the content of the file master-key of the data folder" : "";
  return (
    `master_keys lacks "${id}", which seals ${what} in this ledger: list it after the newest${source}. ` +
    "If it is lost, customers cannot see those API keys again and operators must remove those second factors; " +
    `run in Postgres: delete from account_master_keys where id = '${id}'`
  );
}
