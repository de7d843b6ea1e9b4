import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { constants, existsSync, readFileSync } from "node:fs";
import { access, chown, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { arrayOf, isLoopback, messageOf, objectOf } from "../../../../core/plugin/index.ts";
import { type Ask, type Command, type Values, value } from "../command.ts";
import { readVariables, variable, writeVariables } from "../env-file.ts";
import { EXIT, Failure } from "../failure.ts";
import { type Change, storeFiles } from "../store-files.ts";

/** The folder of the package, seen from `dist/plugins/admin/cli/commands`. */
const PACKAGE = resolve(import.meta.dirname, "../../../../..");
const FOLDER = "/etc/tollgate";
const UNIT = "tollgate@.service";
/** The user of the unit. */
const USER = "tollgate";
const TIMEOUT_MS = 30_000;
/** The gateway's own checks have limits of their own; a busy machine takes long to load it. */
const GATEWAY_TIMEOUT_MS = 180_000;
/** Values of the template that are made up here. */
const PASSWORD = "PASSWORD";
const MASTER_KEY = "BASE64_OF_32_BYTES";
const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD)$|^(?:REDIS|DATABASE)_URL$/;

/** Of a config, in which `$${` is a plain `${`. */
const VARIABLE = /\$(\$\{)|\$\{(?:file:(\/[^}]+)|(\w+)(?::-([^}]*))?)\}/g;

type Environment = ReadonlyMap<string, string>;

/** A shipped file, and what differs on this machine: each text must be there. */
interface Shipped {
  readonly from: string;
  readonly to: string;
  /** Only its owner may read it. */
  readonly isSecret?: boolean;
  /** The operator's own from then on, such as the config and prices: never written again. */
  readonly isOwn?: boolean;
  readonly changes: readonly Change[];
}

/** One line of the result: what is right, or what is left to do. */
interface Finding {
  readonly state: "ok" | "to do";
  readonly what: string;
  readonly how: string;
}

export const initCommand: Command = {
  words: "init",
  required: [],
  optional: ["folder"],
  flags: ["check", "replace"],
  options: {
    folder: { value: "FOLDER", about: `default ${FOLDER}` },
    check: { about: "check, and write nothing" },
    replace: { about: "write the files again; keep values, config and prices" },
  },
  isLocal: true,
  about:
    `set up this machine: write the config, its variables with new secrets, prices and costs, and the files of systemd, nginx, Redis and Postgres ` +
    `into a folder (${FOLDER}), check them, and say what is left to do. A terminal is asked; variables of the environment ` +
    "are taken, such as PUBLIC_URL. --check only checks; --replace writes the files again and keeps values, config, prices and costs",
  run: async (_client, values, ask) => {
    const folder = resolve(values["folder"] ?? FOLDER);
    const replaced = values["check"] === undefined ? await write(folder, values, ask) : [];
    const findings = [...replaced, ...(await check(folder))];
    const isDone = findings.every(({ state }) => state === "ok");
    return { ...value(findings), exitCode: isDone ? EXIT.ok : EXIT.refused };
  },
};

/** Returns what it has replaced. */
async function write(folder: string, { replace }: Values, ask?: Ask): Promise<Finding[]> {
  const env = join(folder, "env");
  const template = await readFile(join(PACKAGE, "config/production.env.example"), "utf8");
  const found = existsSync(env) ? await readFile(env, "utf8") : "";
  const before = found.trim() === "" ? template : found;
  const kept = before === template ? new Map() : ownVariables(before, readVariables(template));
  if (kept.size > 0 && replace === undefined) {
    throw new Failure(
      EXIT.refused,
      `${env} is there. --check checks what ${folder} has; --replace writes its files again and keeps the values of env`,
    );
  }
  // The gateway's user must read the files, even if root's own umask keeps others out.
  process.umask(0o022);
  // Before the questions: a refusal after them would cost the operator all that was typed.
  await mkdir(folder, { recursive: true, mode: 0o755 })
    .then(() => access(folder, constants.W_OK))
    .catch(notWritable(folder));
  const values = await answers(template, kept, ask);
  const { files, others } = shippedFiles(folder, values);
  const texts = await Promise.all(files.map(changed));
  await put(env, writeVariables(before, values), true);
  const replaced = [...differing(env, kept), ...others];
  for (const [at, { to, isSecret, isOwn }] of files.entries()) {
    if (isOwn && existsSync(join(folder, to))) continue;
    const [path, text] = [join(folder, to), texts[at] ?? ""];
    const before = await readFile(path, "utf8").catch(() => text);
    if (before !== text) {
      const kept = freeName(`${path}.before`);
      await rename(path, kept);
      const how = `take your own changes over, if you made any: diff ${kept} ${path}`;
      replaced.push({ state: "to do", what: path, how });
    }
    await put(path, text, isSecret === true);
  }
  return replaced;
}

