import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** How long apt waits while another process installs packages. */
const OTHERS_S_MAX = 300;
const run = promisify(execFile);

/**
 * Returns the result of `find`. Installs a Debian package first if that is needed and allowed (root
 * only). Rejects with `advice` if that fails.
 */
export async function foundOrInstalled(
  find: () => string | undefined,
  name: string,
  advice: string,
): Promise<string> {
  const found = find() ?? ((await installPackage(name)) ? find() : undefined);
  if (found === undefined) throw new Error(advice);
  return found;
}

/**
 * Asynchronous, so that other tests of this process continue; otherwise their idle connections
 * would time out.
 */
async function installPackage(name: string): Promise<boolean> {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return false;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  // Test files run side by side and may need the same package; `apt-get update` does not wait for
  // another.
  const inTurn = [join(tmpdir(), "tollgate-test-apt.lock"), "apt-get", "-qq"];
  const patient = ["-o", `DPkg::Lock::Timeout=${OTHERS_S_MAX}`];
  const apt = (...args: string[]) => run("flock", [...inTurn, ...patient, ...args], { env });
  await apt("update");
  await apt("install", "-y", "--no-install-recommends", name);
  return true;
}
