import type { Services } from "../../core/plugin/index.ts";
import type { KeySealer, SealedKey, SealedKeyRecord } from "./sealed.ts";

/** A table of secrets that master keys seal. */
export interface SealedTable {
  readonly what: string;
  sealedByOthers(newest: string, after: string | undefined): Promise<SealedKeyRecord[]>;
  reseal(id: string, sealedBy: string, next: SealedKey): Promise<boolean>;
}

/**
 * Seals every secret again that an older master key sealed, so that the operator can remove the older one from the config.
 * Several processes may do this at once: a secret that another process has already sealed again is skipped. Secrets can
 * be unsealed throughout. Never rejects: the next start seals what is left.
 */
export async function sealAgain(
  tables: readonly SealedTable[],
  sealer: KeySealer,
  log: Services["log"],
  stop: AbortSignal,
): Promise<void> {
  const newest = sealer.newest;
  if (newest === undefined) return;
  try {
    for (const secrets of tables) await sealAll(secrets, sealer, newest, log, stop);
  } catch (error) {
    log.error(
      { err: error },
      "cannot seal secrets with the newest master key; the next start tries again",
    );
  }
}

async function sealAll(
  secrets: SealedTable,
  sealer: KeySealer,
  newest: string,
  log: Services["log"],
  stop: AbortSignal,
): Promise<void> {
  let sealed = 0;
  let lost = 0;
  let after: string | undefined;
  while (!stop.aborted) {
    const batch = await secrets.sealedByOthers(newest, after);
    for (const record of batch) {
      const secret = sealer.unseal(record);
      if (secret === undefined) {
        lost += 1;
        continue;
      }
      const { keyId, accountId, sealedBy } = record;
      const next = sealer.seal(keyId, accountId, secret);
      if (await secrets.reseal(keyId, sealedBy, next)) sealed += 1;
    }
    const last = batch.at(-1);
    if (last === undefined) break;
    after = last.keyId;
  }
  const { what } = secrets;
  if (sealed > 0) {
    log.info({ count: sealed, master_key: newest }, `sealed ${what} with the newest master key`);
  }
  if (lost > 0) {
    log.warn(
      { count: lost },
      `cannot unseal ${what} whose master key is not in the config; they stay as they are`,
    );
  }
}