/** Returns the variables of a file without those that the template leaves to be made up. */
function ownVariables(file: string, shipped: Environment): Environment {
  const all = [...readVariables(file)];
  return new Map(all.filter(([name, text]) => text !== shipped.get(name) || madeUp(text) === text));
}

/** Returns a name that no file has: one that an operator has not read yet is never overwritten. */
function freeName(wanted: string): string {
  let name = wanted;
  for (let at = 2; existsSync(name); at += 1) name = `${wanted}.${at}`;
  return name;
}

/** Never leaves half a file, and never one that others can read for a moment. */
async function put(path: string, text: string, isSecret: boolean): Promise<void> {
  const half = `${path}.new`;
  await rm(half, { force: true });
  await writeFile(half, text, { mode: isSecret ? 0o600 : 0o644, flag: "wx" });
  await rename(half, path);
}

/** Says which values the shell has from before a change of the file. */
function differing(env: string, kept: Environment): Finding[] {
  const names = [...kept.keys()].filter((name) => {
    const given = process.env[name];
    return given && kept.get(name) && given !== kept.get(name);
  });
  if (names.length === 0) return [];
  const how = `it keeps its own values, and those of this shell differ: ${names.join(", ")}. Change it, or read it again: set -a; . ${env}; set +a`;
  return [{ state: "to do", what: env, how }];
}

/**
 * Returns the value of each variable: from the file before, the environment, the template; a terminal may change it. The
 * file goes before the environment, which a shell may have from before a secret was changed.
 */
async function answers(
  template: string,
  kept: Environment,
  ask: Ask | undefined,
): Promise<Map<string, string>> {
  const values = new Map(kept);
  for (const paragraph of template.trimEnd().split("\n\n")) {
    const names = readVariables(paragraph);
    if (names.size > 0 && ask) console.error(`\n${comments(paragraph)}`);
    for (const [name, shipped] of names) {
      const given = process.env[name];
      // A shell that has read a copy of the template has no value.
      const known = kept.get(name) || (given === shipped ? "" : given) || madeUp(shipped);
      values.set(name, ask ? await asked(name, known, ask, kept.get(name)) : known);
    }
  }
  return values;
}

/** Asks until the value can be written: a refusal at the end would cost the operator all that was typed. */
async function asked(
  name: string,
  known: string,
  ask: Ask,
  kept: string | undefined,
): Promise<string> {
  const shown = SECRET_NAME.test(name) && known !== "" ? "as it is" : known;
  for (;;) {
    const value = (await ask(`${name} [${shown}]: `)).trim() || known;
    try {
      // The line of a value that stays is not written again.
      if (value !== kept) variable(name, value);
      return value;
    } catch (error) {
      console.error(messageOf(error));
    }
  }
}

function comments(paragraph: string): string {
  const lines = paragraph.split("\n").filter((line) => line.startsWith("#"));
  return lines.map((line) => line.slice(2)).join("\n");
}

function madeUp(shipped: string): string {
  return shipped
    .replace(PASSWORD, () => randomBytes(24).toString("hex"))
    .replace(MASTER_KEY, () => randomBytes(32).toString("base64"));
}

