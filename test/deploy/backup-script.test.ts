import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { packageRoot } from "../../core/process/root.ts";

const HOUR_MS = 3_600_000;
/** The newest of these 30 days of dumps is of 22:17:00 of the last day, in UTC. */
const NEWEST = Date.parse("2026-11-30T22:17:00Z");
const nameOf = (hoursAgo: number) =>
  `${new Date(NEWEST - hoursAgo * HOUR_MS).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}.dump`;

const page = readFileSync(join(packageRoot, "config/operating/backup.md"), "utf8");
const [script = "", cron = ""] = Array.from(
  page.matchAll(/<<'END'\n([\s\S]*?)^END$/gm),
  ([, text = ""]) => text,
);

/** The script of the page on backups, with `pg_dump` as given and 30 days of dumps in its folder. */
function prepared(t: Test, pgDump: string, hours = 30 * 24) {
  const root = t.testdir();
  const [bin, folder, file] = [join(root, "bin"), join(root, "dumps"), join(root, "backup")];
  for (const each of [bin, folder]) mkdirSync(each);
  const program = (name: string, text: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  program("runuser", 'shift 3; exec "$@"');
  program("pg_dump", pgDump);
  program("pg_restore", "exec cat");
  program("psql", "");
  for (let hour = 0; hour < hours; hour++) writeFileSync(join(folder, nameOf(hour)), "");
  t.match(script, "/var/backups/tollgate");
  writeFileSync(file, script.replace("/var/backups/tollgate", folder), { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env["PATH"]}` };
  return {
    file,
    env,
    program,
    /** Runs it at a time of 30 November 2026, as its names say it. */
    run(at = "20261130T231700") {
      const time = /^(\d{8}T\d\d)(\d\d)(\d\d)$/.exec(at);
      const [, hour = "", minute = "", second = ""] = time ?? [];
      const words = `s/+//; s/%Y%m%dT%H/${hour}/; s/%M/${minute}/; s/%S/${second}/`;
      program("date", `echo "$1" | sed '${words}'`);
      return spawnSync(file, { env, encoding: "utf8" });
    },
    left: () =>
      readdirSync(folder)
        .filter((name) => name !== "lock")
        .sort()
        .reverse(),
  };
}

/** The newest 47, and before those the last one of each day. */
const KEPT = [
  ...Array.from({ length: 47 }, (_, hours) => nameOf(hours)),
  ...Array.from({ length: 12 }, (_, days) => (days === 0 ? nameOf(47) : nameOf(47 + 24 * days))),
];

t.test("a backup leaves those of two days, and one of each day before", async (t) => {
  const { run, left } = prepared(t, "echo dump");
  t.match(run(), { status: 0, stderr: "" });
  t.strictSame(left(), ["20261130T231700.dump", ...KEPT]);
});

t.test("one before an upgrade is still there after that of its hour", async (t) => {
  const { run, left } = prepared(t, "echo dump", 2);
  for (const at of ["20261130T230905", "20261130T231700", "20261130T231701"]) {
    t.match(run(at), { status: 0, stderr: "" });
  }
  t.strictSame(
    left().map((name) => name.slice(0, 15)),
    ["20261130T231701", "20261130T231700", "20261130T230905", "20261130T221700", "20261130T211700"],
  );
});

t.test("two at once wait for each other", async (t) => {
  const { file, env, left, program } = prepared(t, "echo half; sleep 1; echo whole", 0);
  program("pg_restore", 'test "$(cat)" = "half\nwhole"');
  const runs = [0, 1].map(() => spawn(file, { env, stdio: "ignore" }));
  const codes = await Promise.all(runs.map(async (run) => (await once(run, "exit"))[0]));
  t.strictSame(codes, [0, 0]);
  t.equal(left().length, 2);
});

t.test("one that fails frees the disk too, and leaves no half a file", async (t) => {
  const { run, left } = prepared(t, "echo half; exit 1");
  t.equal(run().status, 1);
  t.strictSame(left(), KEPT);
});

t.test("its errors are in the log of the machine, as cron can send no mail", async (t) => {
  const { file, env, program } = prepared(t, "echo the disk is full >&2; exit 1", 0);
  program("logger", 'echo "$@"; exec cat');
  const command = /^17 \* \* \* \* root (.*)$/m.exec(cron)?.[1] ?? "";
  t.match(command, "/usr/local/sbin/tollgate-backup");
  const line = command.replace("/usr/local/sbin/tollgate-backup", file);
  const { stdout } = spawnSync("sh", ["-c", line], { env, encoding: "utf8" });
  t.equal(stdout, "--tag tollgate-backup\nthe disk is full\n");
});
