import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../test/support/free-port.ts";
import { type Child, type Children, untilReady } from "./children.ts";

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
  return startProxy(children, "bare proxy", "bare-proxy.js", upstreamPort);
}

/** Starts the proxy that looks at nothing, the floor for the cost of a body. */
export function startRelay(children: Children, upstreamPort: number): Promise<Target> {
  return startProxy(children, "relay", "relay.js", upstreamPort);
}

async function startProxy(
  children: Children,
  name: string,
  file: string,
  upstreamPort: number,
): Promise<Target> {
  const port = await freePort();
  const program = script(file, port, upstreamPort);
  const child = children.start(name, { ...program, core: PROXY_CORE });
  return whenListening(name, child, port);
}

/** Resolves once a program accepts connections at its port. */
export async function whenListening(name: string, child: Child, port: number): Promise<Target> {
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
