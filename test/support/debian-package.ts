import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Whoever else installs something at the moment is waited for this long. */
const OTHERS_S_MAX = 300;
const run = promisify(execFile);

/**
 * What `find` finds, if need be once a Debian package is installed, where the tests may do that: as root. Rejects with
 * `advice` where it is not to be had.
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

/** Other tests of this process go on meanwhile: their connections would be closed for saying nothing. */
async function installPackage(name: string): Promise<boolean> {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return false;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  // Test files run side by side and may need the same package; two updates of apt's lists would not wait.
  const inTurn = [join(tmpdir(), "tollgate-test-apt.lock"), "apt-get", "-qq"];
  const patient = ["-o", `DPkg::Lock::Timeout=${OTHERS_S_MAX}`];
  const apt = (...args: string[]) => run("flock", [...inTurn, ...patient, ...args], { env });
  await apt("update");
  await apt("install", "-y", "--no-install-recommends", name);
  return true;
}