/** Returns the files for these values, and which ones the operator's own Redis or Postgres leaves out. */
function shippedFiles(
  folder: string,
  values: Environment,
): { readonly files: readonly Shipped[]; readonly others: readonly Finding[] } {
  const domain = domainOf(values);
  const schema = ["$schema=./schema.json", `$schema=${PACKAGE}/config/schema.json`] as const;
  const files: Shipped[] = [
    { from: "config/production.yaml", to: "production.yaml", isOwn: true, changes: [schema] },
    // Beside it: those of the package are another release's after an upgrade.
    { from: "config/catalogue.yaml", to: "catalogue.yaml", isOwn: true, changes: [schema] },
    { from: "config/costs.yaml", to: "costs.yaml", isOwn: true, changes: [schema] },
    {
      from: `config/deploy/${UNIT}`,
      to: UNIT,
      changes: [
        ["/usr/bin/node", process.execPath],
        ["/opt/tollgate", PACKAGE],
        [FOLDER, folder],
      ],
    },
    {
      from: "config/deploy/nginx.conf",
      to: "nginx.conf",
      changes: [
        ["gateway-1:8080", "127.0.0.1:8001"],
        ["gateway-2:8080", "127.0.0.1:8002"],
        ["/etc/nginx/tls/", `/etc/letsencrypt/live/${domain ?? "DOMAIN"}/`],
      ],
    },
  ];
  const others: Finding[] = [];
  for (const { variable, to, form, changes } of storeFiles(values)) {
    const from = `config/deploy/${to}`;
    if (changes) files.push({ from, to, isSecret: true, changes });
    else {
      const how = `no ${to} is written, which is for ${form}: set your own server up as ${join(PACKAGE, from)} does`;
      others.push({ state: "to do", what: variable, how });
    }
  }
  return { files, others };
}

function domainOf(values: Environment): string | undefined {
  const address = values.get("PUBLIC_URL") ?? "";
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}

async function changed({ from, changes }: Shipped): Promise<string> {
  let text = await readFile(join(PACKAGE, from), "utf8");
  for (const [shipped, here] of changes) {
    if (!text.includes(shipped)) throw new Error(`${from} has no ${shipped}`);
    text = text.replaceAll(shipped, () => here);
  }
  return text;
}

async function check(folder: string): Promise<Finding[]> {
  const values = readVariables(await readFile(join(folder, "env"), "utf8").catch(absent(folder)));
  const checks = await Promise.all([
    checkGateway(folder, values),
    checkUnit(join(folder, UNIT)),
    checkDomain(values),
    checkMail(folder, values),
    checkPlace(join(folder, UNIT), `/etc/systemd/system/${UNIT}`),
    checkPlace(join(folder, "nginx.conf"), "/etc/nginx/nginx.conf"),
  ]);
  return checks.flat();
}

function absent(folder: string): (error: unknown) => never {
  return (error) => {
    throw new Failure(EXIT.refused, `${folder} has no env that can be read: ${messageOf(error)}`);
  };
}

function notWritable(folder: string): (error: NodeJS.ErrnoException) => never {
  return ({ code }) => {
    throw new Failure(
      EXIT.refused,
      `cannot write to ${folder} (${code}): run this as root, or name another folder with --folder. ` +
        "Docker needs no init: config/deploy/compose-env.sh prints the variables",
    );
  };
}

/**
 * Runs the gateway's own checks: of the config, the ports, Redis and Postgres, with its role and rights. As root it runs
 * them as the gateway's user, who reads fewer files; as another one if that user is not there yet.
 */
async function checkGateway(folder: string, values: Environment): Promise<Finding[]> {
  const what = "config, ports, Redis, Postgres";
  // The gateway's check makes the data folder if it is missing.
  const place = await mkdtemp(join(tmpdir(), "tollgate-init-"));
  const program = [join(PACKAGE, "dist/core/main.js"), "--check", "--reach"];
  const args = [...program, "--config", join(folder, "production.yaml")];
  const ports = { LISTEN_PORT: "8001", ADMIN_LISTEN_PORT: "8101" };
  const uid = process.getuid?.() === 0 ? await uidOf(USER) : undefined;
  if (uid !== undefined) await chown(place, uid, 0);
  const words = [...(uid === undefined ? [] : ["runuser", "-u", USER, "--"]), process.execPath];
  const { PATH } = process.env;
  const env = { PATH, ...Object.fromEntries(values), ...ports };
  const output = await new Promise<Finding[]>((settle) => {
    const options = { env, cwd: place, timeout: GATEWAY_TIMEOUT_MS };
    const [file = "", ...before] = words;
    execFile(file, [...before, ...args], options, (error, stdout, stderr) => {
      const lines = (error ? stderr || error.message : stdout).trim().split("\n");
      if (error) settle(lines.map((how) => ({ state: "to do", what, how: how.trim() })));
      else settle([{ state: "ok", what, how: lines.at(-1) ?? "" }]);
    });
  });
  await rm(place, { recursive: true, force: true });
  return output;
}

