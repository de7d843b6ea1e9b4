import t from "tap";
import type { Config } from "../../../core/plugin/index.ts";
import { review } from "../../../plugins/admin/index.ts";

const HERE = { host: "127.0.0.1", port: 1 };
const PUBLIC = { host: "0.0.0.0", port: 1 };

function saidTo(variable: string | undefined, listen: object, admin: object = {}): string {
  const before = process.env["GATEWAY_ADMIN_TOKEN"];
  if (variable === undefined) delete process.env["GATEWAY_ADMIN_TOKEN"];
  else process.env["GATEWAY_ADMIN_TOKEN"] = variable;
  const faults = review({}, { listen, admin } as Config);
  if (before === undefined) delete process.env["GATEWAY_ADMIN_TOKEN"];
  else process.env["GATEWAY_ADMIN_TOKEN"] = before;
  return faults.map(({ message }) => message).join();
}

t.test(
  "a short admin token of the environment is refused, though the config names none",
  async (t) => {
    t.match(saidTo("a".repeat(31), PUBLIC), /GATEWAY_ADMIN_TOKEN.*32.*other machines/);
    t.match(saidTo("a".repeat(31), HERE, { listen: PUBLIC }), /32/);
    t.match(saidTo("a".repeat(15), HERE), /at least 16/);
    t.match(saidTo(`${"a".repeat(40)} `, HERE), /without spaces/);
  },
);

t.test("a long one is not, nor one that does not count", async (t) => {
  t.equal(saidTo("a".repeat(32), PUBLIC), "");
  t.equal(saidTo("a".repeat(16), HERE), "");
  t.equal(saidTo("a".repeat(16), PUBLIC, { listen: HERE }), "");
  t.equal(saidTo(undefined, PUBLIC), "");
  t.equal(saidTo("", PUBLIC), "");
  t.equal(saidTo("short", PUBLIC, { token: "b".repeat(32) }), "");
});
