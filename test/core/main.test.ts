import { execFile } from "node:child_process";
import { copyFile, mkdir, readFile, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { readVariables } from "../../plugins/admin/cli/env-file.ts";
import { CATALOGUE, folderOf, GATEWAY } from "./config/files.ts";

interface Result {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the gateway's program with these arguments, in an environment of its own. */
function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Result> {
  const program = join(packageRoot, "dist", "core", "main.js");
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    );
  });
}

t.test("--help and --version print and end", async (t) => {
  const help = await run(["--help"]);
  t.equal(help.code, 0);
  for (const option of ["--config", "--check", "--version"]) t.match(help.stdout, option);

  const { version } = JSON.parse(await readFile(join(packageRoot, "package.json"), "utf8"));
  t.strictSame(await run(["--version"]), { code: 0, stdout: `${version}\n`, stderr: "" });
});

t.test("an unknown option is refused with the options that exist", async (t) => {
  const { code, stderr } = await run(["--confg", "x"]);
  t.equal(code, 2);
  t.match(stderr, /^Unknown option '--confg'\n\nUsage: /);
  t.match(stderr, /--config FILE/);
  t.notMatch(stderr, /\n\s+at /, "a message, not a stack");
});

t.test("an option that npm has kept for want of a -- is refused", async (t) => {
  for (const [args, kept, line] of [
    [[], { npm_config_check: "true" }, "npm start -- --check"],
    [[], { npm_config_config: "a.yaml" }, "npm start -- --config=a.yaml"],
    [["a.yaml"], { npm_config_config: "true" }, "npm start -- --config a.yaml"],
  ] as const) {
    const { code, stderr } = await run(args, { npm_lifecycle_event: "start", ...kept });
    t.equal(code, 2);
    t.match(stderr, new RegExp(`^npm has kept --.* for itself; write: ${line}\n\nUsage: `));
  }
});

t.test("--check reports the errors of a config and starts nothing", async (t) => {
  const folder = await folderOf(t, { "gateway.yaml": "listen: { prot: 1 }" });
  const file = join(folder, "gateway.yaml");
  const { code, stdout, stderr } = await run(["--check", "--config", file]);
  t.equal(code, 1);
  t.equal(stdout, "");
  t.match(stderr, "listen.prot: unknown key");
});

t.test("--check names models whose calls can cost more than they bring", async (t) => {
  const folder = await folderOf(t, {
    "gateway.yaml": GATEWAY,
    "catalogue.yaml": CATALOGUE.replace("price_vnd_per_call: 500", "price_vnd_per_call: 230"),
  });
  const { code, stdout } = await run(["--check", "--config", join(folder, "gateway.yaml")]);
  t.equal(code, 0, stdout);
  t.match(stdout, "req/plain (up to 400 đ for 230 đ); lower input_tokens_max");
});

t.test("--check names costs under a misspelled model", async (t) => {
  const spare = `  spare: { protocols: { messages: "http://127.0.0.1:9002" }, keys: ["\${SPARE_KEY:-}"] }`;
  const cost = "{ 2026-01-01: { currency: VND, per_call: 1 } }";
  const folder = await folderOf(t, {
    "gateway.yaml": GATEWAY.replace("catalogue:", `${spare}\ncatalogue:`).replace(
      "- ./plugin.js",
      "- ./plugin.js\n  - report: { costs: costs.yaml }",
    ),
    // Of an upstream without a key, no model is offered.
    "catalogue.yaml": CATALOGUE.replace("[{", "[{ upstream: spare, model: its-own }, {"),
    "costs.yaml": `costs:
  main: { plain-l: ${cost} }
  spare: { its-own: ${cost} }
  other: { something-else: ${cost} }`,
  });
  const { code, stdout } = await run(["--check", "--config", join(folder, "gateway.yaml")]);
  t.equal(code, 0, stdout);
  t.match(stdout, /^routes without a cost, [^:]+: main plain-1$/m);
  t.match(
    stdout,
    /no route has: main plain-l \(did you mean main plain-1\?\), other something-else$/m,
  );
});

