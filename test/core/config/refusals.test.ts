import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { FEATURES } from "../../../core/catalogue/features.ts";
import { formatProblems, loadConfig } from "../../../core/config/load.ts";
import {
  accepted,
  CATALOGUE,
  folderOf,
  GATEWAY,
  type Row,
  refused,
  rowsOf,
  swap,
} from "./files.ts";

// In the tables (see `rowsOf`) `\n` ends a line, `\\n` writes `\n` into the file, and `\${` writes `${`; `${` is the template's.
const settings: readonly Row[] = [
  ...rowsOf(String.raw`
# unknown keys
log: {
  -> logs: {}\nlog: {
  gateway.yaml:5 logs: unknown key; expected listen, admin, stores, limits, log, headers, images, upstreams, catalogue, unbilled, plugins
port: 8080
  -> prot: 8080
  gateway.yaml:1 listen.prot: unknown key; expected host, port, workers, engine, trusted_proxies
    keys:
  ->     key: x\n    keys:
  gateway.yaml:10 upstreams.main.key: unknown key; expected kind, protocols, keys, headers, profile, connections, connection_seconds, proxy, first_byte_seconds, reply_seconds, features
messages: "
  -> message: x, messages: "
  gateway.yaml:9 upstreams.main.protocols.message: unknown key; expected messages, chat, responses, images, speech, embeddings
    keys:
  ->     profile: { dialekt: openai }\n    keys:
  gateway.yaml:10 upstreams.main.profile.dialekt: unknown key
    keys:
  ->     features: { web_serch: {} }\n    keys:
  gateway.yaml:10 upstreams.main.features.web_serch: unknown key; expected ${Object.keys(FEATURES).join(", ")}

# wrong types
listen: { host: 127.0.0.1, port: 8080, workers: 1 }
  -> listen: 8080
  gateway.yaml:1 listen: expected a mapping of host, port, workers, engine, trusted_proxies, got a number
limits: { body_mb: 20, call_seconds: 900 }
  -> limits: []
  gateway.yaml:4 limits: expected a mapping of body_mb, bodies_mb, header_kb, reply_mb, unread_mb, key_cache_mb, calls_max, left_calls_max, call_seconds, connect_seconds, first_byte_seconds, idle_seconds, heartbeat_seconds, drain_seconds, handover_seconds, clock_difference_seconds, got an empty list
log: { level: info }
  -> log:
  gateway.yaml:5 log: expected a mapping of level, got nothing
port: 8080
  -> port: "8080"
  gateway.yaml:1 listen.port: expected a whole number from 0 to 65535, got text
port: 8080
  -> port: true
  gateway.yaml:1 listen.port: expected a whole number from 0 to 65535, got true or false
host: 127.0.0.1
  -> host: ""
  gateway.yaml:1 listen.host: expected an address or host name, got empty text
workers: 1
  -> trusted_proxies: [10.0.0.0/33]
  gateway.yaml:1 listen.trusted_proxies[0]: expected an address, a range such as 203.0.113.0/24, loopback or private
workers: 1
  -> trusted_proxies: 1
  gateway.yaml:1 listen.trusted_proxies: expected a list of addresses and ranges, got a number
[first-key, second-key]
  -> first-key
  gateway.yaml:10 upstreams.main.keys: expected a list of at least one key, got text
[first-key, second-key]
  -> [123]
  gateway.yaml:10 upstreams.main.keys[0]: expected a key without spaces, got a number

# out of bounds
port: 8080
  -> port: 70000
  gateway.yaml:1 listen.port: expected a whole number from 0 to 65535, got a larger number
port: 8080
  -> port: -1
  gateway.yaml:1 listen.port: expected a whole number from 0 to 65535, got a smaller number
body_mb: 20
  -> body_mb: 1.5
  gateway.yaml:4 limits.body_mb: expected a whole number from 1 to 1024, got a fraction
call_seconds: 900
  -> idle_seconds: 901
  gateway.yaml:4 limits.idle_seconds: expected at most call_seconds, got a larger number
call_seconds: 900
  -> bodies_mb: 19
  gateway.yaml:4 limits.bodies_mb: expected at least body_mb, got a smaller number
call_seconds: 900
  -> unread_mb: 63
  gateway.yaml:4 limits.unread_mb: expected at least reply_mb, got a smaller number

# wrong forms
level: info
  -> level: loud
  gateway.yaml:5 log.level: expected one of trace, debug, info, warn, error, silent
prefix: x-svc-
  -> prefix: X-Svc
  gateway.yaml:6 headers.prefix: expected lower-case letters, digits and dashes that end in a dash
0123456789abcdef
  -> a b
  gateway.yaml:2 admin.token: expected a token without spaces
"http://127.0.0.1:9001"
  -> ftp://host
  gateway.yaml:9 upstreams.main.protocols.messages: expected an http:// or https:// URL without a query
"http://127.0.0.1:9001"
  -> "http://host:port"
  gateway.yaml:9 upstreams.main.protocols.messages: expected an http:// or https:// URL without a query
hot: embedded
  -> hot: memory
  gateway.yaml:3 stores.hot: expected embedded, a redis:// or rediss:// URL, or a list of them for a cluster
hot: embedded
  -> hot: [redis://a, b]
  gateway.yaml:3 stores.hot[1]: expected a redis:// or rediss:// URL
ledger: embedded
  -> ledger: mysql://a
  gateway.yaml:3 stores.ledger: expected embedded or a postgres:// URL
catalogue:
  ->   "a b": { protocols: { chat: "http://a" }, keys: [k] }\ncatalogue:
  gateway.yaml:11 upstreams["a b"]: expected a name of letters, digits, - and _
{ messages: "http://127.0.0.1:9001" }
  -> {}
  gateway.yaml:9 upstreams.main.protocols: expected at least one protocol, got an empty mapping
    keys:
  ->     headers: { x-a: "b\\nc" }\n    keys:
  gateway.yaml:10 upstreams.main.headers.x-a: expected printable text on one line

# addresses
host: 127.0.0.1
  -> host: "http://127.0.0.1"
  gateway.yaml:1 listen.host: expected an address or host name, without http:// and without a port
host: 127.0.0.1
  -> host: "127.0.0.1:8080"
  gateway.yaml:1 listen.host: expected an address or host name, without http:// and without a port
host: 127.0.0.1
  -> host: 127.0.0.256
  gateway.yaml:1 listen.host: expected an address of four numbers from 0 to 255, or a host name
127.0.0.1:9001
  -> 127.0.0.1:0
  gateway.yaml:9 upstreams.main.protocols.messages: expected an address with a port from 1 to 65535
hot: embedded
  -> hot: redis://127.0.0.1/tollgate
  gateway.yaml:3 stores.hot: expected no path but the number of a database, such as /1
hot: embedded
  -> hot: [redis://a/, redis://b/1]
  gateway.yaml:3 stores.hot[1]: expected no path: a cluster has one database
data: ./data
  -> data: ~/data
  gateway.yaml:3 stores.data: expected a folder without ~, which only shells replace

# keys that were pasted with what was around them
first-key
  -> $OPENAI_API_KEY
  gateway.yaml:10 upstreams.main.keys[0]: expected a key; \${NAME} reads it from a variable
first-key
  -> second-key
  gateway.yaml:10 upstreams.main.keys: expected each key once, got a list

# numbers that are none
port: 8080
  -> port: .nan
  gateway.yaml:1 listen.port: expected a whole number from 0 to 65535, got NaN
call_seconds: 900
  -> call_seconds: .inf
  gateway.yaml:4 limits.call_seconds: expected a whole number from 1 to 86400, got infinity
call_seconds: 900
  -> call_seconds: 3.000
  gateway.yaml:4 limits.call_seconds: expected a number without separators: YAML reads 3.000 as 3; write 3000, or 3
127.0.0.1:9001
  -> user:pass@127.0.0.1:9001
  gateway.yaml:9 upstreams.main.protocols.messages: expected an address without a user and password, since they are not sent; keys go into \`keys\`
127.0.0.1:9001
  -> 127.0.0.1:9001/v1/messages
  gateway.yaml:9 upstreams.main.protocols.messages: expected the base address only, since the gateway adds /v1/messages
127.0.0.1:9001
  -> 127.0.0.1:9001/v1/
  gateway.yaml:9 upstreams.main.protocols.messages: expected an address without /v1, since the gateway adds /v1/messages
{ messages:
  -> { chat: "http://127.0.0.1:9001/v1/chat/completions", messages:
  gateway.yaml:9 upstreams.main.protocols.chat: expected the base address only, since the gateway adds /chat/completions
{ messages:
  -> { chat: "http://127.0.0.1:9001/v1/v1", messages:
  gateway.yaml:9 upstreams.main.protocols.chat: expected an address with /v1 once
127.0.0.1:9001
  -> localhost:8080
  gateway.yaml:9 upstreams.main.protocols.messages: expected an address other than where this gateway listens

# headers that break a request

# what is needed
[first-key, second-key]
  -> []
  gateway.yaml:10 upstreams.main.keys: expected a list of at least one key, got an empty list
    keys: [first-key, second-key]\n
  ->
  gateway.yaml:8 upstreams.main.keys: expected a list of at least one key, got nothing
plugins:\n  - ./plugin.js\n
  ->
  gateway.yaml plugins: expected a list of at least one plugin, got nothing
catalogue: catalogue.yaml\n
  ->
  gateway.yaml catalogue: expected the path of a catalogue file, got nothing
catalogue: catalogue.yaml
  -> catalogue: other.yaml
  other.yaml: expected a file that can be read (ENOENT)

# several processes on a store of one
workers: 1
  -> workers: 2
  gateway.yaml:1 listen.workers: expected 1, since only one process can use an embedded store; for more workers, set stores.hot and stores.ledger to a URL
`),
  ...["dns.example", "1.1.1.1:x", "[1.1.1.1]x", "::1:99999", "1.1.1.1:70000"].map(
    (server) =>
      [
        `log: { level: info }`,
        `images: { name_servers: ["${server}"] }`,
        `gateway.yaml:5 images.name_servers[0]: expected the address of a name server, such as 10.0.0.2 or 10.0.0.2:5353`,
      ] as const,
  ),
  ...[
    "https://app.example.com/",
    "app.example.com",
    "https://A.example.com",
    "null",
    "file://",
  ].map(
    (origin) =>
      [
        `prefix: x-svc-`,
        `cors_origins: ["${origin}"]`,
        `gateway.yaml:6 headers.cors_origins[0]: expected an origin without a path, such as https://app.example.com, or *`,
      ] as const,
  ),
  ...(
    [
      [
        "a/b?sslmode=verify",
        "sslmode must be one of disable, prefer, require, verify-ca, verify-full",
      ],
      [
        "a/b?sslrootcert=/none.pem&sslmode=require",
        "sslrootcert: ENOENT: no such file or directory, open '/none.pem'",
      ],
      [
        "a/b?sslcert=c.pem",
        "sslcert: client certificates are not supported: write a user and a password",
      ],
      ["a/b?ssl=true", "ssl: write sslmode instead"],
      [
        "a/b?search_path=c",
        "search_path: not supported in the URL; settings of Postgres are written options=-c%20NAME%3DVALUE",
      ],
      [
        "a/b?S3cret@c/d",
        "a parameter: not supported in the URL; settings of Postgres are written options=-c%20NAME%3DVALUE",
      ],
      [
        "a/b?target_session_attrs=standby",
        "target_session_attrs must be read-write, primary or any",
      ],
      ["a:b/c", "a host or a port is not as in postgres://USER:PASSWORD@HOST:5432/DATABASE"],
      ["a:65536/c", "a port is not as in postgres://USER:PASSWORD@HOST:5432/DATABASE"],
      [
        "a:b%@c/d",
        "a % without two digits after it is not as in postgres://USER:PASSWORD@HOST:5432/DATABASE",
      ],
    ] as const
  ).map(
    ([rest, fault]): Row => [
      `ledger: embedded`,
      `ledger: "postgres://${rest}"`,
      `gateway.yaml:3 stores.ledger: ${fault}`,
    ],
  ),
  ...[`'"sk-1"'`, `<YOUR_API_KEY>`, `"'sk-1'"`].map(
    (key): Row => [
      `first-key`,
      key,
      `gateway.yaml:10 upstreams.main.keys[0]: expected a key, without quotes or brackets around it`,
    ],
  ),
  ...["Authorization", "x-api-key"].map(
    (name): Row => [
      `    keys:`,
      `    headers: { ${name}: k }\n    keys:`,
      `gateway.yaml:10 upstreams.main.headers.${name}: expected a header without a key: keys go into \`keys\`, and most providers refuse one that is sent twice`,
    ],
  ),
  ...["content-length", "Expect", "transfer-encoding", "connection"].map(
    (name): Row => [
      `    keys:`,
      `    headers: { ${name}: "1" }\n    keys:`,
      `gateway.yaml:10 upstreams.main.headers.${name}: expected a header that the gateway does not set itself`,
    ],
  ),
];

