import { fileURLToPath } from "node:url";

/** The package folder, with a trailing slash. Code runs from `dist/core/process/`; SQL is read from the sources. */
export const packageRoot: string = fileURLToPath(new URL("../../../", import.meta.url));