/** Returns the number of a user; undefined if there is none. */
function uidOf(user: string): Promise<number | undefined> {
  return new Promise((settle) => {
    execFile("id", ["-u", user], (error, stdout) => settle(error ? undefined : Number(stdout)));
  });
}

/** Finds what the unit starts but hides from itself (ProtectHome), such as a Node that nvm installed. */
async function checkUnit(path: string): Promise<Finding[]> {
  const unit = await readFile(path, "utf8").catch(() => "");
  const [started = ""] = /^ExecStart=.*$/m.exec(unit) ?? [];
  const hidden = started.match(/(?<=[= ])\/(?:home|root|run\/user)\/\S+/g) ?? [];
  if (hidden.length === 0 || !/^ProtectHome=yes$/m.test(unit)) return [];
  const how = `the unit sees no home folders: install Node and the release elsewhere, such as in /usr/local and /opt, instead of ${hidden.join(", ")}`;
  return [{ state: "to do", what: path, how }];
}

async function checkDomain(values: Environment): Promise<Finding[]> {
  const domain = domainOf(values);
  const what = "DNS";
  if (domain === undefined) return [{ state: "to do", what, how: "set PUBLIC_URL" }];
  try {
    const found = (await lookup(domain, { all: true })).map(({ address }) => address);
    const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    const isHere = own.some(({ address }) => found.includes(address));
    const note = isHere ? "" : ", not an address of this machine: right behind Cloudflare or NAT";
    return [{ state: "ok", what, how: `${domain} is ${found.join(", ")}${note}` }];
  } catch (error) {
    const how = `add a record of ${domain} with this machine's address (${messageOf(error)})`;
    return [{ state: "to do", what, how }];
  }
}

async function checkMail(folder: string, values: Environment): Promise<Finding[]> {
  // The gateway's own check names what cannot be read.
  const smtp = await smtpOf(folder, values).catch(() => undefined);
  if (smtp === undefined) return [];
  const { host, user, pass, secure } = smtp;
  const what = "mail";
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({
    ...{ host, port: smtp.port, secure, requireTLS: !secure && !isLoopback(host) },
    ...(user !== "" && { auth: { user, pass } }),
    ...{ connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS },
  });
  const took = user === "" ? "takes mails" : "takes the user and password";
  try {
    await transport.verify();
    return [{ state: "ok", what, how: `${host} ${took}` }];
  } catch (error) {
    return [{ state: "to do", what, how: `${host}: ${messageOf(error)}` }];
  } finally {
    transport.close();
  }
}

/** Returns the mail server of the config; undefined for none. Rejects for a file that cannot be read. */
async function smtpOf(folder: string, values: Environment) {
  // It takes long to load, and no other command needs it.
  const { parse } = await import("yaml");
  const config = parse(await readFile(join(folder, "production.yaml"), "utf8"), { merge: true });
  const { plugins } = objectOf(config) ?? {};
  const given = arrayOf(plugins).map((one) => objectOf(objectOf(one)?.["messages"])?.["smtp"]);
  const smtp = objectOf(given.find((one) => one !== undefined));
  const value = (name: string) =>
    String(smtp?.[name] ?? "").replace(VARIABLE, (_, plain, file, variable, or) => {
      if (file) return readFileSync(file, "utf8").replace(/\r?\n$/, "");
      return plain ?? (values.get(variable) || or || "");
    });
  const host = value("host");
  if (host === "") return undefined;
  const [port, secure] = [Number(value("port") || 587), value("secure") === "true"];
  return { host, port, secure, user: value("user"), pass: value("password") };
}

/** Compares a file with its copy at the place that its program reads. */
async function checkPlace(from: string, to: string): Promise<Finding[]> {
  const [wanted, found] = await Promise.all(
    [from, to].map((path) => readFile(path, "utf8").catch(() => undefined)),
  );
  if (wanted !== undefined && wanted === found)
    return [{ state: "ok", what: to, how: `as ${from}` }];
  return [{ state: "to do", what: to, how: `sudo install --backup -m 644 ${from} ${to}` }];
}
