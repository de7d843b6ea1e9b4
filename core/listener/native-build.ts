import { existsSync, readFileSync } from "node:fs";
import { objectOf } from "../process/json.ts";
import { codeOf, messageOf } from "../process/thrown.ts";

/** Has builds for Node 20 and 22, unless an operator replaced it. It is tried first. */
const OLDER = "uWebSockets.js";
const OLDER_ABIS = ["115", "127"];
/** Has builds for Node 24 and 25. `npm ci` leaves it out: 113 MB, useless to other versions and on Debian 12. */
export const NEWER = { name: "@btc-vision/uwebsockets.js", version: "20.57.0" };
const NEWER_ABIS = ["137", "141"];
const NEWER_GLIBC = "2.38";

interface NativeBuild {
  readonly uws: typeof import("uWebSockets.js");
  /** The package that it is from, and its version. */
  readonly name: string;
}

/** Loads uWebSockets.js. Rejects with an error that says why it cannot, and what to do. */
export function loadNative(): Promise<NativeBuild> {
  return load(OLDER).catch((olderFault) =>
    load(NEWER.name).catch((newerFault) => {
      const hasNewer = codeOf(newerFault) !== "ERR_MODULE_NOT_FOUND";
      const reason = reasonOf(hasNewer ? newerFault : olderFault);
      throw new Error(whyNotNative(thisSystem(), reason, hasNewer));
    }),
  );
}

async function load(name: string): Promise<NativeBuild> {
  const uws = await import(name);
  return { uws, name: packageOf(import.meta.resolve(name)) };
}

/** Returns the name and the version of the package that a module is part of. */
function packageOf(moduleUrl: string): string {
  let manifest = new URL("package.json", moduleUrl);
  while (!existsSync(manifest)) manifest = new URL("../package.json", manifest);
  const { name, version } = JSON.parse(readFileSync(manifest, "utf8"));
  return `${name} ${version}`;
}

/** Returns the line of the system or of Node, which the package puts behind its own. */
function reasonOf(fault: unknown): string {
  const message = messageOf(fault);
  return /^Error: (.*)$/m.exec(message)?.[1] ?? message;
}

interface NativeSystem {
  /** Such as `v24.21.0`. */
  readonly node: string;
  /** Version of this Node's binary interface, which a build is for. */
  readonly abi: string;
  /** Version of the C library; undefined if it is another one. */
  readonly glibc: string | undefined;
  readonly platform: string;
}

function thisSystem(): NativeSystem {
  const report = objectOf(process.report.getReport());
  const glibc = objectOf(report?.["header"])?.["glibcVersionRuntime"];
  const { version: node, versions, platform } = process;
  return {
    node,
    abi: versions.modules,
    glibc: typeof glibc === "string" ? glibc : undefined,
    platform,
  };
}

/**
 * Returns why uWebSockets.js cannot be loaded, and what to do. `reason`: the loader's. `hasNewer`: the package for Node 24
 * is installed.
 */
export function whyNotNative(
  { node, abi, glibc, platform }: NativeSystem,
  reason: string,
  hasNewer: boolean,
): string {
  if (platform === "linux" && glibc === undefined) {
    return "uWebSockets.js needs glibc, which Debian has and Alpine lacks";
  }
  const isNewer = NEWER_ABIS.includes(abi);
  if (!isNewer && !OLDER_ABIS.includes(abi)) {
    return `npm has no build of uWebSockets.js for Node ${node}; run Node 22 or 24`;
  }
  const glibcOrder = glibc?.localeCompare(NEWER_GLIBC, "en", { numeric: true }) ?? 0;
  if (isNewer && glibcOrder < 0) {
    return (
      `the build of uWebSockets.js for Node ${node} needs glibc ${NEWER_GLIBC}, and this system has ${glibc}; ` +
      "run Node 22, such as with `npx -p node@22 npm start`, or Debian 13"
    );
  }
  if (isNewer && !hasNewer) {
    const install = `npm install --no-save ${NEWER.name}@${NEWER.version}`;
    return `Node ${node} needs another build of uWebSockets.js; run \`${install}\`, on a server with --omit=dev`;
  }
  return `uWebSockets.js cannot be loaded by Node ${node} (${reason})`;
}
