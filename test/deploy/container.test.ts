import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { parse } from "yaml";
import { arrayOf, isObject, objectOf } from "../../core/process/json.ts";
import { packageRoot } from "../../core/process/root.ts";
import { restartCommands } from "../../plugins/servers/handbook.ts";
import { block } from "./machine/machine.ts";

const read = (...path: string[]) => readFileSync(join(packageRoot, "config", ...path), "utf8");
const page = read("operating", "container.md");
const compose = parse(read("deploy", "compose.yaml"), { merge: true });
const services = Object.entries<Record<string, unknown>>(compose.services);
const mounts = (service: string) => arrayOf(compose.services[service].volumes).map(String);

/** A folder with programs that only write their words into `log`, and a shell that finds them first. */
function stage(t: Test, programs: Readonly<Record<string, string>>) {
  const folder = t.testdir({ bin: {}, tls: {}, log: "" });
  for (const [name, text] of Object.entries(programs)) {
    const file = join(folder, "bin", name);
    writeFileSync(file, `#!/bin/sh\necho ${name} "$@" >> '${folder}/log'\n${text}\n`);
    chmodSync(file, 0o755);
  }
  const env = { PATH: `${join(folder, "bin")}:${process.env["PATH"]}` };
  return {
    folder,
    file: (name: string) => readFileSync(join(folder, name), "utf8"),
    /** Runs lines as an operator pastes them: one that fails does not end the shell. */
    paste: (lines: string) => spawnSync("bash", ["-c", lines], { cwd: folder, env }),
  };
}

t.test("the page has the commands that restart the gateways, and no others", async (t) => {
  t.match(page, await restartCommands("docker"));
  // It keeps the variables of before.
  t.notMatch(page, "compose restart");
  // Docker takes a container that got any signal by it for stopped by hand, and starts it no more (moby/moby#41302).
  t.notMatch(page, /docker (?:compose )?kill/);
});

t.test(
  "the gateways restart in turn, each read by nginx, until one does not get ready",
  async (t) => {
    const { file, folder, paste } = stage(t, { docker: "" });
    const commands = await restartCommands("docker");
    paste(commands);
    const up = "docker compose up --detach --no-deps --force-recreate --wait";
    const nginx = "docker compose exec -T nginx nginx -s reload";
    t.equal(file("log"), `${up} gateway-1\n${nginx}\n${up} gateway-2\n${nginx}\n`);
    writeFileSync(join(folder, "log"), "");
    writeFileSync(join(folder, "bin", "docker"), "#!/bin/sh\nexit 1\n");
    paste(commands.replace("docker compose exec", "echo more >> log; docker compose exec"));
    t.equal(file("log"), "");
  },
);

t.test("secrets change in .env, and in the store first", async (t) => {
  const env = "GATEWAY_ADMIN_TOKEN=old\nPOSTGRES_PASSWORD=old\nREDIS_PASSWORD=old\n";
  for (const [name, variable, store] of [
    ["token", "GATEWAY_ADMIN_TOKEN", ""],
    ["postgres", "POSTGRES_PASSWORD", "alter role tollgate password"],
    ["redis", "REDIS_PASSWORD", "config set requirepass"],
  ] as const) {
    const { file, folder, paste } = stage(t, { docker: "" });
    writeFileSync(join(folder, ".env"), env);
    paste(block("container.md", name));
    const value = new RegExp(`^${variable}=([0-9a-f]{48})$`, "m").exec(file(".env"))?.[1] ?? "";
    t.equal(file(".env"), env.replace(`${variable}=old`, `${variable}=${value}`), name);
    if (store === "") continue;
    t.match(file("log"), store);
    t.match(file("log"), value);
    writeFileSync(join(folder, ".env"), env);
    writeFileSync(join(folder, "bin", "docker"), "#!/bin/sh\nexit 1\n");
    paste(block("container.md", name));
    t.equal(file(".env"), env, `${name}: the store refused`);
  }
});

