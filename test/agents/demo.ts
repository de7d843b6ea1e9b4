import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packageRoot } from "../../core/process/root.ts";
import { clients } from "../../plugins/dashboard/browser/how-to/clients.ts";
import { admin } from "../support/admin.ts";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/until.ts";
import { booksOf, type Cell, lastWords } from "./cell.ts";
import { runProgram } from "./run-program.ts";

const NAME = "Claude Code at npm start";
const CREDIT_VND = 100_000;
/** With what the client asks for itself, such as a title. */
const HELLO_CALLS_MAX = 3;

interface Around {
  /** The folder in which Claude Code is installed. */
  readonly installed: string;
  readonly node: string;
  readonly folder: string;
  readonly timeoutMs: number;
}

/**
 * Does what a newcomer does: `npm start`, then the lines of the page "How to connect" for Claude Code with the key of
 * the demo. "hello" takes a few calls, and a task that edits a file gets done.
 */
export async function runDemo({ installed, node, folder, timeoutMs }: Around): Promise<Cell[]> {
  const home = mkdtempSync(join(folder, "demo-"));
  const demo = await startDemo(home);
  const { model, lines } = setup(demo.url, demo.key);
  const run = async (
    task: string,
    prompt: string,
    judge: (calls: number) => string | undefined,
  ): Promise<Cell> => {
    const started = Date.now();
    const before = await booksOf(demo, demo.accountId, CREDIT_VND);
    const ending = await runProgram({
      file: "bash",
      args: ["-euo", "pipefail", "-c", `${lines} -p "$1" --allowedTools Read Edit`, "bash", prompt],
      folder: home,
      env: {
        ...{ HOME: home, PWD: home, XDG_CONFIG_HOME: "", CI: "1", NO_COLOR: "1" },
        PATH: [join(installed, "node_modules", ".bin"), dirname(node), process.env["PATH"]].join(
          ":",
        ),
      },
      timeoutMs,
    });
    const books = await booksOf(demo, demo.accountId, CREDIT_VND);
    const calls = books.calls - before.calls;
    const why =
      books.error ??
      (ending.code !== 0 ? `exit ${ending.code}: ${lastWords(ending.output)}` : judge(calls));
    return {
      ...{
        client: NAME,
        model: `${model}: ${task}`,
        result: why === undefined ? "done" : "failed",
      },
      ...{ calls, refused: books.refused - before.refused, error: why ?? "" },
      costVnd: (Number(books.costVnd) - Number(before.costVnd)).toFixed(2),
      seconds: (Date.now() - started) / 1_000,
    };
  };
  try {
    const hello = await run("hello", "hello", (calls) =>
      calls > HELLO_CALLS_MAX ? `${calls} calls for a hello` : undefined,
    );
    const file = join(home, "notes.txt");
    writeFileSync(file, "teh first line\n");
    const change = { file_path: file, old_string: "teh", new_string: "the" };
    const tools = [
      { name: "Read", arguments: { file_path: file } },
      { name: "Edit", arguments: change },
    ];
    const asked = `Correct the spelling in notes.txt. [[sim ${JSON.stringify({ tools })}]]`;
    const edit = await run("edit", asked, () => {
      const text = readFileSync(file, "utf8");
      return text === "the first line\n" ? undefined : `the file is not edited: ${text}`;
    });
    return [hello, edit];
  } finally {
    await demo.stop();
  }
}

/** The lines for bash, without settings that stay. */
function setup(base: string, key: string) {
  const client = clients.find(({ id }) => id === "claude-code");
  const model = "claude-opus-5-5";
  const place = { name: "Tollgate", base, key, model, background: "claude-haiku-5-5" };
  const [part] = client?.parts({ ...place, images: undefined, speech: undefined }, "bash") ?? [];
  if (!part) throw new Error("the page has no lines for Claude Code");
  return { model, lines: part.code };
}

/** `npm start` with the default config, but for its ports and its data. */
async function startDemo(home: string) {
  const [port, simulatorPort] = [await freePort(), await freePort()];
  const data = join(home, "data");
  const config = readFileSync(join(packageRoot, "config", "gateway.yaml"), "utf8")
    .replace("port: 8080", `port: ${port}`)
    .replaceAll("9001", String(simulatorPort))
    .replace("./data", data)
    .replace(/(catalogue|costs): (\w+\.yaml)/g, `$1: ${join(packageRoot, "config")}/$2`);
  const file = join(home, "gateway.yaml");
  mkdirSync(data);
  writeFileSync(file, config);
  const child = spawn("npm", ["start", "--", "--config", file], {
    cwd: packageRoot,
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const stop = async () => {
    const ended = once(child, "exit");
    if (child.exitCode === null && child.pid !== undefined) {
      process.kill(-child.pid, "SIGTERM");
      await ended;
    }
  };
  try {
    const key = () => /demo key +(tg-\S+)/.exec(output)?.[1];
    await until("it prints a key", () => child.exitCode !== null || key() !== undefined);
    const url = `http://127.0.0.1:${port}`;
    const adminToken = readFileSync(join(data, "admin-token"), "utf8").trim();
    const target = { url, adminToken };
    const [account] = (await admin(target, "GET", "/accounts")).body["list"] as [{ id: string }];
    return { ...target, key: key() ?? "", accountId: account.id, stop };
  } catch (error) {
    await stop();
    throw new Error(`npm start: ${output.slice(-2_000)}`, { cause: error });
  }
}
