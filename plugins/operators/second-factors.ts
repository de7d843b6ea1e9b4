import type { Services } from "../../core/plugin/index.ts";
import type { People, Person } from "./people.ts";

/** Returns the secret of a person's second factor; undefined if there is none, or no master key unseals it. */
export function unsealed(
  { keySealer }: Pick<Services, "keySealer">,
  { id, sealed, sealedBy }: Person,
): string | undefined {
  if (sealed === null || sealedBy === null) return undefined;
  return keySealer.current?.unseal({ keyId: id, accountId: id, sealed, sealedBy });
}

/**
 * Seals second factors again that an older master key sealed, so that the key can be removed from the config. Never rejects:
 * the next start seals what is left.
 */
export async function sealAgain(
  services: Pick<Services, "keySealer" | "log">,
  people: People,
): Promise<void> {
  const { keySealer, log } = services;
  let count = 0;
  let lost = 0;
  try {
    for (const person of await people.list()) {
      const { id, sealedBy } = person;
      if (sealedBy === null) continue;
      const secret = unsealed(services, person);
      const next = secret === undefined ? undefined : keySealer.current?.seal(id, id, secret);
      if (next === undefined) lost += 1;
      else if (next.sealedBy !== sealedBy) {
        if (await people.reseal(id, sealedBy, next.sealed, next.sealedBy)) count += 1;
      }
    }
  } catch (error) {
    log.error(
      { err: error },
      "cannot seal second factors of operators with the newest master key; the next start tries again",
    );
  }
  if (count > 0)
    log.info({ count }, "sealed second factors of operators with the newest master key");
  if (lost > 0) {
    log.warn(
      { count: lost },
      "cannot unseal second factors of operators, whose master key is not in the config; list it again, or reset them",
    );
  }
}