const variables = rowsOf(String.raw`
first-key
  -> "\${KEY}"
  gateway.yaml:10 upstreams.main.keys[0]: environment variable KEY is not set
first-key
  -> "\${EMPTY}"
  gateway.yaml:10 upstreams.main.keys[0]: environment variable EMPTY is empty
first-key
  -> "\${A}-\${B}"
  gateway.yaml:10 upstreams.main.keys[0]: environment variable A is not set; environment variable B is not set
first-key
  -> "\${my-key}"
  gateway.yaml:10 upstreams.main.keys[0]: expected \${NAME} or \${NAME:-default} with a name of letters, digits and _, or \${file:/path}; $\${ is a plain \${
first-key
  -> "\${file:/no/such/file}"
  gateway.yaml:10 upstreams.main.keys[0]: file /no/such/file cannot be read (ENOENT)
[first-key, second-key]
  -> ["\${NO_KEY:-}", ""]
  gateway.yaml:7 upstreams: expected a key of at least one upstream; without one, no model can be called
"http://127.0.0.1:9001"
  -> "\${BASE}"
  gateway.yaml:9 upstreams.main.protocols.messages: environment variable BASE is not set
`);

const yaml = rowsOf(String.raw`
log:
  -> log: { level: warn }\nlog:
  gateway.yaml:6: expected each key of a mapping once, got log twice
host: 127.0.0.1
  -> host: "a" b
  gateway.yaml:1: expected well-formed YAML (unexpected token)
log: { level: info }
  -> log: *nowhere
  gateway.yaml:5 log: expected an alias of an anchor before it
log: { level: info }
  -> log: !secret x
  gateway.yaml:5: expected YAML without custom tags
log: { level: info }
  -> ---\nlog: {}
  gateway.yaml:5: expected one YAML document
`);

