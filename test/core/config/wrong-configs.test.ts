import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { preflight } from "../../../core/boot/preflight.ts";
import { formatProblems, loadConfig } from "../../../core/config/load.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { messageOf } from "../../../core/process/thrown.ts";

const FOLDER = join(packageRoot, "test/core/config/wrong-configs");
/** The first line of a file says where it must be refused, and why. */
const REFUSED = /^# refuse(?: at ([^:]+)| with one sentence that names (\S+))?:?/;
/** The port of `listen-port-in-use.yaml`. */
const TAKEN_PORT = 28_930;

/** Returns the problems in a config, or the one that preflight finds around it. */
async function saidTo(file: string, data: string): Promise<string> {
  const env = { TG_DATA: data, TG_ROOT: packageRoot };
  const loaded = await loadConfig(join(FOLDER, file), env);
  if (!loaded.ok) return formatProblems(loaded.problems);
  return preflight(loaded.config, 0).then(String, messageOf);
}

t.test("each wrong config is refused at its place", async (t) => {
  const data = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const taken = createServer().listen(TAKEN_PORT, "127.0.0.1");
  t.teardown(() => {
    taken.close();
    rmSync(data, { recursive: true, force: true });
  });
  await Promise.race([once(taken, "listening"), once(taken, "error")]);
  const files = readdirSync(FOLDER).filter((name) => name.endsWith(".yaml"));
  let count = 0;
  for (const file of files) {
    const [line = ""] = readFileSync(join(FOLDER, file), "utf8").split("\n");
    const [refuses, place, setting] = REFUSED.exec(line) ?? [];
    if (refuses === undefined) continue;
    count += 1;
    const said = await saidTo(file, data);
    const expected = place ?? setting ?? "twice";
    t.ok(said.includes(expected), `${file}: ${expected}\n${said}`);
    if (setting !== undefined) t.notMatch(said, /\n/, file);
  }
  t.equal(count, 55);
});
