import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whoever else installs something at the moment is waited for this long. */
const OTHERS_S_MAX = 300;

/** Installs a package where the tests may, which is as root on Debian; answers whether it did. */
export function installPackage(name: string): boolean {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return false;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  // Test files run side by side and may need the same package; two updates of apt's lists would not wait.
  const inTurn = [join(tmpdir(), "tollgate-test-apt.lock"), "apt-get", "-qq"];
  const patient = ["-o", `DPkg::Lock::Timeout=${OTHERS_S_MAX}`];
  const apt = (...args: string[]) =>
    execFileSync("flock", [...inTurn, ...patient, ...args], { env, stdio: "pipe" });
  apt("update");
  apt("install", "-y", "--no-install-recommends", name);
  return true;
}
