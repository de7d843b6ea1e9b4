/** `node idle-members.js REDIS_URL POSTGRES_URL COUNT FOLDER`: hold stores of so many gateways, in one process. Says `ready`. */
import { join } from "node:path";
import { connect } from "../core/database/client.ts";
import { quietLog, startStore } from "./posted-calls.ts";

const [url = "", postgres = "", count = "", folder = ""] = process.argv.slice(2);

const settings = { connectionsMax: 2, statementTimeoutMs: 60_000, log: quietLog };
const sql = connect({ server: { url: postgres }, ...settings });
for (let member = 0; member < Number(count); member++)
  await startStore(url, sql, join(folder, String(member)), 1);
process.send?.("ready");
process.on("disconnect", () => process.exit(0));
