import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** How this process was installed: by a unit as in the handbook, in a container, or started by hand. */
export type Installation = "systemd" | "docker" | "hand";

const PAGES = new URL("../../../config/operating/", import.meta.url);
const UNIT = /\btollgate@\S+\.service/;

/** The folder of this build, without a slash at its end. */
export const buildFolder: string = fileURLToPath(new URL("../../..", import.meta.url)).replace(
  /\/$/,
  "",
);

export async function installation(): Promise<Installation> {
  if (existsSync("/.dockerenv")) return "docker";
  const groups = await readFile("/proc/self/cgroup", "utf8").catch(() => "");
  return UNIT.test(groups) ? "systemd" : "hand";
}

/** Returns the commands of a block of the operator's handbook, such as `switch` of `upgrade.md`, which a test runs. */
export async function commandsOf(page: string, block: string): Promise<string> {
  const text = await readFile(new URL(page, PAGES), "utf8");
  const found = new RegExp(`^\`\`\`sh ${block}\\n([^]*?)\\n\`\`\`$`, "m").exec(text)?.[1];
  if (found === undefined) throw new Error(`${page} has no block ${block}`);
  return found;
}

/** Returns the commands that restart the gateways one after the other, so that no call fails. */
export async function restartCommands(way: Installation): Promise<string> {
  if (way === "docker") return commandsOf("container.md", "restart");
  if (way === "hand") return "kill -TERM PROCESS # it ends its calls; then start it again";
  const commands = await commandsOf("upgrade.md", "switch");
  return commands.slice(commands.indexOf("systemctl restart"));
}
