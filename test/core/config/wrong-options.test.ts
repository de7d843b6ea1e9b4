import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import { accepted, refused, rowsOf, swap } from "./files.ts";

const GATEWAY = readFileSync(join(packageRoot, "config/gateway.yaml"), "utf8");
const CATALOGUE = readFileSync(join(packageRoot, "config/catalogue.yaml"), "utf8");

const ROWS = rowsOf(String.raw`
# plugins without the options that they need
  - auth\n
  ->   - traces\n  - auth\n
  traces.endpoint: expected the address of an OTLP receiver, such as http://127.0.0.1:4318, got nothing
  - auth\n
  ->   - traces: { endpoint: http://127.0.0.1:4318/v1/traces }\n  - auth\n
  traces.endpoint: expected an address without /v1/traces, which the gateway adds

# options that are misspelt, or that are no addresses and ports of the gateway
rate-limit: { requests_per_minute: 0 }
  -> rate-limit: { request_per_minute: 0 }
  rate-limit.request_per_minute: unknown key
  - settle\n
  ->   - settle: { topup_address: ask bob }\n
  settle.topup_address: expected an http:// or https:// URL, which customers can open
  - accounts #
  ->   - accounts: { public_url: https://x.example/dashboard } #
  accounts.public_url: expected an address such as https://api.example.com, without a path
simulator: { port: 9001 }
  -> simulator: { port: 8080 }
  simulator.port: expected a port other than listen.port

# names of models
opus: claude-opus-5-5
  -> opus: sonnet
  alias.families.opus: expected a model of the catalogue, got sonnet
opus: claude-opus-5-5
  -> opus: claude-opus-5-5\n        "": claude-opus-5-5
  alias.families[""]: expected a name without spaces, got empty text
opus: claude-opus-5-5
  -> opus: claude-opus-5-5\n        OPUS: claude-fable-5-2
  alias.families.OPUS: expected each name once; opus is the same name

# factors
  - meter\n
  ->   - meter: { hold: { ascii_bytes_per_token: 5 } }\n
  meter: expected factors of hold that are at least as cautious as those of estimate, got a mapping
  - meter\n
  ->   - meter: { estimate: { image_tokens: 3000 } }\n
  meter: expected factors of hold that are at least as cautious as those of estimate, got a mapping
  - meter\n
  ->   - meter: { hold: { density_share: .nan } }\n
  meter.hold.density_share: expected a number, got NaN

# money
promotions: { counted: transfers }
  -> promotions: { daily: { threshold_vnd: 100.000 } }
  topup.promotions.daily.threshold_vnd: expected a number without separators: YAML reads 100.000 as 100; write 100000, or 100
promotions: { counted: transfers }
  -> minimum_vnd: 50.000
  topup.minimum_vnd: expected a number without separators: YAML reads 50.000 as 50; write 50000, or 50
promotions: { counted: transfers }
  -> promotions: { daily: { discount_bps: 10001 } }
  topup.promotions.daily.discount_bps: expected a whole number from 0 to 5000, got a larger number
`);

const files = (gateway: string) => ({
  "gateway.yaml": gateway,
  "catalogue.yaml": CATALOGUE,
  "costs.yaml": "costs: {}",
});

t.test("options of plugins are refused", async (t) => {
  for (const [from, to, expected] of ROWS) {
    t.test(expected, async (t) => {
      const [line = "", ...more] = await refused(t, files(swap(GATEWAY, from, to)));
      t.strictSame(more, []);
      t.equal(line.replace(/^gateway\.yaml:\d+ plugins\[\d+\]\.?/, ""), expected);
    });
  }

  t.test("families as a list", async (t) => {
    const families = /families:\n(?: {8}.*\n)+/.exec(GATEWAY)?.[0] ?? "none";
    const lines = await refused(t, files(swap(GATEWAY, families, "families: [opus]\n")));
    t.match(lines.join(), /alias\.families: expected a mapping/);
  });
});

t.test("alias, and plugins whose options all have defaults, need none", async (t) => {
  const alias = / {2}- alias:\n(?: {6}.*\n)+/.exec(GATEWAY)?.[0] ?? "none";
  const rate = "rate-limit: { requests_per_minute: 0 }";
  const bare = swap(swap(GATEWAY, alias, "  - alias\n"), rate, "rate-limit");
  const { plugins } = await accepted(t, files(bare));
  t.ok(plugins.some(({ name }) => name === "alias"));
});
