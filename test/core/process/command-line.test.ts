import { execFile } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";

interface Result {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, args: readonly string[]): Promise<Result> {
  const file = join(packageRoot, "dist", program);
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    );
  });
}

/** Each program of package.json, with wrong arguments, and what it says of them. */
const PROGRAMS: readonly (readonly [string, ...(readonly [string, RegExp])[]])[] = [
  ["core/main.js", ["--config", /^Option '-c, --config <value>' argument missing$/]],
  [
    "bench/index.js",
    ["--profile", /^Option '--profile <value>' argument missing$/],
    ["--sizes 64,x", /^--sizes must be a number above 0, not x$/],
    ["chatt", /^there is no scenario chatt$/],
  ],
  [
    "test/support/provider/main.js",
    ["--port x", /^--port must be a number from 0 to 65535, not x$/],
  ],
  ["test/agents/index.js", ["--at-once 0", /^--at-once must be a whole number above 0, not 0$/]],
  ["test/attack/index.js", ["--seconds x", /^--seconds must be a number above 0, not x$/]],
  [
    "test/chaos/index.js",
    ["--minutes x", /^--minutes must be a number above 0, not x$/],
    ["--appendfsync no", /^--appendfsync must be always or everysec, not no$/],
  ],
  [
    "test/mutate/index.js",
    ["--jobs 1.5 core/money", /^--jobs must be a whole number above 0, not 1\.5$/],
    ["core/mony", /^there is no core\/mony$/],
  ],
  ["test/world/index.js", ["--seeds -", /^--seeds must be a whole number above 0, not -$/]],
];

t.test("the command line of", async (t) => {
  for (const [program, ...cases] of PROGRAMS) {
    t.test(program, async (t) => {
      for (const [args, problem] of cases) {
        const { code, stdout, stderr } = await run(program, args.split(" "));
        const [first = "", empty, ...usage] = stderr.split("\n");
        t.equal(code, 2, args);
        t.match(first, problem);
        t.equal(stdout, "");
        t.equal(empty, "");
        t.match(usage.join("\n"), /npm (?:start|run )/);
      }
    });
  }

  t.test("a program that is asked for help", async (t) => {
    const [program] = PROGRAMS[0]!;
    const { code, stdout, stderr } = await run(program, ["--help"]);
    t.strictSame([code, stderr], [0, ""]);
    t.match(stdout, /npm start/);
    t.equal((await run(program, ["--unknwon"])).stderr, `Unknown option '--unknwon'\n\n${stdout}`);
  });

  t.test("the admin commands", async (t) => {
    const { code, stderr } = await run("plugins/admin/cli.js", ["wallet", "--unknwon"]);
    t.equal(code, 2);
    t.equal(
      stderr,
      "Unknown option '--unknwon'\nusage: npm run admin -- wallet --account ID|EMAIL\n",
    );
  });
});
