import { fileURLToPath } from "node:url";

/** Folder of the package, with a trailing slash: code runs from `dist/core/process/`, SQL is read from the sources. */
export const packageRoot: string = fileURLToPath(new URL("../../../", import.meta.url));
