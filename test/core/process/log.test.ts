import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import t from "tap";
import { LogOutput } from "../../../core/process/log.ts";

const MEGABYTE = 1_048_576;

interface Written {
  readonly written: number;
  readonly waitingBytes: number;
  readonly lost: number;
}

function startChild(stdout: "pipe" | number): ChildProcess {
  const file = fileURLToPath(new URL("./log-child.js", import.meta.url));
  return fork(file, { stdio: ["ignore", stdout, "inherit", "ipc"] });
}

/** Lets the child write a thousand lines of 1 KB. */
async function write(child: ChildProcess): Promise<Written> {
  child.send("write");
  const [reply] = await once(child, "message");
  return reply;
}

async function writeUntilLost(child: ChildProcess): Promise<Written> {
  for (;;) {
    const reply = await write(child);
    if (reply.lost > 0) return reply;
  }
}

async function end(child: ChildProcess): Promise<number> {
  child.send("end");
  const [code] = await once(child, "exit");
  return code;
}

/** Reads the log that the child has written to a pipe so far, and lets it end. */
async function endAndRead(child: ChildProcess): Promise<{ code: number; lines: string[] }> {
  const { stdout } = child;
  if (!stdout) throw new Error("no pipe");
  const lines: string[] = [];
  const reader = createInterface(stdout).on("line", (line) => lines.push(line));
  const closed = once(reader, "close");
  const code = await end(child);
  await closed;
  return { code, lines };
}

t.test("a full disk below the log does not end the process", async (t) => {
  const full = openSync("/dev/full", "w");
  const child = startChild(full);
  closeSync(full);
  await writeUntilLost(child);
  const { written, lost } = await write(child);
  t.ok(lost <= written);
  t.equal(await end(child), 0);
});

t.test("the end of the log's reader does not end the process", async (t) => {
  const child = startChild("pipe");
  child.stdout?.destroy();
  await writeUntilLost(child);
  await write(child);
  t.equal(await end(child), 0);
});

t.test(
  "lines wait for a slow reader of the log in bounded memory, and it gets the number of those that were lost",
  async (t) => {
    const child = startChild("pipe");
    await writeUntilLost(child);
    await write(child);
    const { written, waitingBytes, lost } = await write(child);
    t.ok(waitingBytes <= 16 * MEGABYTE, `${waitingBytes} bytes wait`);
    const { code, lines } = await endAndRead(child);
    t.equal(code, 0);
    let read = 0;
    let saidLost = 0;
    for (const line of lines) {
      const { msg, lines: lostLines } = JSON.parse(line);
      if (msg === "a line") read += 1;
      else saidLost += lostLines;
    }
    t.equal(saidLost, lost);
    t.equal(read, written - lost);
  },
);

t.test("a line that is too long is cut, and still ends", async (t) => {
  const child = startChild("pipe");
  child.send("long");
  const { code, lines } = await endAndRead(child);
  t.equal(code, 0);
  t.equal(lines.length, 2);
  t.ok(Buffer.byteLength(lines[0] ?? "") < 16_384);
  t.equal(JSON.parse(lines[1] ?? "").msg, "the next line");
});

t.test("a line that a full disk cut does not spoil the next one", async (t) => {
  const took: string[] = [];
  let room = 7;
  const stream = {
    writableLength: 0,
    on() {},
    write(lines: Uint8Array, callback: (error?: Error) => void) {
      took.push(Buffer.from(lines).toString().slice(0, room));
      callback(room < lines.length ? new Error("ENOSPC") : undefined);
      return true;
    },
  };
  const gains: number[] = [];
  const output = new LogOutput(stream, (lost) => gains.push(lost));
  output.write(Buffer.from('{"n":1}\n{"n":2}\n'), 2);
  t.strictSame(gains, []);
  room = 100;
  output.write(Buffer.from('{"n":3}\n'), 1);
  t.strictSame(took.join("").split("\n"), ['{"n":1}', '{"n":3}', ""]);
  t.strictSame(gains, [2]);
  output.write(Buffer.from('{"n":4}\n'), 1);
  t.strictSame([gains, output.lostLines], [[2], 2]);
});