const models = rowsOf(String.raw`
    labels:
  ->     lables: []\n    labels:
  catalogue.yaml:7 models[0].lables: unknown key; expected id, price_vnd_per_mtok, price_vnd_per_call, price, next_price, channel, context_window, input_tokens_max, max_output_tokens, labels, standard, routes, features, image_pixels_max, size_factors, input_characters_max, option_factors, reference_images
    labels:
  ->     size_factors: [{ pixels_max: 2, factor: 1.5 }, { pixels_max: 1, factor: 2 }]\n    labels:
  catalogue.yaml:7 models[0].size_factors: expected a list of sizes, from the smallest to the largest, got a list
    labels:
  ->     size_factors: [{ pixels_max: 1, factor: 2 }]\n    labels:
  catalogue.yaml:7 models[0].size_factors: expected nothing, since messages models make no images
    labels:
  ->     option_factors: { quality: { high: 2 } }\n    labels:
  catalogue.yaml:7 models[0].option_factors: expected nothing, since messages models make no images
models:
  -> prices: {}\nmodels:
  catalogue.yaml:1 prices: unknown key; expected price_range, id_prefix, models
- id: plain
  -> - id: "a b"
  catalogue.yaml:2 models[0].id: expected a model id without spaces
- id: req/plain\n    price_vnd_per_call: 500
  -> - id: plain\n    price_vnd_per_mtok: 2000
  catalogue.yaml:10 models[1].id: expected a unique id, got that of models[0]
- id: req/plain\n    price_vnd_per_call: 500
  -> - id: Plain\n    price_vnd_per_mtok: 2000
  catalogue.yaml:10 models[1].id: expected a unique id, got that of models[0]
- id: plain
  -> - id: ${"x".repeat(257)}
  catalogue.yaml:2 models[0].id: expected at most 256 characters
model: plain-1 }
  -> model: plain-1, profile: { effort_levels: [] } }
  catalogue.yaml:9 models[0].routes[0].profile.effort_levels: expected at least one, got an empty list
[reasoning, streaming]
  -> [fast]
  catalogue.yaml:7 models[0].labels[0]: expected one of reasoning, vision, tools, streaming
channel: standard
  -> channel: azure
  catalogue.yaml:4 models[0].channel: expected one of standard, aws
[{ upstream: main, model: plain-1 }]
  -> []
  catalogue.yaml:9 models[0].routes: expected a list of at least one route, got an empty list
max_output_tokens: 64000\n    labels
  -> input_tokens_max: 200001\n    max_output_tokens: 64000\n    labels
  catalogue.yaml:6 models[0].input_tokens_max: expected at most context_window, got a larger number
max_output_tokens: 64000\n    labels
  -> input_tokens_max: 0\n    max_output_tokens: 64000\n    labels
  catalogue.yaml:6 models[0].input_tokens_max: expected a whole number of tokens, got a smaller number

# prices
    price_vnd_per_mtok: 2000\n
  ->
  catalogue.yaml:2 models[0]: expected price_vnd_per_mtok or price_vnd_per_call, got neither
price_vnd_per_mtok: 2000
  -> price_vnd_per_mtok: 2000\n    price_vnd_per_call: 500
  catalogue.yaml:4 models[0].price_vnd_per_call: expected only one of price_vnd_per_mtok and price_vnd_per_call, got both
price_vnd_per_mtok: 2000
  -> price_vnd_per_mtok: 1499
  catalogue.yaml:3 models[0].price_vnd_per_mtok: expected a price from 1500 to 55000 đ (price_range.vnd_per_mtok), got a smaller number
price_vnd_per_mtok: 2000
  -> price_vnd_per_mtok: 55001
  catalogue.yaml:3 models[0].price_vnd_per_mtok: expected a price from 1500 to 55000 đ (price_range.vnd_per_mtok), got a larger number
price_vnd_per_call: 500
  -> price_vnd_per_call: 229
  catalogue.yaml:11 models[1].price_vnd_per_call: expected a price from 230 to 1350 đ (price_range.vnd_per_call), got a smaller number
price_vnd_per_call: 500
  -> price_vnd_per_call: 1351
  catalogue.yaml:11 models[1].price_vnd_per_call: expected a price from 230 to 1350 đ (price_range.vnd_per_call), got a larger number
price_vnd_per_mtok: 2000
  -> price_vnd_per_mtok: 2000.5
  catalogue.yaml:3 models[0].price_vnd_per_mtok: expected a whole number of đ within price_range, got a fraction
price_vnd_per_mtok: 2000
  -> price_vnd_per_mtok: 0
  catalogue.yaml:3 models[0].price_vnd_per_mtok: expected a whole number of đ within price_range, got a smaller number
price_vnd_per_mtok: 2000
  -> price_vnd_per_mtok: 36.000
  catalogue.yaml:3 models[0].price_vnd_per_mtok: expected a number without separators: YAML reads 36.000 as 36; write 36000, or 36
price_vnd_per_mtok: 2000
  -> price_vnd_per_mtok: 2000\n    price: { cached: 0.1 }
  catalogue.yaml:4 models[0].price.cached: unknown key; expected input, cached_input, cache_write, output, per_call, per_image
price_vnd_per_mtok: 2000
  -> price_vnd_per_mtok: 2000\n    price: { cached_input: 0.1234567 }
  catalogue.yaml:4 models[0].price.cached_input: expected a number from 0.001 to 100 with at most six decimals, got a number
price_vnd_per_mtok: 2000
  -> price_vnd_per_mtok: 2000\n    price: { cached_input: 0 }
  catalogue.yaml:4 models[0].price.cached_input: expected a number from 0.001 to 100 with at most six decimals, got a smaller number
price_vnd_per_mtok: 2000
  -> price_vnd_per_mtok: 2000\n    price: { output: 101 }
  catalogue.yaml:4 models[0].price.output: expected a number from 0.001 to 100 with at most six decimals, got a larger number
price_vnd_per_mtok: 2000
  -> price_vnd_per_mtok: 2000\n    price: 0.1
  catalogue.yaml:4 models[0].price: expected a mapping of input, cached_input, cache_write, output, per_call, per_image, got a number
price_vnd_per_mtok: 2000
  -> price_vnd_per_mtok: 2000\n    price: { per_call: 2 }
  catalogue.yaml:4 models[0].price.per_call: expected only input, cached_input, cache_write, output, since the model is priced per token
price_vnd_per_call: 500
  -> price_vnd_per_call: 500\n    price: { cached_input: 0.1 }
  catalogue.yaml:12 models[1].price.cached_input: expected only per_call, since the model is priced per call
models:\n  - id: plain\n    price_vnd_per_mtok: 2000
  -> price_range: { vnd_per_mtok: [1, 1000000] }\nmodels:\n  - id: plain\n    price_vnd_per_mtok: 1000000\n    price: { output: 11 }
  catalogue.yaml:5 models[0].price.output: expected a factor that makes at most 10000000 đ of the price
models:
  -> price_range: { vnd_per_call: [500, 400] }\nmodels:
  catalogue.yaml:1 price_range.vnd_per_call: expected a list of the lowest and the highest price, got a list
models:
  -> price_range: { vnd_per_call: [1, 2, 3] }\nmodels:
  catalogue.yaml:1 price_range.vnd_per_call[2]: expected a list of the lowest and the highest price, got a number
models:
  -> price_range: []\nmodels:
  catalogue.yaml:1 price_range: expected a mapping of vnd_per_mtok, vnd_per_call, got an empty list

# ids that tell what a model is
- id: plain
  -> - id: req/other
  catalogue.yaml:2 models[0].id: expected an id without req/, since it is priced per token
- id: plain
  -> - id: svc/plain
  catalogue.yaml:2 models[0].id: expected an id without svc/, since its channel is not aws

# tokens
max_output_tokens: 64000
  -> max_output_tokens: 200001
  catalogue.yaml:6 models[0].max_output_tokens: expected at most context_window, got a larger number
    max_output_tokens: 64000\n    labels
  ->     labels
  catalogue.yaml:2 models[0].max_output_tokens: expected a number of tokens, which chat models need: a call without a limit of its own holds this much

# routes
[{ upstream: main, model: plain-1 }]
  -> [{ upstream: main, model: plain-1 }, { upstream: main, model: plain-1 }]
  catalogue.yaml:9 models[0].routes[1]: expected each route at most once; routes[0] is the same route; use weight for a larger share
upstream: main
  -> upstream: mian
  catalogue.yaml:9 models[0].routes[0].upstream: expected an upstream of the config (main), got mian
standard: messages
  -> standard: chat
  catalogue.yaml:9 models[0].routes[0].upstream: expected an upstream with the protocol chat, which main lacks
model: plain-1 }
  -> model: plain-1, weight: 0 }
  catalogue.yaml:9 models[0].routes[0].weight: expected a whole number from 1 to 1000, got a smaller number
model: plain-1 }
  -> model: plain-1, profile: { dialect: strict } }
  catalogue.yaml:9 models[0].routes[0].profile.dialect: expected one of openai, compatible
model: plain-1 }
  -> model: plain-1, features: { web_search: { factor: 0 } } }
  catalogue.yaml:9 models[0].routes[0].features.web_search.factor: expected a number from 0.001 to 100 with at most six decimals, got a smaller number
model: plain-1 }
  -> model: plain-1, features: { files: {} } }
  catalogue.yaml:9 models[0].routes[0].features.files.i_accept_shared_ids: expected i_accept_shared_ids: true, got nothing
`);

