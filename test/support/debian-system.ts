import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { foundOrInstalled } from "./debian-package.ts";

const run = promisify(execFile);
const MIRROR = "http://deb.debian.org/debian";

/** Why no process here can have mounts and a network of its own; undefined if one can. */
export function noNamespaces(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs root on Linux";
  const { status } = spawnSync("unshare", ["--mount", "--net", "--pid", "--fork", "true"]);
  return status === 0 ? undefined : "needs the right to mount, which this container lacks";
}

/** Why no system can be made on this machine; undefined if one can. */
export function noSystems(): string | undefined {
  const reason = noNamespaces();
  if (reason !== undefined) return reason;
  if (process.arch !== "x64") return "needs x64";
  if (!existsSync("/usr/bin/apt-get")) return "needs mmdebstrap, which Debian has";
  return isMirrorReachable() ? undefined : "needs a mirror of Debian, which apt cannot reach here";
}

/** Asks as apt does, with its proxy and its certificates. */
function isMirrorReachable(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-mirror-"));
  const words = ["download-file", `${MIRROR}/dists/stable/Release`, join(folder, "Release")];
  const { status } = spawnSync("/usr/lib/apt/apt-helper", words, { timeout: 60_000 });
  rmSync(folder, { recursive: true });
  return status === 0;
}

/** Returns the path of a program; installs its package, of the same name, if it is missing. */
export function debianProgram(name: string): Promise<string> {
  const find = () => [`/usr/bin/${name}`].find((file) => existsSync(file));
  return foundOrInstalled(find, name, `The test needs ${name}: apt install ${name}.`);
}

/**
 * Returns an archive of a whole file system of Debian, with these packages. Kept from run to run: it takes up to a minute
 * to make.
 */
export async function debianSystem(release: string, packages: readonly string[]): Promise<string> {
  const file = join(tmpdir(), `tollgate-test-${[release, ...packages].join("-")}.tar`);
  if (existsSync(file)) return file;
  const program = await debianProgram("mmdebstrap");
  const half = `${file}.${process.pid}`;
  const kind = ["--quiet", "--variant=minbase", "--format=tar"];
  await run(program, [...kind, `--include=${packages.join(",")}`, release, half, MIRROR]);
  renameSync(half, file);
  return file;
}
