/**
 * `npm run simulator -- --port P [--host H] [--lenient]`: runs the simulated provider alone, with the
 * rules of this folder.
 */

import { messageOf } from "../../../core/plugin/index.ts";
import { parseArguments, refuseArguments } from "../../../core/process/command-line.ts";
import { judge } from "../strict/index.ts";
import { startSimulator } from "./server.ts";

const USAGE = "npm run simulator -- [--port PORT] [--host HOST] [--lenient]";

const { values } = parseArguments(USAGE, {
  options: {
    port: { type: "string", default: "9001" },
    host: { type: "string", default: "127.0.0.1" },
    // Accepts every request, unlike a real provider.
    lenient: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const port = Number(values.port);

if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  refuseArguments(USAGE, `--port must be a number from 0 to 65535, not ${values.port}`);
}

try {
  const simulator = await startSimulator({
    host: values.host,
    port,
    judge: values.lenient ? undefined : judge,
  });
  console.log(`simulator listening on http://${values.host}:${simulator.port}`);
  const stop = () => {
    simulator.close();
    process.exit(0);
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
} catch (error) {
  console.error(messageOf(error));
  console.error("Choose another port with --port.");
  process.exit(1);
}