t.test("a setting is refused", async (t) => {
  for (const [from, to, expected] of settings) {
    t.test(expected, async (t) => {
      t.strictSame(await refused(t, { "gateway.yaml": swap(GATEWAY, from, to) }), [expected]);
    });
  }
});

t.test("a short admin token is refused if other machines can reach the gateway", async (t) => {
  const files = { "gateway.yaml": swap(GATEWAY, "host: 127.0.0.1", "host: 0.0.0.0") };
  t.has(await refused(t, files), [
    "gateway.yaml:2 admin.token: expected at least 32 characters, since other machines can reach listen.host",
  ]);
});

t.test(
  "an address for operators cannot be that of customers, or reachable with a short token",
  async (t) => {
    const admin = (changes: string) =>
      swap(
        GATEWAY,
        /^admin: .*$/m.exec(GATEWAY)?.[0] ?? "",
        `admin: { token: short, listen: ${changes} }`,
      );
    for (const [listen, expected] of [
      [
        "{ port: 8080 }",
        "gateway.yaml:2 admin.listen.port: expected another port than listen.port",
      ],
      [
        '{ host: "::", port: 8080 }',
        "gateway.yaml:2 admin.listen.port: expected another port than listen.port",
      ],
      [
        "{ host: 0.0.0.0, port: 8081 }",
        "gateway.yaml:2 admin.token: expected at least 32 characters, since other machines can reach admin.listen.host",
      ],
      [
        "{ host: 127.0.0.1 }",
        "gateway.yaml:2 admin.listen.port: expected a whole number from 1 to 65535, got nothing",
      ],
    ] as const) {
      t.has(await refused(t, { "gateway.yaml": admin(listen) }), [expected]);
    }
    const apart = admin("{ port: 8081 }").replace("host: 127.0.0.1", "host: 0.0.0.0");
    t.notMatch((await refused(t, { "gateway.yaml": apart })).join(), /admin/);
  },
);

