import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { NEWER } from "../../core/listener/native-build.ts";
import { packageRoot } from "../../core/process/root.ts";
import { debianSystem, noSystems } from "../support/debian-system.ts";
import { newerNode } from "../support/newer-node.ts";
import { testFolder } from "../support/test-processes.ts";

const run = promisify(execFile);
const LIBRARIES = "/usr/lib/x86_64-linux-gnu";
const BUILDS = join(packageRoot, "test", "deploy", "native-listener.sha256");
const FILES = ["core/listener/listener", "core/listener/heads", "core/listener/stopping"];

/** In a namespace that has the package, and the C library of Debian 13: that of Debian 12 is too old for the build. */
t.test("the native listener on Node 24", { skip: noSystems() ?? false }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-newer-node-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const system = await debianSystem("trixie", ["ca-certificates"]);
  await run("tar", ["-xf", system, "-C", folder, `.${LIBRARIES}`]);
  const { name, version } = NEWER;
  await run("npm", ["pack", "--silent", "--pack-destination", folder, `${name}@${version}`]);
  const installed = join(folder, "modules", name);
  mkdirSync(installed, { recursive: true });
  await run("sh", ["-c", `tar -xzf *.tgz --strip-components=1 -C "${installed}"`], { cwd: folder });
  const check = ["--check", "--quiet", "--ignore-missing", BUILDS];
  await t.resolves(run("sha256sum", check, { cwd: join(folder, "modules") }), "as reviewed");

  const over = (lower: string, upper: string) =>
    `mount -t overlay -o lowerdir=${lower}:${upper} overlay ${upper}`;
  const modules = over(join(folder, "modules"), join(packageRoot, "node_modules"));
  const libraries = over(join(folder, LIBRARIES), LIBRARIES);
  const script = `${modules} && ${libraries} && exec "$0" "$@"`;
  const runNode = (...args: readonly string[]) =>
    run("unshare", ["--mount", "sh", "-c", script, newerNode, ...args], { cwd: packageRoot });

  for (const file of FILES) {
    t.test(file, async (t) => {
      const { stdout } = await runNode(join(testFolder, `${file}.test.js`));
      t.match(stdout, /^ok \d+ - .*\bnative\b/m);
    });
  }
});
