import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { packageRoot } from "../../core/process/root.ts";
import { foundOrInstalled } from "./debian-package.ts";
import { freePort } from "./free-port.ts";
import { until } from "./until.ts";
import { Watchdog } from "./watchdog.ts";

const ADVICE =
  "The tests need nginx: install it (Debian: apt install nginx; macOS: brew install nginx).";

/** A real nginx in front of gateways, with the settings of `config/deploy/nginx.conf`. */
export interface Nginx {
  readonly url: string;
  readonly port: number;
  /** Its access log, as `nginx.conf` writes it. */
  readonly accessLog: string;
  /** Its warnings and errors. */
  readonly errorLog: string;
  stop(): Promise<void>;
}

/**
 * Starts nginx on a free port. It ends with the test. `keepaliveSeconds`: how long it keeps idle connections to
 * gateways, if not as shipped.
 */
export async function startNginx(
  gateways: readonly { readonly port: number }[],
  { keepaliveSeconds = 8 } = {},
): Promise<Nginx> {
  const binary = await installedNginx();
  const folder = mkdtempSync(join(tmpdir(), "tollgate-nginx-"));
  const port = await freePort();
  const files = {
    conf: join(folder, "nginx.conf"),
    log: join(folder, "access.log"),
    errors: join(folder, "error.log"),
  };
  writeFileSync(
    files.conf,
    testConf(
      folder,
      port,
      gateways.map(({ port }) => port),
      keepaliveSeconds,
    ),
  );
  const watchdog = new Watchdog(folder);
  const child = spawn(binary, ["-p", folder, "-c", files.conf, "-g", "daemon off;"], {
    stdio: "ignore",
  });
  child.unref();
  watchdog.guard(child);
  const url = `http://127.0.0.1:${port}`;
  const isUp = () =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await Promise.race([until("nginx replies", isUp), ended(child)]);
  return {
    url,
    port,
    get accessLog() {
      return readFileSync(files.log, "utf8");
    },
    get errorLog() {
      return readFileSync(files.errors, "utf8");
    },
    async stop() {
      const gone = once(child, "exit");
      child.ref();
      child.kill("SIGTERM");
      await gone;
      await watchdog.stop();
    },
  };
}

async function ended(child: ChildProcess): Promise<never> {
  const [code] = await once(child, "exit");
  throw new Error(`nginx ended with ${code} before it was ready`);
}

/** The file that is shipped, with other addresses and folders, and without TLS, which a test of raw bytes cannot speak. */
function testConf(
  folder: string,
  port: number,
  gateways: readonly number[],
  keepaliveSeconds: number,
): string {
  const shipped = readFileSync(join(packageRoot, "config", "deploy", "nginx.conf"), "utf8");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `  ${name}_temp_path ${join(folder, name)};\n`,
  );
  const changes: readonly (readonly [RegExp, string])[] = [
    [
      /worker_processes auto;/,
      `worker_processes 1;\n${process.getuid?.() === 0 ? "user root;" : ""}`,
    ],
    [/worker_rlimit_nofile .*/, ""],
    [/worker_connections \d+/, "worker_connections 1000"],
    [/error_log .*/, `error_log ${join(folder, "error.log")} warn;`],
    [/pid .*/, `pid ${join(folder, "pid")};`],
    [/http \{\n/, `http {\n${temporary.join("")}`],
    [/access_log \S+/, `access_log ${join(folder, "access.log")}`],
    [/ {2}server \{\n {4}listen 80;[\s\S]*?\n {2}\}\n/, ""],
    [/listen 443 ssl.*/, `listen 127.0.0.1:${port};`],
    [/listen \[::\]:443 ssl.*/, ""],
    [/keepalive_timeout 8s/, `keepalive_timeout ${keepaliveSeconds}s`],
    [/ssl_certificate .*[\s\S]*?ssl_session_cache .*/, ""],
    [/server gateway-1:8080/, `server 127.0.0.1:${gateways[0]}`],
    [
      / {4}server gateway-2:8080(.*)\n/,
      gateways.length > 1 ? `    server 127.0.0.1:${gateways[1]}$1\n` : "",
    ],
  ];
  return changes.reduce((text, [from, to]) => {
    if (!from.test(text)) throw new Error(`nginx.conf has no ${from}`);
    return text.replace(from, to);
  }, shipped);
}

/** Returns the nginx of this machine, or the one that apt installs. */
export function installedNginx(): Promise<string> {
  return foundOrInstalled(findBinary, "nginx-light", ADVICE);
}

function findBinary(): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];
  return folders.map((folder) => join(folder, "nginx")).find((file) => existsSync(file));
}