t.test("an upstream that many models name and the config lacks is one error", async (t) => {
  const files = { "catalogue.yaml": CATALOGUE.replaceAll("upstream: main", "upstream: gone") };
  t.strictSame(await refused(t, files), [
    "catalogue.yaml:9 models[0].routes[0].upstream: expected an upstream of the config (main), got gone, " +
      "here and in 1 more routes; to leave out its models, keep the upstream with an empty key",
  ]);
});

t.test("a variable is refused", async (t) => {
  for (const [from, to, expected] of variables) {
    t.test(expected, async (t) => {
      const files = { "gateway.yaml": swap(GATEWAY, from, to) };
      t.strictSame(await refused(t, files, { EMPTY: "" }), [expected]);
    });
  }
});

t.test("invalid YAML is refused", async (t) => {
  for (const [from, to, expected] of yaml) {
    t.test(expected, async (t) => {
      t.strictSame(await refused(t, { "gateway.yaml": swap(GATEWAY, from, to) }), [expected]);
    });
  }

  t.test("and so is an empty file", async (t) => {
    t.strictSame(await refused(t, { "gateway.yaml": "" }), [
      "gateway.yaml: expected a mapping of listen, admin, stores, limits, log, headers, images, upstreams, catalogue, unbilled, plugins, got nothing",
    ]);
  });

  t.test("and so is a file in another encoding", async (t) => {
    const folder = await folderOf(t, {});
    for (const encoding of ["latin1", "utf16le"] as const) {
      const file = join(folder, "gateway.yaml");
      await writeFile(file, Buffer.from(`\ufeff${GATEWAY}# é\n`, encoding));
      const loaded = await loadConfig(file, {});
      assert.ok(!loaded.ok);
      t.match(formatProblems(loaded.problems), /gateway\.yaml: expected a file in UTF-8$/);
    }
  });

  t.test("and so is an alias that contains itself", async (t) => {
    const text = swap(GATEWAY, "log: { level: info }", "log: &log { level: *log }");
    t.strictSame(await refused(t, { "gateway.yaml": text }), [
      "gateway.yaml:5 log: expected a smaller file, or less nesting",
    ]);
  });
});