t.test("production starts with one provider's key and the variables of its example", async (t) => {
  const example = await readFile(join(packageRoot, "config/production.env.example"), "utf8");
  const variables = Object.fromEntries(readVariables(example));
  const filled = {
    ...Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [name, value || "x".repeat(40)]),
    ),
    ...Object.fromEntries(
      Object.keys(variables)
        .filter(isProviderKey)
        .map((name) => [name, ""]),
    ),
    GATEWAY_ADMIN_TOKEN: "a".repeat(32),
    TOLLGATE_MASTER_KEY: Buffer.alloc(32).toString("base64"),
    TOPUP_BANK_BIN: "970422",
    TOPUP_ACCOUNT_NUMBER: "0011001932418",
    PUBLIC_URL: "https://api.example.com",
    MAIL_FROM: "no-reply@example.com",
    SEPAY_WEBHOOK_SECRET: "s".repeat(48),
    OPENAI_API_KEY: "sk-one",
  };
  const file = join(packageRoot, "config/production.yaml");
  const { code, stdout, stderr } = await run(["--check", "--config", file], filled);
  t.equal(stderr, "");
  t.equal(code, 0);
  t.match(stdout, /^models without a key of their upstream are not offered: .*claude-opus-5-5/);
  t.match(stdout, /no errors; \d+ models are offered\n$/);
});

t.test("production starts without mail and bank as the handbook says", async (t) => {
  const page = await readFile(join(packageRoot, "config/operating/install.md"), "utf8");
  t.match(page, "unless you delete `smtp` of `messages`, and `topup` with its options");
  const written = await readFile(join(packageRoot, "config/production.yaml"), "utf8");
  const ofTopUp = /^ {2}- topup:\n(?: {4,}.*\n)+/m;
  const ofMail = /^ {6}smtp:\n(?: {8,}.*\n)+/m;
  const config = written.replace(ofTopUp, "").replace(ofMail, "");
  t.ok(written.length - config.length > 1000, "both are deleted");
  const names = ["production.yaml", "catalogue.yaml", "costs.yaml"];
  const files = names.map(async (name) => {
    const text = await readFile(join(packageRoot, "config", name), "utf8");
    return [name, name === "production.yaml" ? config : text] as const;
  });
  const folder = await folderOf(t, Object.fromEntries(await Promise.all(files)));
  const { code, stderr } = await run(["--check", "--config", join(folder, "production.yaml")], {
    GATEWAY_ADMIN_TOKEN: "a".repeat(32),
    TOLLGATE_MASTER_KEY: Buffer.alloc(32).toString("base64"),
    REDIS_URL: "redis://127.0.0.1:9",
    DATABASE_URL: "postgres://tollgate:p@127.0.0.1:9/tollgate",
    PUBLIC_URL: "https://api.example.com",
    OPENAI_API_KEY: "sk-one",
  });
  t.equal(stderr, "");
  t.equal(code, 0);
});

function isProviderKey(name: string): boolean {
  return /_API_KEY$|_BEARER_TOKEN_/.test(name);
}

t.test("npm start runs an older build as it is without the development packages", async (t) => {
  const folder = await folderOf(t, {
    "gateway.yaml": GATEWAY,
    "catalogue.yaml": CATALOGUE,
    "core/newer.ts": "",
  });
  await copyFile(join(packageRoot, "package.json"), join(folder, "package.json"));
  await mkdir(join(folder, "node_modules"));
  await mkdir(join(folder, "dist"));
  // As `npm prune --omit=dev` leaves it: the lock file is newer than the build.
  await writeFile(join(folder, "dist", ".tsbuildinfo"), "");
  await utimes(join(folder, "dist", ".tsbuildinfo"), 1, 1);
  await symlink(join(packageRoot, "dist", "core"), join(folder, "dist", "core"));
  const args = ["start", "--silent", "--", "--check", "--config", "gateway.yaml"];
  const result = await new Promise<Result>((resolve) => {
    execFile("npm", args, { cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    );
  });
  t.match(result, { code: 0, stdout: /gateway\.yaml: no errors/ });
  t.match(result.stderr, /newer than the build.*npm ci && npm run build/);
});
