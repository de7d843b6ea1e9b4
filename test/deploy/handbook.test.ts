import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { debianSystem, noNamespaces, noSystems } from "../support/debian-system.ts";
import { installedNginx } from "../support/nginx.ts";
import { installedPostgres } from "../support/postgres-server.ts";
import { installedRedis } from "../support/redis.ts";
import { BLOCKS } from "./machine/blocks.ts";

const FOLDER = join(packageRoot, "config", "operating");
/** Those of the page, and programs that a minimal system lacks. */
const PACKAGES = [
  ...["ca-certificates", "cron", "curl", "nginx-light", "openssl", "postgresql", "redis-server"],
  ...["iproute2", "mount", "procps"],
];
const skip13 = noSystems() ?? false;
const skip = noNamespaces() ?? false;

t.test("every command of the handbook is run by a test, or said not to be", async (t) => {
  const pages = readdirSync(FOLDER).filter((file) => file.endsWith(".md"));
  const found = pages.flatMap((page) =>
    Array.from(readFileSync(join(FOLDER, page), "utf8").matchAll(/^```sh (\S+)$/gm), ([, name]) =>
      [page, name].join(" "),
    ),
  );
  t.strictSame(found.sort(), Object.keys(BLOCKS).sort());
  const linked = readFileSync(join(FOLDER, "README.md"), "utf8");
  for (const page of pages) if (page !== "README.md") t.match(linked, `(${page})`);
});

t.test("the pages install and set all that their commands need", async (t) => {
  const page = (name: string) => readFileSync(join(FOLDER, name), "utf8");
  const [, packages = ""] = /^apt-get install --yes (.*)$/m.exec(page("install.md")) ?? [];
  // It runs the script of backup.md; a minimal system lacks it.
  t.ok(packages.split(" ").includes("cron"));
  // Gateways listen on 127.0.0.1 by default.
  t.match(page("second-server.md"), /^Environment=LISTEN_HOST=\d/m);
});

const INSIDE = join("dist", "test", "deploy", "machine", "inside.js");
/** Folders, network and processes of its own, which end with the test. */
const OWN = ["--mount", "--net", "--pid", "--fork", "--kill-child"];

t.test("the handbook leads from an empty machine to a paid call and back", { skip }, async (t) => {
  // Inside there is no network to install them.
  await Promise.all([installedPostgres(), installedNginx(), installedRedis()]);
  // The shell is the parent of every process that loses its own.
  const parent = ["sh", "-c", '"$@" & wait "$!"', "sh"];
  const words = [...OWN, "--mount-proc", ...parent, process.execPath, INSIDE];
  await t.spawn("unshare", words, { cwd: packageRoot }, "on this machine");
});

t.test("and so on Debian 13, with Postgres 17 and Redis 8", { skip: skip13 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-debian-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const run = promisify(execFile);
  await run("tar", [
    "-xf",
    await debianSystem("trixie", PACKAGES),
    "-C",
    folder,
    "--exclude=./dev/*",
  ]);
  const npm = (await run("npm", ["root", "--global"])).stdout.trim();
  const enter = join(packageRoot, "test", "deploy", "machine", "enter.sh");
  const words = [...OWN, "sh", enter, folder, process.execPath, npm, INSIDE, "stores"];
  const { TAP_TIMEOUT = "", TAP_CHILD_ID = "" } = process.env;
  const env = {
    PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    TAP: "1",
    TAP_TIMEOUT,
    TAP_CHILD_ID,
  };
  await t.spawn("unshare", words, { cwd: packageRoot, env }, "on Debian 13");
});