t.test("a model is refused", async (t) => {
  for (const [from, to, expected] of models) {
    t.test(expected, async (t) => {
      t.strictSame(await refused(t, { "catalogue.yaml": swap(CATALOGUE, from, to) }), [expected]);
    });
  }

  t.test("if it is for speech and priced by tokens", async (t) => {
    const text = swap(CATALOGUE, "standard: messages", "standard: speech");
    t.strictSame(await refused(t, { "catalogue.yaml": text }), [
      "catalogue.yaml:3 models[0].price_vnd_per_mtok: expected price_vnd_per_call, since speech models are not billed by the token",
      "catalogue.yaml:9 models[0].routes[0].upstream: expected an upstream with the protocol speech, which main lacks",
    ]);
  });

  t.test("if its price itself covers a size that has a factor", async (t) => {
    const gateway = swap(GATEWAY, "messages: ", 'images: "http://127.0.0.1:9001", messages: ');
    const last =
      "    context_window: 200000\n    max_output_tokens: 64000\n    standard: messages\n";
    const from = CATALOGUE.lastIndexOf(last);
    const withSizes = (sizes: string) => ({
      "gateway.yaml": gateway,
      "catalogue.yaml": `${CATALOGUE.slice(0, from)}    standard: images\n${sizes}${CATALOGUE.slice(from + last.length)}`,
    });
    for (const [sizes, most] of [
      ["    size_factors: [{ pixels_max: 2359296, factor: 2 }]\n", 2_359_296],
      ["    image_pixels_max: 2\n    size_factors: [{ pixels_max: 1, factor: 2 }]\n", 2],
    ] as const) {
      const lines = await refused(t, withSizes(sizes));
      t.strictSame(
        lines.map((line) => line.replace(/^\S+ /, "")),
        [
          `models[1].size_factors[0].pixels_max: expected more than image_pixels_max (${most}), which the price itself covers`,
        ],
      );
    }
    await accepted(
      t,
      withSizes("    image_pixels_max: 2\n    size_factors: [{ pixels_max: 3, factor: 2 }]\n"),
    );
  });

  t.test("if it makes images and has settings of chat models", async (t) => {
    const entry =
      "    price: { per_call: 0.5 }\n    input_tokens_max: 1\n    standard: images\n    routes: [";
    const last = "    standard: messages\n    routes: [";
    const at = CATALOGUE.lastIndexOf(last);
    const text = CATALOGUE.slice(0, at) + entry + CATALOGUE.slice(at + last.length);
    t.strictSame(await refused(t, { "catalogue.yaml": text }), [
      "catalogue.yaml:14 models[1].price.per_call: expected only per_image, since the model is priced per image",
      "catalogue.yaml:15 models[1].input_tokens_max: expected nothing, since the input of images models is not counted in tokens",
      "catalogue.yaml:17 models[1].routes[0].upstream: expected an upstream with the protocol images, which main lacks",
    ]);
  });
});

