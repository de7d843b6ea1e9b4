import { execFile } from "node:child_process";
import { join } from "node:path";
import { packageRoot } from "../../../core/process/root.ts";

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs `npm run admin -- …` without npm, and without the variables it would read from the caller's
 * environment.
 */
export function runCli(
  args: readonly string[],
  { env = {}, cwd = packageRoot }: { env?: Readonly<Record<string, string>>; cwd?: string } = {},
): Promise<CliResult> {
  const program = join(packageRoot, "dist", "plugins", "admin", "cli.js");
  const { GATEWAY_URL, GATEWAY_ADMIN_TOKEN, ...rest } = process.env;
  return new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [program, ...args],
      { env: { ...rest, ...env }, cwd },
      (error, stdout, stderr) => {
        if (error && child.exitCode === null) reject(error);
        else resolve({ code: child.exitCode ?? -1, stdout, stderr });
      },
    );
  });
}
