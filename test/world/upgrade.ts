import type { World } from "./world.ts";

const RETRY_MS = 1_500;

/**
 * Ends a run with two versions: every host gets the newer version, whose operator commits what is in quarantine, or
 * every host gets this version.
 */
export function endMixedVersions(world: World): void {
  const isUpgrade = world.operatorRandom.chance(0.5);
  world.isUpgraded = isUpgrade;
  world.note(isUpgrade ? "all hosts are upgraded" : "all hosts are rolled back");
  for (const host of world.hosts) {
    const { gateway } = host;
    host.version = isUpgrade ? "newer" : "this";
    if (gateway && gateway.process.version !== host.version) host.restart();
  }
  if (isUpgrade) retryLater(world);
}

function retryLater(world: World): void {
  world.scheduler.after(RETRY_MS, "quarantine retry", () => {
    retryAll(world);
    retryLater(world);
  });
}

function retryAll(world: World): void {
  const { ledger } = world;
  const gateway = world.gateways.find(
    ({ listening, process }) => listening && process.version === "newer",
  );
  if (!gateway) return;
  for (const callId of ledger.books.quarantine.keys()) {
    gateway.process.receive(2, "quarantine retry", () => {
      ledger
        .for(gateway.process)
        .commitQuarantined(callId)
        .catch((error: unknown) => world.note(`quarantine retry failed: ${String(error)}`));
    });
  }
}
