import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { copyFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import connectTo from "postgres";
import t from "tap";
import { parse } from "yaml";
import { NEWER } from "../../core/listener/native-build.ts";
import { packageRoot } from "../../core/process/root.ts";
import { readVariables } from "../../plugins/admin/cli/env-file.ts";
import { ask, bodyOf } from "../support/ask.ts";
import { noSystems } from "../support/debian-system.ts";
import { freePort } from "../support/free-port.ts";
import { ImageBuilder } from "../support/image.ts";
import { startNginx } from "../support/nginx.ts";
import { startPostgresServer } from "../support/postgres-server.ts";
import { startTestSimulator } from "../support/simulator.ts";
import { until } from "../support/until.ts";
import { Watchdog } from "../support/watchdog.ts";

const DEPLOY = join(packageRoot, "config", "deploy");
const compose = parse(readFileSync(join(DEPLOY, "compose.yaml"), "utf8"), { merge: true });
/** Beside the base of Debian and Node. */
const IMAGE_BYTES_MAX = 150e6;
/** The user `node` of the image. */
const NODE_UID = 1000;

/** The services of compose.yaml, run as it says, but each at a port of 127.0.0.1 instead of a machine of its own. */
t.test("the image and compose.yaml", { skip: noSystems() ?? false }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-compose-"));
  chmodSync(folder, 0o755);
  const builder = new ImageBuilder();
  const running = new Set<Container>();
  const [postgres, simulator, redisPort] = await Promise.all([
    startPostgresServer(),
    startTestSimulator(),
    freePort(),
  ]);
  const watchdog = new Watchdog(folder);
  t.teardown(async () => {
    await Promise.all([...running].map((container) => container.kill()));
    await builder.close();
    await Promise.all([postgres.stop(), simulator.stop(), watchdog.stop()]);
    await rm(folder, { recursive: true, force: true });
  });

  // The one file that compose.yaml needs, as its first lines make it.
  const made = execFileSync("sh", [join(DEPLOY, "compose-env.sh")], { encoding: "utf8" });
  const given = {
    PUBLIC_URL: "https://api.example.com",
    ANTHROPIC_API_KEY: "provider-key",
    SMTP_HOST: "127.0.0.1",
    SMTP_USER: "u",
    SMTP_PASSWORD: "p",
    MAIL_FROM: "no-reply@example.com",
    TOPUP_BANK_BIN: "970422",
    TOPUP_BANK_NAME: "MB Bank",
    TOPUP_ACCOUNT_NUMBER: "0011001932418",
    TOPUP_ACCOUNT_NAME: "NGUYEN VAN A",
  };
  const env = new Map([...readVariables(made), ...Object.entries(given)]);
  const filled = (text: string) =>
    text
      .replaceAll(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, name) => env.get(name) ?? `no ${name}`)
      .replaceAll("$$", "$");

  /** A container of a gateway. The network is this machine's, so each has ports of its own. */
  class Container {
    output = "";
    private child: ChildProcess | undefined;

    constructor(
      readonly service: string,
      readonly id: string,
      readonly port: number,
      readonly adminPort: number,
      readonly own: string,
    ) {}

    static async of(service: string, image: string): Promise<Container> {
      const id = await builder.buildah("from", "--pull-never", image);
      const own = join(folder, "own");
      return new Container(service, id, await freePort(), await freePort(), own);
    }

    get volume(): string {
      return join(folder, this.service);
    }

    private args(command: readonly string[]): string[] {
      const { environment } = compose.services[this.service];
      const own = Object.entries<string>(environment).map(([name, text]) => [
        name,
        filled(text)
          .replace("@postgres:5432", `@127.0.0.1:${postgres.port}`)
          .replace("@redis:6379", `@127.0.0.1:${redisPort}`)
          .replace(":8081", `:${this.adminPort}`),
      ]);
      const ports = { LISTEN_PORT: this.port, ADMIN_LISTEN_PORT: this.adminPort };
      const variables = [...env, ...own, ...Object.entries(ports)];
      return builder.command(
        ...["run", "--isolation", "chroot", "--user", "node"],
        ...variables.flatMap(([name, value]) => ["--env", `${name}=${value}`]),
        ...["--volume", `${this.volume}:/app/data`],
        ...["--volume", `${this.own}:/etc/tollgate:ro`],
        ...[this.id, "--", ...command],
      );
    }

    async start(command: readonly string[]): Promise<void> {
      const child = spawn("buildah", this.args(command), { stdio: ["ignore", "pipe", "pipe"] });
      running.add(this);
      this.child = child;
      const keep = (text: Buffer) => {
        this.output += text;
      };
      child.stdout.on("data", keep);
      child.stderr.on("data", keep);
      await until(`${this.service} is ready`, async () => {
        if (child.exitCode !== null) throw new Error(this.output);
        return fetch(`http://127.0.0.1:${this.adminPort}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        );
      });
    }

    /** Runs an admin command as the page says: docker compose exec gateway-1 node dist/plugins/admin/cli.js … */
    admin(...words: readonly string[]) {
      const args = this.args(["node", "dist/plugins/admin/cli.js", ...words, "--json"]);
      return JSON.parse(execFileSync("buildah", args, { encoding: "utf8" }));
    }

    /** The gateway's own process: buildah passes no signals on. */
    get pid(): number {
      const byAge = readdirSync("/proc").sort((a, b) => Number(a) - Number(b));
      const found = byAge.find((pid) => {
        try {
          const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
          const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
          const isNode = args[0]?.endsWith("node") && args.includes("dist/core/main.js");
          return isNode && environment.includes(`LISTEN_PORT=${this.port}\0`);
        } catch {
          return false;
        }
      });
      if (found === undefined) throw new Error(`no process of ${this.service}: ${this.output}`);
      return Number(found);
    }

    async stop(): Promise<number | null> {
      if (!this.child) return null;
      const gone = once(this.child, "exit");
      process.kill(this.pid, "SIGTERM");
      const [code] = await gone;
      running.delete(this);
      return code;
    }

    async kill(): Promise<void> {
      if (!this.child || this.child.exitCode !== null) return;
      const gone = once(this.child, "exit");
      process.kill(this.pid, "SIGKILL");
      await gone;
    }
  }

  await builder.makeBase();
  const sinceBuild = performance.now();
  await builder.build("tollgate");
  t.comment(`built in ${Math.round((performance.now() - sinceBuild) / 1000)} s`);
  const { Docker } = JSON.parse(await builder.buildah("inspect", "--type", "image", "tollgate"));
  const { config } = Docker;
  const started = [...config.Entrypoint, ...compose["x-gateway"].command];

  t.test("the image says what it is, and runs as a user without rights", async (t) => {
    const { version, license } = JSON.parse(
      readFileSync(join(packageRoot, "package.json"), "utf8"),
    );
    t.match(config.Labels, {
      "org.opencontainers.image.title": "Tollgate",
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.licenses": license,
    });
    t.match(config, { User: "node", StopSignal: "SIGTERM", Volumes: { "/app/data": {} } });
    t.match(config.Healthcheck.Test.join(" "), "/healthz");
    const id = await builder.buildah("from", "--pull-never", "tollgate");
    const root = await builder.buildah("mount", id);
    const sum = execFileSync("du", ["-sb", join(root, "app")], { encoding: "utf8" });
    const bytes = Number.parseInt(sum, 10);
    t.comment(`${Math.round(bytes / 1e6)} MB beside the base`);
    t.ok(bytes < IMAGE_BYTES_MAX, `${bytes} bytes`);
    for (const name of ["LICENSE", "NOTICE", "config/production.yaml"]) {
      t.ok(readFileSync(join(root, "app", name)).length > 0, name);
    }
    const others = execFileSync("find", [join(root, "app"), "!", "-user", "0"], {
      encoding: "utf8",
    });
    t.equal(others.trim(), join(root, "app", "data"), "its user can change no other file");
    await builder.buildah("rm", id);
  });

  t.test("two gateways serve behind nginx, from one .env, and one is upgraded", async (t) => {
    const since = performance.now();
    const at = () => `${((performance.now() - since) / 1000).toFixed(1)} s`;
    // Redis by the command of compose.yaml.
    const { command, environment } = compose.services.redis;
    const [shell, , script] = command;
    const here = filled(script)
      .replace("/etc/redis/redis.conf", join(DEPLOY, "redis.conf"))
      .replace("--dir /data", `--dir ${folder} --port ${redisPort}`)
      .replace("'*'", "127.0.0.1");
    const redis = spawn(shell, ["-c", here], {
      env: { ...process.env, REDIS_PASSWORD: filled(environment.REDIS_PASSWORD) },
      stdio: "ignore",
    });
    watchdog.guard(redis);
    t.teardown(async () => {
      const gone = once(redis, "exit");
      redis.kill("SIGTERM");
      await gone;
    });
    // Postgres as its image makes it: the role owns the database.
    const { POSTGRES_USER: role, POSTGRES_DB: database } = compose.services.postgres.environment;
    const password = filled(compose.services.postgres.environment.POSTGRES_PASSWORD);
    const sql = connectTo(postgres.url);
    await sql.unsafe(`create role ${role} login password '${password}'`);
    await sql.unsafe(`create database ${database} owner ${role}`);
    await sql.end();
    // The simulated provider instead of Anthropic.
    const shipped = readFileSync(join(packageRoot, "config", "production.yaml"), "utf8");
    const changed = shipped.replace("https://api.anthropic.com", simulator.url);
    t.not(changed, shipped);
    mkdirSync(join(folder, "own"));
    await writeFile(join(folder, "own", "production.yaml"), changed);
    for (const file of ["catalogue.yaml", "costs.yaml"]) {
      await copyFile(join(packageRoot, "config", file), join(folder, "own", file));
    }
    for (const service of ["gateway-1", "gateway-2"]) {
      mkdirSync(join(folder, service), { mode: 0o700 });
      chownSync(join(folder, service), NODE_UID, NODE_UID);
    }
    t.comment(`stores after ${at()}`);

    const [one, two] = [
      await Container.of("gateway-1", "tollgate"),
      await Container.of("gateway-2", "tollgate"),
    ];
    await Promise.all([one, two].map((container) => container.start(started)));
    t.comment(`two gateways after ${at()}`);
    const native = `"listener":"native (${NEWER.name} ${NEWER.version})"`;
    await until("its log says that the native listener serves", () => one.output.includes(native));
    one.admin("account", "create", "--email", "first@example.com");
    const email = ["--account", "first@example.com"];
    const { key } = one.admin("key", "create", ...email, "--name", "first");
    one.admin("credit", ...email, "--amount-vnd", "100000", "--reference", "first");
    const nginx = await startNginx([one, two]);
    t.teardown(() => nginx.stop());
    const call = async () => {
      const body = bodyOf("/v1/messages", {}, { model: "claude-haiku-5-5" });
      const response = await ask(nginx.url, key, "/v1/messages", body);
      return [response.status, await response.text()] as const;
    };
    const [status, text] = await call();
    t.equal(status, 200, text);
    t.comment(`first call after ${at()}`);

    // The next container has the volume of the one before; test/chaos has upgrades to another version.
    t.equal(await one.stop(), 0, one.service);
    // Nothing was written outside of the volume, as compose.yaml mounts the rest read-only.
    const upper = join(await builder.buildah("mount", one.id), "..", "diff");
    const written = execFileSync("find", [upper, "-type", "f"], { encoding: "utf8" });
    t.strictSame(
      written.split("\n").filter((file) => file !== "" && !/\/(?:etc|run)\//.test(file)),
      [],
    );
    const next = await Container.of(one.service, "tollgate");
    Object.assign(next, { port: one.port, adminPort: one.adminPort });
    await next.start(started);
    t.equal((await call())[0], 200);
    const [now] = [...running];
    await until("the calls are committed", () => {
      const wallet = now?.admin("wallet", ...email);
      return wallet.held_vnd === "0" && wallet.pending_vnd === "0";
    });
    t.equal(now?.admin("reconcile").drift, false);
    for (const container of [...running]) t.equal(await container.stop(), 0);
  });
});