t.test("all problems are reported at once", async (t) => {
  t.test("ten errors in two files and a plugin", async (t) => {
    const gateway = `
listen: { port: eighty, hots: localhost }
stores: { hot: memory }
upstreams:
  main: { protocols: { messages: "http://127.0.0.1" }, keys: ["\${MAIN_KEY}"], tls: yes }
catalogue: catalogue.yaml
plugins: [./plugin.js: { a: 1 }, ./missing.js]
`;
    const catalogue = swap(
      swap(CATALOGUE, "price_vnd_per_mtok: 2000", "price_vnd_per_mtok: 200"),
      "upstream: main",
      "upstream: nowhere",
    );
    const files = {
      "gateway.yaml": gateway,
      "catalogue.yaml": swap(catalogue, "id: req/plain", "id: plain"),
    };
    t.strictSame(await refused(t, files), [
      `gateway.yaml:2 listen.hots: unknown key; expected host, port, workers, engine, trusted_proxies`,
      `gateway.yaml:2 listen.port: expected a whole number from 0 to 65535, got text`,
      `gateway.yaml:3 stores.hot: expected embedded, a redis:// or rediss:// URL, or a list of them for a cluster`,
      `gateway.yaml:5 upstreams.main.keys[0]: environment variable MAIN_KEY is not set`,
      `gateway.yaml:5 upstreams.main.tls: unknown key; expected kind, protocols, keys, headers, profile, connections, connection_seconds, proxy, first_byte_seconds, reply_seconds, features`,
      `gateway.yaml:7 plugins[0]["./plugin.js"]: expected no options; this plugin has none`,
      `gateway.yaml:7 plugins[1]: expected a built-in plugin, a path that begins with ./, ../ or /, or an installed package; found none named ./missing.js`,
      `catalogue.yaml:3 models[0].price_vnd_per_mtok: expected a price from 1500 to 55000 đ (price_range.vnd_per_mtok), got a smaller number`,
      `catalogue.yaml:9 models[0].routes[0].upstream: expected an upstream of the config (main), got nowhere`,
      `catalogue.yaml:10 models[1].id: expected a unique id, got that of models[0]`,
    ]);
  });

  t.test("two unknown keys of one mapping", async (t) => {
    const text = swap(GATEWAY, "port: 8080", "prot: 1, hots: 2");
    t.strictSame(await refused(t, { "gateway.yaml": text }), [
      `gateway.yaml:1 listen.hots: unknown key; expected host, port, workers, engine, trusted_proxies`,
      `gateway.yaml:1 listen.prot: unknown key; expected host, port, workers, engine, trusted_proxies`,
    ]);
  });
});

