import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { freePort } from "../test/support/free-port.ts";
import type { Children } from "./children.ts";
import { PROXY_CORE, type Target, whenListening } from "./targets.ts";

/** Starts a proxy by others in front of the upstream. Returns undefined if it is not installed. */
type StartPeer = (children: Children, upstreamPort: number) => Promise<Target | undefined>;

const PEERS: readonly (readonly [name: string, install: string, start: StartPeer])[] = [
  ["nginx", "apt install nginx", startNginx],
  ["HAProxy", "apt install haproxy", startHaproxy],
  ["Portkey", "npm install --no-save @portkey-ai/gateway", startPortkey],
];

/** Starts every proxy by others that is installed, and says how to install the rest. */
export async function startPeers(children: Children, upstreamPort: number): Promise<Target[]> {
  const started: Target[] = [];
  for (const [name, install, start] of PEERS) {
    const target = await start(children, upstreamPort);
    if (target) started.push(target);
    else console.log(`Without ${name}, which is not installed: ${install}`);
  }
  return started;
}

/** Starts nginx as a plain proxy, as the current user, if it is installed. */
export async function startNginx(
  children: Children,
  upstreamPort: number,
): Promise<Target | undefined> {
  if (!isInstalled("nginx")) return undefined;
  const port = await freePort();
  const folder = children.folder("nginx");
  const file = join(folder, "nginx.conf");
  writeFileSync(file, nginxConfig(folder, port, upstreamPort));
  const args = ["-c", file, "-p", folder, "-e", join(folder, "error.log")];
  const child = children.start("nginx", { command: "nginx", args, core: PROXY_CORE });
  return whenListening("nginx", child, port);
}

async function startHaproxy(children: Children, upstreamPort: number): Promise<Target | undefined> {
  if (!isInstalled("haproxy")) return undefined;
  const port = await freePort();
  const file = join(children.folder("haproxy"), "haproxy.cfg");
  writeFileSync(file, haproxyConfig(port, upstreamPort));
  const options = { command: "haproxy", args: ["-db", "-f", file], core: PROXY_CORE };
  return whenListening("HAProxy", children.start("haproxy", options), port);
}

async function startPortkey(children: Children, upstreamPort: number): Promise<Target | undefined> {
  const program = resolved("@portkey-ai/gateway/build/start-server.js");
  if (program === undefined) return undefined;
  const port = await freePort();
  const child = children.start("portkey", {
    command: process.execPath,
    args: [program, `--port=${port}`, "--headless"],
    core: PROXY_CORE,
    env: { NODE_ENV: "production" },
  });
  const target = await whenListening("Portkey", child, port);
  const to = `http://127.0.0.1:${upstreamPort}/v1`;
  const headers = { "x-portkey-provider": "openai", "x-portkey-custom-host": to };
  return { ...target, headers: { ...target.headers, ...headers } };
}

function isInstalled(command: string): boolean {
  return spawnSync(command, ["-v"]).error === undefined;
}

function resolved(file: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(file);
  } catch {
    return undefined;
  }
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

function haproxyConfig(port: number, upstreamPort: number): string {
  return `global
  nbthread 1
defaults
  mode http
  http-reuse always
  timeout connect 5s
  timeout client 900s
  timeout server 900s
frontend client
  bind 127.0.0.1:${port} backlog 4096
  default_backend provider
backend provider
  server provider 127.0.0.1:${upstreamPort}
`;
}