t.test(
  "certbot puts its file where nginx looks, and nginx reads each new certificate",
  async (t) => {
    // As certbot: the first word of a hook must be a program, and the hook runs in a shell, elsewhere.
    const certbot = `while [ "$1" != --deploy-hook ]; do shift; done
    env which "\${2%% *}" || exit 1
    export RENEWED_LINEAGE="$PWD/live"; cd / && exec sh -c "$2"`;
    const { file, folder, paste } = stage(t, { certbot, docker: "" });
    writeFileSync(join(folder, ".env"), "PUBLIC_URL=https://api.example.com\n");
    mkdirSync(join(folder, "live"));
    writeFileSync(join(folder, "live", "privkey.pem"), "new key");
    writeFileSync(join(folder, "live", "fullchain.pem"), "new");
    paste(block("container.md", "certificate"));
    t.match(file("log"), `-w ${folder}/webroot `);
    t.match(file("log"), "--domain api.example.com ");
    t.match(
      file("log"),
      `docker compose --file ${folder}/compose.yaml exec -T nginx nginx -s reload`,
    );
    t.strictSame([file("tls/privkey.pem"), file("tls/fullchain.pem")], ["new key", "new"]);
    const roots = read("deploy", "nginx.conf").matchAll(/\broot (\/[^;]+);/g);
    const inside = mounts("nginx").map((mount) => mount.split(":")[1]);
    const wanted = Array.from(roots, ([, root]) => root);
    t.strictSame(wanted, ["/var/www/html"]);
    t.strictSame(
      wanted.filter((root) => !inside.includes(root)),
      [],
    );
    t.ok(mounts("nginx").includes("./webroot:/var/www/html:ro"));
  },
);

t.test("the gateways read a folder of the operator's, which an editor can change", async (t) => {
  const folder = t.testdir({ deploy: {} });
  for (const file of ["production.yaml", "catalogue.yaml", "costs.yaml", "production.env.example"])
    writeFileSync(join(folder, file), read(file));
  writeFileSync(join(folder, "deploy", "compose-env.sh"), read("deploy", "compose-env.sh"));
  const cwd = join(folder, "deploy");
  const { status } = spawnSync("bash", ["-ec", block("container.md", "env")], { cwd });
  t.equal(status, 0);
  for (const name of ["gateway-1", "gateway-2"]) {
    const [option, config = ""] = compose.services[name].command;
    t.equal(option, "--config");
    const [own = ""] = mounts(name).filter((mount) => mount.endsWith(":/etc/tollgate:ro"));
    t.equal(config.replace("/etc/tollgate/", own.replace(/:.*/, "/")), "./own/production.yaml");
    t.equal(readFileSync(join(cwd, "own", "production.yaml"), "utf8"), read("production.yaml"));
  }
  t.match(readFileSync(join(cwd, "tls", "privkey.pem"), "utf8"), "PRIVATE KEY");
});

t.test("no log of a container grows without a bound", async (t) => {
  for (const [name, { logging }] of services) {
    t.match(
      logging,
      { driver: "json-file", options: { "max-size": /^\d+m$/, "max-file": /^\d+$/ } },
      name,
    );
  }
});

t.test("customers reach nginx alone, by IPv6 too, and nginx the gateways by IPv4", async (t) => {
  const networks = objectOf(compose.networks) ?? {};
  const published = services.filter(([, service]) => service["ports"] !== undefined);
  t.strictSame(
    published.map(([name]) => name),
    ["nginx"],
  );
  const isIn = (network: string) =>
    services
      .filter(([, { networks: own }]) => arrayOf(own).includes(network))
      .map(([name]) => name);
  const isOpen = (name: unknown) => objectOf(networks[String(name)])?.["internal"] !== true;
  // Docker publishes ports by the one network that is not internal.
  const open = arrayOf(compose.services.nginx.networks).filter(isOpen);
  t.strictSame(open, ["edge"]);
  t.match(networks["edge"], { enable_ipv6: true });
  t.strictSame(isIn("edge"), ["nginx"]);
  t.strictSame(isIn("front"), ["gateway-1", "gateway-2", "nginx"]);
  for (const [name, network] of Object.entries(networks).filter(([, one]) => isObject(one))) {
    if (name !== "edge") t.notMatch(network, { enable_ipv6: true }, name);
  }
});