t.test("no message contains the value of a variable", async (t) => {
  const secret = "hunter2 hunter2";
  const gateway = `
listen: "\${S}"
admin: { token: "\${S}" }
stores: { hot: "\${S}", ledger: "\${S}" }
limits: { body_mb: "\${S}" }
log: { level: "\${S}" }
headers: { prefix: "\${S}" }
upstreams:
  main:
    protocols: { messages: "\${S}" }
    keys: ["\${S}"]
    profile: { dialect: "\${S}", effort_levels: ["\${S}"], max_stops: "\${S}" }
    headers: { x-a: "\${S}\\n" }
catalogue: catalogue.yaml
plugins: ["\${S}", { ./plugin.js: { count: "\${S}" } }]
`;
  const files = {
    "gateway.yaml": gateway,
    "catalogue.yaml": CATALOGUE.replaceAll("main", `"\${S}"`).replace("plain", `"\${S}"`),
  };
  const lines = await refused(t, files, { S: secret });
  t.equal(lines.length, 17);
  for (const line of lines) t.ok(!line.includes("hunter2"), line);
});

t.test("a repeated key that may be a secret is not quoted", async (t) => {
  const text = swap(GATEWAY, "[first-key, second-key]", "{ sk-1: a, sk-1: b }");
  const lines = (await refused(t, { "gateway.yaml": text })).join("\n");
  t.match(lines, /gateway.yaml:10: expected each key of a mapping once$/m);
  t.notMatch(lines, /sk-1/);
});
