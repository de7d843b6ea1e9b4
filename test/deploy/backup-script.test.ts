import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { packageRoot } from "../../core/process/root.ts";

const HOUR_MS = 3_600_000;
/** The newest of these 30 days of dumps is at 22 h of the last day, in UTC. */
const NEWEST = Date.parse("2026-11-30T22:00:00Z");
const nameOf = (hoursAgo: number) =>
  `${new Date(NEWEST - hoursAgo * HOUR_MS).toISOString().slice(0, 13).replaceAll("-", "")}.dump`;

/** Runs the script of the page on backups, with `pg_dump` as given and 30 days of dumps in its folder. */
function backUp(t: Test, pgDump: string) {
  const root = t.testdir();
  const [bin, folder] = [join(root, "bin"), join(root, "dumps")];
  for (const each of [bin, folder]) mkdirSync(each);
  const programs = {
    runuser: 'shift 3; exec "$@"',
    pg_dump: pgDump,
    pg_restore: "exec cat",
    psql: "",
  };
  for (const [name, text] of Object.entries({ ...programs, date: "echo 20261130T23" })) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  for (let hours = 0; hours < 30 * 24; hours++) writeFileSync(join(folder, nameOf(hours)), "");
  const page = readFileSync(join(packageRoot, "config/operating/backup.md"), "utf8");
  const script = /<<'END'\n([\s\S]*?)^END$/m.exec(page)?.[1] ?? "";
  t.match(script, "/var/backups/tollgate");
  const { status, stderr } = spawnSync(
    "sh",
    ["-c", script.replace("/var/backups/tollgate", folder)],
    { env: { PATH: `${bin}:${process.env["PATH"]}` }, encoding: "utf8" },
  );
  return { status, stderr, left: readdirSync(folder).sort().reverse() };
}

/** The newest 47, and before those the last one of each day. */
const KEPT = [
  ...Array.from({ length: 47 }, (_, hours) => nameOf(hours)),
  ...Array.from({ length: 12 }, (_, days) => (days === 0 ? nameOf(47) : nameOf(47 + 24 * days))),
];

t.test("a backup leaves those of two days, and one of each day before", async (t) => {
  const { status, stderr, left } = backUp(t, "echo dump");
  t.match([status, stderr], [0, ""]);
  t.strictSame(left, ["20261130T23.dump", ...KEPT]);
});

t.test("one that fails frees the disk too, and leaves no half a file", async (t) => {
  const { status, left } = backUp(t, "echo half; exit 1");
  t.equal(status, 1);
  t.strictSame(left, KEPT);
});
