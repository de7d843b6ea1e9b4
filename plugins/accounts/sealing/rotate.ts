import type { Database, Log } from "../../../core/contract/index.ts";
import type { SealedRecord, Sealer } from "./sealer.ts";

const BATCH = 200;
const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";

/**
 * Seals every key anew that an older master key sealed, so that the older one can be taken out of the config.
 * Any number of processes may do so at once: what another has sealed meanwhile stays. Meanwhile every key can
 * be opened, so nobody waits for it. Never rejects: what it leaves, the next start does.
 */
export async function rotate(
  database: Database,
  sealer: Sealer,
  log: Log,
  stop: AbortSignal,
): Promise<void> {
  const newest = sealer.newest;
  if (newest === undefined) return;
  try {
    await sealAll(database, sealer, newest, log, stop);
  } catch (error) {
    log.error({ err: error }, "keys could not be sealed by the newest master key");
  }
}

async function sealAll(
  database: Database,
  sealer: Sealer,
  newest: string,
  log: Log,
  stop: AbortSignal,
): Promise<void> {
  let sealed = 0;
  let lost = 0;
  let after = BEFORE_ALL;
  while (!stop.aborted) {
    const batch = await database.query<SealedRecord>(
      `select id as "keyId", account_id as "accountId", sealed, sealed_by as "sealedBy"
      from api_keys where sealed_by <> $1 and id > $2 order by id limit ${BATCH}`,
      [newest, after],
    );
    for (const record of batch) {
      const secret = sealer.open(record);
      if (secret === undefined) lost += 1;
      else if (await put(database, sealer, record, secret)) sealed += 1;
    }
    const last = batch.at(-1);
    if (last === undefined) break;
    after = last.keyId;
  }
  if (sealed > 0)
    log.info({ keys: sealed, master_key: newest }, "sealed keys by the newest master key");
  if (lost > 0) log.warn({ keys: lost }, "keys are sealed by master keys that are not there");
}

async function put(
  database: Database,
  sealer: Sealer,
  { keyId, accountId, sealedBy }: SealedRecord,
  secret: string,
): Promise<boolean> {
  const next = sealer.seal(keyId, accountId, secret);
  const updated = await database.query(
    `update api_keys set sealed = $2, sealed_by = $3
    where id = $1 and sealed_by = $4 returning id`,
    [keyId, next.sealed, next.sealedBy, sealedBy],
  );
  return updated.length > 0;
}
