import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { parse } from "yaml";
import { NEWER } from "../../core/listener/native-build.ts";
import { objectOf } from "../../core/process/json.ts";
import { packageRoot } from "../../core/process/root.ts";

const read = (...path: string[]) => readFileSync(join(packageRoot, ...path), "utf8");

/** Licences that let an operator run, change and pass on the whole, and ask for no more than their own text. */
const ALLOWED = [
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "MIT-0",
  "PSF-2.0",
  "Unlicense",
];

interface Shipped {
  /** Path below the project's folder. */
  readonly folder: string;
  readonly licence: unknown;
}

/** The packages that `npm ci --omit=dev` installs on some machine. */
function shippedPackages(): Shipped[] {
  const { packages } = JSON.parse(read("package-lock.json"));
  return Object.entries(packages)
    .map(([folder, one]) => ({ folder, entry: objectOf(one) }))
    .filter(({ folder, entry }) => folder !== "" && entry?.["dev"] !== true)
    .map(({ folder, entry }) => ({ folder, licence: entry?.["license"] }));
}

t.test("every shipped package has a licence that allows it to be shipped", async (t) => {
  const shipped = shippedPackages();
  t.ok(shipped.length > 100);
  const refused = shipped.filter(({ licence }) => !ALLOWED.includes(String(licence)));
  t.strictSame(refused, []);
  // The lock file repeats what the registry says: compare it with the package itself.
  const other = shipped
    .filter(({ folder }) => existsSync(join(packageRoot, folder)))
    .filter(({ folder, licence }) => JSON.parse(read(folder, "package.json")).license !== licence);
  t.strictSame(other, []);
});

t.test("both shipped configs read the file of costs beside them", async (t) => {
  for (const file of ["gateway.yaml", "production.yaml"]) {
    const { plugins } = parse(read("config", file), { merge: true });
    t.ok(
      plugins.some(
        (one: unknown) => objectOf(objectOf(one)?.["report"])?.["costs"] === "costs.yaml",
      ),
      file,
    );
  }
});

t.test("the version of the package is the newest of CHANGELOG and that of the image", async (t) => {
  const { version } = JSON.parse(read("package.json"));
  t.equal(/^## (\S+)/m.exec(read("CHANGELOG.md"))?.[1], version);
  t.equal(/image\.version="([^"]*)"/.exec(read("config/deploy/Dockerfile"))?.[1], version);
});

t.test("every way to start a gateway gives V8 the same options", async (t) => {
  const ways = [
    "package.json",
    "core/main.ts",
    "config/deploy/Dockerfile",
    "config/deploy/tollgate@.service",
  ];
  const [first, ...others] = ways.map((file) => {
    const line = /^.*--single-threaded-gc.*$/m.exec(read(file))?.[0] ?? "";
    return line.match(/--(?:no-allocation|single-threaded|max-semi)[\w-]*(?:=\d+)?/g);
  });
  t.equal(first?.length, 3);
  for (const other of others) t.strictSame(other, first);
});

t.test("systemd starts a gateway again however often its start has failed", async (t) => {
  const [unit] = read("config/deploy/tollgate@.service").split("\n[Service]\n");
  t.match(unit, /^StartLimitIntervalSec=0$/m);
});

t.test("an install ends on a Node that is too old for the gateway", async (t) => {
  const { scripts, engines } = JSON.parse(read("package.json"));
  const [check = ""] = scripts.prepare.split(" && tsc");
  // Node has it since the oldest version of each line that the gateway runs on.
  // npm's own Node, and not the newer one that is among the packages of the tests.
  const npm = { ...process.env, npm_node_execpath: process.execPath };
  const env = { ...npm, NODE_OPTIONS: "--no-experimental-require-module" };
  const refused = spawnSync("sh", ["-c", check], { cwd: packageRoot, encoding: "utf8", env });
  t.equal(refused.status, 1);
  t.equal(refused.stderr, `Tollgate needs Node ${engines.node}, and this is ${process.version}\n`);
  t.equal(spawnSync("sh", ["-c", check], { cwd: packageRoot, env: npm }).status, 0);
});

t.test("the probe of the image is of the port that the gateway listens on", async (t) => {
  t.match(read("config/deploy/Dockerfile"), "(process.env.LISTEN_PORT||8080)+'/healthz'");
});

t.test("NOTICE names what packages and files contain under a licence of its own", async (t) => {
  const notice = read("NOTICE");
  const fonts = "plugins/page-parts/public/fonts/LICENSE";
  t.match(read(fonts), "SIL Open Font License, Version 1.1");
  for (const named of ["uWebSockets.js", "PostgreSQL", "OpenSSL", "ICU", "Manrope", fonts]) {
    t.match(notice, named);
  }
});

t.test("the native listener is the one that was reviewed", async (t) => {
  const folder = "uWebSockets.js/dist/bin";
  // As `sha256sum` prints them.
  const installed = readdirSync(join(packageRoot, "node_modules", folder))
    .sort()
    .map((name) => {
      const file = join(packageRoot, "node_modules", folder, name);
      const sum = createHash("sha256").update(readFileSync(file));
      return `${sum.digest("hex")}  ${folder}/${name}`;
    });
  const known = read("test", "deploy", "native-listener.sha256").trim().split("\n");
  t.ok(installed.length > 20);
  t.strictSame(
    installed,
    known.filter((line) => line.includes(folder)),
  );
});

t.test("the package of the native listener for Node 24 is the same one everywhere", async (t) => {
  const advised = `${NEWER.name}@${NEWER.version}`;
  for (const file of [
    "config/deploy/Dockerfile",
    "config/operating/install.md",
    "core/README.md",
  ]) {
    const named = read(file).match(/@btc-vision\/uwebsockets\.js@[\d.]*\d/g);
    t.strictSame(new Set(named), new Set([advised]), file);
  }
});
