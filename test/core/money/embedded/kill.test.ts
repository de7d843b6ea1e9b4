import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { createEmbeddedHoldStore } from "../../../../core/money/embedded/store.ts";
import { MemoryHistory } from "../../../support/commit-counts.ts";
import { recordedLog } from "../../../support/log.ts";
import { readable } from "../../../support/posting.ts";

const CHILD = fileURLToPath(new URL("./posting-child.js", import.meta.url));
/** `KILLS=100` for a longer run. */
const KILLS = Number(process.env["KILLS"] ?? 8);

t.test("a kill -9 at any instant loses no posted call and replays none twice", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-kill-"));
  const posted = new Set<string>();
  const committed = new Map<string, number>();
  try {
    const answers = join(folder, "answers");
    for (let kill = 0; kill < KILLS; kill += 1) {
      await postUntilKilled(join(folder, "journal"), `k${kill}`, answers);
    }
    for (const line of readFileSync(answers, "utf8").trimEnd().split("\n")) {
      const [what, callId] = line.split(" ");
      if (what === "posted") posted.add(callId!);
      else committed.set(callId!, (committed.get(callId!) ?? 0) + 1);
    }
    for (const callId of await replayed(join(folder, "journal")))
      committed.set(callId, (committed.get(callId) ?? 0) + 1);
    t.ok(posted.size > KILLS, `only ${posted.size} posted`);
    const lost = [...posted].filter((callId) => !committed.has(callId));
    t.strictSame(lost, []);
    // Each kill leaves at most one posted call without a reported result.
    t.ok(committed.size - posted.size <= KILLS, `${committed.size} kept, ${posted.size} answered`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Kills the child at a random moment. */
async function postUntilKilled(folder: string, prefix: string, answers: string): Promise<void> {
  const child = spawn(process.execPath, [CHILD, folder, prefix, answers], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout.once("data", () => {
    setTimeout(() => child.kill("SIGKILL"), 20 + Math.random() * 60);
  });
  await once(child, "close");
  assert.equal(child.signalCode, "SIGKILL");
}

async function replayed(folder: string): Promise<string[]> {
  const { log } = recordedLog();
  const store = createEmbeddedHoldStore({
    journal: { folder, bytesMax: 1e9, sync: false, log },
    outboxEntriesMax: 1e6,
    history: new MemoryHistory(),
  });
  await store.start();
  const entries = await store.read(1e6, 0);
  await store.stop();
  return readable(entries).map((entry) => entry.posting.callId);
}
