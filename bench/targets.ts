import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Child, type Children, untilReady } from "./children.ts";
import { freePort } from "./free-port.ts";

/** A server that takes calls: the upstream itself, or a proxy in front of it. */
export interface Target {
  readonly name: string;
  readonly port: number;
  /** The process whose processor time is measured. */
  readonly pid: number;
  /** Headers that authenticate its calls. */
  readonly headers: Readonly<Record<string, string>>;
  end(): Promise<void>;
}

/** The core of the proxy under test. Load generator and upstream share the other one. */
export const PROXY_CORE = 0;
export const LOAD_CORE = 1;

/** The compiled folder, `dist`. */
export const built = fileURLToPath(new URL("..", import.meta.url));

/** Returns the command that runs a Node program of this folder. */
export function script(
  name: string,
  ...args: (string | number)[]
): { command: string; args: string[] } {
  return { command: process.execPath, args: [join(built, "bench", name), ...args.map(String)] };
}

/** Starts the simulated provider in its own process. */
export async function startUpstream(children: Children): Promise<Target> {
  const port = await freePort();
  // Lenient: the load is valid, and checking it would take time of the core that makes the load.
  const { command, args } = script("../test/support/provider/main.js", "--port", port, "--lenient");
  const child = children.start("upstream", { command, args, core: LOAD_CORE });
  return whenListening("upstream", child, port);
}

/** Starts the bare proxy, the baseline of every comparison. */
export function startBareProxy(children: Children, upstreamPort: number): Promise<Target> {
  return startProxy(children, "bare-proxy.js", upstreamPort);
}

/** Starts the proxy that looks at nothing, the floor for the cost of a body. */
export function startRelay(children: Children, upstreamPort: number): Promise<Target> {
  return startProxy(children, "relay.js", upstreamPort);
}

async function startProxy(children: Children, file: string, upstreamPort: number): Promise<Target> {
  const port = await freePort();
  const program = script(file, port, upstreamPort);
  const child = children.start(file, { ...program, core: PROXY_CORE });
  return whenListening(file, child, port);
}

/**
 * Starts nginx as a plain proxy, as the current user. Returns undefined if nginx is not installed.
 */
export async function startNginx(
  children: Children,
  upstreamPort: number,
): Promise<Target | undefined> {
  const port = await freePort();
  const folder = children.folder("nginx");
  const file = join(folder, "nginx.conf");
  writeFileSync(file, nginxConfig(folder, port, upstreamPort));
  const args = ["-c", file, "-p", folder, "-e", join(folder, "error.log")];
  const child = children.start("nginx", { command: "nginx", args, core: PROXY_CORE });
  try {
    return await whenListening("nginx", child, port);
  } catch {
    return undefined;
  }
}

async function whenListening(name: string, child: Child, port: number): Promise<Target> {
  await untilReady(name, child, () => accepts(port));
  return { name, port, pid: child.pid, headers: AUTHORIZATION, end: () => child.end() };
}

const AUTHORIZATION = { authorization: "Bearer bench" };

export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

function nginxConfig(folder: string, port: number, upstreamPort: number): string {
  // One process without a master, so that one process id has all of its time.
  return `daemon off;
master_process off;
worker_rlimit_nofile 65536;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log crit;
events { worker_connections 32768; }
http {
  access_log off;
  keepalive_requests 100000000;
  keepalive_timeout 600s;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  client_body_buffer_size 64k;
  upstream provider {
    server 127.0.0.1:${upstreamPort};
    keepalive 4096;
    keepalive_requests 100000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header connection "";
      proxy_buffering off;
      proxy_read_timeout 900s;
    }
  }
}
`;
}
