import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { foundOrInstalled } from "./debian-package.ts";

/** The shell is Chromium without windows: the same engine, at a quarter of the processor time a page. */
const SHELL = "chromium-headless-shell";
const NAMES = [
  SHELL,
  ...["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"],
];
const ADVICE =
  `The tests need Chromium: set CHROMIUM_PATH to one, or install it (Debian: apt install ${SHELL}; ` +
  "macOS: brew install --cask chromium).";

/**
 * A real Chromium: the one that CHROMIUM_PATH names, else the machine's own, else the one that apt
 * installs. Only root, the user of test containers, runs it without the sandbox, which refuses to
 * start for root.
 */
export async function startBrowser(): Promise<Browser> {
  const isRoot = process.getuid?.() === 0;
  const given = process.env["CHROMIUM_PATH"];
  return chromium.launch({
    executablePath: given ?? (await foundOrInstalled(findChromium, SHELL, ADVICE)),
    args: ["--disable-dev-shm-usage", ...(isRoot ? ["--no-sandbox"] : [])],
  });
}

function findChromium(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const places = [
    ...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
  ];
  return places.find((file) => existsSync(file));
}
