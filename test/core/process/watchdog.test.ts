import { spawn } from "node:child_process";
import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { STALLED_STATUS } from "../../../core/process/watchdog.ts";

interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly lines: readonly { msg: string; where?: string[] }[];
}

/** Runs the child to its end. Returns its lines, since it said that it blocks its event loop if it did. */
async function run(how: string, armed = "armed", ...more: readonly string[]): Promise<End> {
  const child = fileURLToPath(new URL("./watchdog-child.js", import.meta.url));
  const running = spawn(process.execPath, [child, how, armed, ...more], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  let output = "";
  running.stdout.on("data", (text) => (output += text));
  const [code, signal] = await once(running, "close");
  const texts = output.split("\n").filter((line) => line.startsWith("{"));
  const lines = texts.map((text) => JSON.parse(text));
  const blocked = lines.findIndex(({ msg }) => msg === "blocks");
  return { code, signal, lines: lines.slice(blocked + 1) };
}

t.test("the watchdog", async (t) => {
  t.test(
    "reports the stack of an event loop blocked by promises, then ends the process with its own status",
    async (t) => {
      const { code, lines } = await run("promises");
      t.equal(code, STALLED_STATUS);
      const where = "where the event loop stands";
      t.strictSame(
        lines.map(({ msg }) => msg),
        [
          "the event loop does not turn",
          where,
          "the event loop does not turn; ending this process",
          where,
        ],
      );
      for (const line of lines) {
        if (line.msg === where)
          t.match(
            line.where?.join("\n") ?? "",
            /spinInPromises \(file:.*watchdog-child\.js:\d+:\d+\)/,
          );
      }
    },
  );

  t.test("ends a process whose thread is blocked in a system call", async (t) => {
    const { signal, lines } = await run("read");
    t.equal(signal, "SIGKILL");
    t.equal(lines.at(-1)?.msg, "the event loop does not turn; ending this process");
  });

  t.test("keeps a process whose start takes longer than its limit", async (t) => {
    const { code, lines } = await run("long", "unarmed");
    t.equal(code, 0);
    // On a busy machine it may stall more than once.
    const stall = ["the event loop does not turn", "where the event loop stands"];
    const stalls = Math.max(1, lines.length / stall.length);
    t.strictSame(
      lines.map(({ msg }) => msg),
      Array.from({ length: stalls }, () => stall).flat(),
    );
  });

  t.test("ends a process whose start does not go on, at a limit of its own", async (t) => {
    const { code, lines } = await run("promises", "starting");
    t.equal(code, STALLED_STATUS);
    t.match(lines.at(-1)?.where?.join("\n") ?? "", /spinInPromises/);
  });

  t.test(
    "keeps a process whose loop stands because other programs have the processor",
    async (t) => {
      const schedstat = join(t.testdir(), "schedstat");
      const waits = () => {
        writeFileSync(`${schedstat}.new`, `0 ${Math.round(performance.now() * 1e6)} 0\n`);
        renameSync(`${schedstat}.new`, schedstat);
      };
      waits();
      const timer = setInterval(waits, 5);
      const end = await run("long", "armed", schedstat);
      clearInterval(timer);
      t.strictSame(end, { code: 0, signal: null, lines: [] });
    },
  );

  t.test("logs nothing for a loop that runs", async (t) => {
    t.strictSame(await run("idle"), { code: 0, signal: null, lines: [] });
  });
});
