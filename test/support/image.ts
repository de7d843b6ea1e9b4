import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { packageRoot } from "../../core/process/root.ts";
import { debianProgram, debianSystem } from "./debian-system.ts";
import { newerNode } from "./newer-node.ts";

const run = promisify(execFile);
const BYTES_MAX = 64 * 2 ** 20;

/** The base that the Dockerfile names. */
const BASE = "docker.io/library/node:24-trixie-slim";
const AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";

/** Builds images and runs them, without an engine and without a registry of images. */
export class ImageBuilder {
  private readonly folder: string;
  private readonly storage: readonly string[];

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "tollgate-image-"));
    const [root, runs] = [join(this.folder, "root"), join(this.folder, "run")];
    this.storage = ["--root", root, "--runroot", runs, "--storage-driver", "overlay"];
  }

  /** Returns the arguments of a command of buildah, with the images of this builder. */
  command(...args: readonly string[]): string[] {
    return [...this.storage, ...args];
  }

  async buildah(...args: readonly string[]): Promise<string> {
    const options = { maxBuffer: BYTES_MAX, cwd: packageRoot };
    return (await run("buildah", this.command(...args), options)).stdout.trim();
  }

  /** Makes the base of the Dockerfile: Debian, with Node and npm, under its name. */
  async makeBase(): Promise<void> {
    await debianProgram("buildah");
    const system = await debianSystem("trixie", ["ca-certificates"]);
    const npm = (await run("npm", ["root", "--global"])).stdout.trim();

    const container = await this.buildah("from", "scratch");
    const root = await this.buildah("mount", container);
    await run("tar", ["-xf", system, "-C", root, "--exclude=./dev/*"]);
    cpSync(newerNode, join(root, "usr/local/bin/node"));
    mkdirSync(join(root, "usr/local/lib/node_modules"), { recursive: true });
    cpSync(join(npm, "npm"), join(root, "usr/local/lib/node_modules/npm"), { recursive: true });
    const links = ["npm", "npx"].map(
      (name) => `ln -s ../lib/node_modules/npm/bin/${name}-cli.js usr/local/bin/${name}`,
    );
    await run("sh", ["-ec", `cd "$0"; ${links.join("; ")}`, root]);
    // This machine may reach the registry of packages through an authority of its own.
    cpSync(AUTHORITIES, join(root, AUTHORITIES), { dereference: true });
    await run("chroot", [root, "useradd", "--uid", "1000", "--create-home", "node"]);
    await this.buildah("umount", container);
    const variables = [
      `NODE_EXTRA_CA_CERTS=${AUTHORITIES}`,
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ];
    const env = variables.flatMap((variable) => ["--env", variable]);
    await this.buildah("config", ...env, container);
    await this.buildah("commit", "--quiet", container, BASE);
    await this.buildah("rm", container);
  }

  /** Builds the shipped Dockerfile, with the files that its .dockerignore allows. */
  async build(tag: string): Promise<void> {
    const dockerfile = join(packageRoot, "config", "deploy", "Dockerfile");
    await this.buildah(
      ...["build", "--isolation", "chroot", "--ulimit", "nofile=1024:1024", "--network", "host"],
      ...["--pull-never", "--format", "docker", "--quiet", "--file", dockerfile],
      ...["--ignorefile", `${dockerfile}.dockerignore`, "--tag", tag, packageRoot],
    );
  }

  /** Deletes the images and the containers. */
  async close(): Promise<void> {
    await this.buildah("rm", "--all");
    await this.buildah("rmi", "--all", "--force");
    await run("rm", ["-rf", this.folder]);
  }
}
