/** `node idle-members.js REDIS_URL COUNT FOLDER`: hold stores of so many gateways, in one process. Says `ready` by message. */
import { join } from "node:path";
import { startStore } from "./posted-calls.ts";

const [url = "", count = "", folder = ""] = process.argv.slice(2);

for (let member = 0; member < Number(count); member++)
  await startStore(url, join(folder, String(member)), 1);
process.send?.("ready");
process.on("disconnect", () => process.exit(0));
