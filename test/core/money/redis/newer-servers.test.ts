import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { debianSystem, noSystems } from "../../../support/debian-system.ts";
import { testFolder } from "../../../support/test-processes.ts";

const run = promisify(execFile);
const SERVERS = { "redis-server": /v=8\./, "valkey-server": /v=8\./ };
const LOADER = "lib64/ld-linux-x86-64.so.2";
const LIBRARIES = "usr/lib/x86_64-linux-gnu";
/** Every script, a server that is full, another server behind one address, and a replica that takes over. */
const FILES = [
  "world/redis/scripts",
  "core/money/redis/full",
  "core/money/redis/home-server",
  "core/money/redis/promoted",
];
const skip =
  process.env["TOLLGATE_THOROUGH"] === "1" ? (noSystems() ?? false) : "runs with --thorough";

t.test("money in the servers of Debian 13:", { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-newer-servers-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const system = join(folder, "system");
  mkdirSync(system);
  const archive = await debianSystem("trixie", Object.keys(SERVERS));
  await run("tar", ["-xf", archive, "-C", system, "./usr", "./lib64"]);
  for (const [name, version] of Object.entries(SERVERS)) {
    t.test(name, async (t) => {
      // The tests start what PATH has as `redis-server`. This one brings the libraries of its own system.
      const path = join(folder, name);
      mkdirSync(path);
      const program = join(path, "redis-server");
      const [loader, libraries, server] = [LOADER, LIBRARIES, `usr/bin/${name}`].map((each) =>
        join(system, each),
      );
      writeFileSync(
        program,
        `#!/bin/sh\nexec ${loader} --library-path ${libraries} ${server} "$@"\n`,
        { mode: 0o755 },
      );
      t.match((await run(program, ["--version"])).stdout, version);
      const env = { ...process.env, PATH: `${path}${delimiter}${process.env["PATH"]}` };
      for (const file of FILES) {
        const { stdout } = await run(process.execPath, [join(testFolder, `${file}.test.js`)], {
          env,
        });
        t.match(stdout, /^ok \d/m, file);
        t.notMatch(stdout, /^not ok/m, file);
      }
    });
  }
});
