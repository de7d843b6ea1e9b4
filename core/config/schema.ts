import { isIP } from "node:net";
import * as v from "valibot";
import { isAddressRange, NEARBY } from "../process/client-address.ts";
import {
  described,
  mapping,
  matching,
  oneOf,
  passing,
  refusingLists,
  setting,
  some,
  text,
  url,
  whole,
} from "../process/options.ts";

/** Schema of the config file. Descriptions end up in the JSON schema, for editors. */

const HOST_NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?$/;

const host = setting(
  v.pipe(
    text("an address or host name"),
    v.check(
      (name) => isIP(name) !== 0 || HOST_NAME.test(name),
      "an address or host name, without http:// and without a port",
    ),
    v.check(
      (name) => isIP(name) !== 0 || !ENDS_WITH_NUMBER.test(name),
      "an address of four numbers from 0 to 255, or a host name",
    ),
  ),
  "Address to listen on; 0.0.0.0 for all addresses.",
  "127.0.0.1",
);

const PROXY = "an address, a range such as 203.0.113.0/24, loopback or private";

/** No host name ends with a number: it is an address with a typing error. */
const ENDS_WITH_NUMBER = /(?:^|\.)\d+\.?$/;

export const listen = v.optional(
  mapping({
    host,
    port: setting(whole(0, 65_535), "Port to listen on; 0 for any free port.", 8080),
    workers: setting(
      whole(1, 256),
      "Processes that share the port. More than one needs Redis and Postgres.",
      1,
    ),
    engine: setting(
      v.picklist(["auto", "native", "node"], "auto, native or node"),
      "The HTTP server. native: uWebSockets.js, for Node 20 and 22 on glibc. node: node:http, for any Node, at " +
        "a third more processor time a call. auto: native if it can be loaded.",
      "auto",
    ),
    trusted_proxies: setting(
      v.array(passing(isAddressRange, PROXY), "a list of addresses and ranges"),
      "Proxies that may state the address of a client, in x-forwarded-for: addresses, ranges such as 203.0.113.0/24, " +
        "loopback, private.",
      [...NEARBY],
    ),
  }),
  {},
);

export const admin = v.optional(
  mapping({
    token: setting(
      matching(/^[\x21-\x7e]+$/, "a token without spaces"),
      "Token of the admin commands. Default: a random one, kept in the data folder.",
    ),
    listen: setting(
      mapping({ host, port: described(whole(1, 65_535), "Port to listen on.") }),
      "An address of its own for the admin API, /metrics and the details of /readyz. Default: that of customers.",
    ),
  }),
  {},
);

const REDIS = ["redis", "rediss"];
const HOT = "embedded, a redis:// or rediss:// URL, or a list of them for a cluster";
const LEDGER = "embedded or a postgres:// URL";

export const stores = v.optional(
  mapping({
    hot: setting(
      v.union(
        [
          v.literal("embedded"),
          url(REDIS, HOT),
          some(url(REDIS, "a redis:// or rediss:// URL"), "a list of Redis URLs"),
        ],
        HOT,
      ),
      "Store of balances, holds and outbox: embedded, one Redis, or nodes of a Redis Cluster.",
      "embedded",
    ),
    ledger: setting(
      v.union([v.literal("embedded"), matching(/^postgres(?:ql)?:\/\/\S+$/, LEDGER)], LEDGER),
      "Store of the durable ledger: embedded, or Postgres, by a URL as libpq reads it.",
      "embedded",
    ),
    connections: setting(
      whole(5, 10_000),
      "Maximum connections of one process to Postgres. Two serve only commits, and two what calls load.",
      10,
    ),
    months_kept: setting(
      whole(1, 1_200),
      "Whole months before this one whose calls stay in the ledger; older ones can be archived. Default: all.",
    ),
    data: setting(
      v.pipe(
        text("a folder"),
        v.check(
          (folder) => !/^~(?:\/|$)/.test(folder),
          "a folder without ~, which only shells replace",
        ),
      ),
      "Folder for embedded stores, spool and admin token; relative to the working directory.",
      "./data",
    ),
  }),
  {},
);

export const limits = v.optional(
  mapping({
    body_mb: setting(whole(1, 1024), "Largest request body, in MB.", 20),
    bodies_mb: setting(
      whole(1, 1_048_576),
      "Maximum MB of request bodies of calls that run; a quarter of it for one account.",
      512,
    ),
    header_kb: setting(whole(4, 256), "Largest request head, in KB.", 16),
    reply_mb: setting(
      whole(1, 1024),
      "Largest unstreamed reply, in MB. Does not limit streams. Images that could be larger get 400.",
      64,
    ),
    unread_mb: setting(
      whole(1, 1_048_576),
      "Maximum MB of all replies, whole or large events, that arrive or that their clients have not read yet.",
      256,
    ),
    key_cache_mb: setting(
      whole(1, 1_048_576),
      "Maximum MB of cached API keys of a process, at about 0.6 KB a key.",
      64,
    ),
    calls_max: setting(
      whole(1, 1_000_000),
      "Maximum calls in flight per process; half of them for one account.",
      20_000,
    ),
    left_calls_max: setting(
      whole(1, 1_000_000),
      "Maximum calls of one account, per process, that go on after their clients have left; more get 429.",
      20,
    ),
    call_seconds: setting(whole(1, 86_400), "Longest call, in seconds.", 900),
    connect_seconds: setting(
      whole(1, 600),
      "Longest wait for a connection to an upstream, in seconds.",
      10,
    ),
    first_byte_seconds: setting(
      whole(1, 86_400),
      "Longest wait for the first byte of a stream, unless it is of an image, in seconds. Default: call_seconds.",
    ),
    idle_seconds: setting(
      whole(1, 86_400),
      "Longest pause of a stream after its first byte, unless it is of an image, in seconds. Default: call_seconds.",
    ),
    heartbeat_seconds: setting(
      whole(0, 86_400),
      "Silence before a stream begins after which its client gets a sign of life, in seconds; then each quarter of it, as in the stream; 0 = never. Proxies cut silent streams: Cloudflare after about 120.",
      60,
    ),
    drain_seconds: setting(
      whole(0, 86_400),
      "Longest time for calls to finish after SIGTERM, in seconds.",
      60,
    ),
    handover_seconds: setting(
      whole(0, 600),
      "After SIGTERM, how long an idle connection stays open and a call on it is still served, in seconds: longer than proxies keep theirs.",
      10,
    ),
    clock_difference_seconds: setting(
      whole(0, 86_400),
      "Largest difference at which a gateway starts between its clock and that of Postgres, in seconds; 0 = any.",
      300,
    ),
  }),
  {},
);

const log = v.optional(
  mapping({
    level: setting(
      oneOf(["trace", "debug", "info", "warn", "error", "silent"]),
      "Lowest level that is logged.",
      "info",
    ),
  }),
  {},
);

const ORIGIN = "an origin without a path, such as https://app.example.com, or *";

const headers = v.optional(
  mapping({
    prefix: setting(
      matching(
        /^[a-z][a-z0-9-]{0,30}-$/,
        "lower-case letters, digits and dashes that end in a dash",
      ),
      "Prefix of the gateway's own headers.",
      "x-svc-",
    ),
    cors_origins: setting(
      v.array(passing(isOrigin, ORIGIN), 'a list of origins, or ["*"]'),
      "Origins of web pages whose scripts may call with an API key, such as https://app.example.com, or * for all. " +
        "Everyone who opens such a page can read a key that its scripts have. Default: none.",
      [],
    ),
  }),
  {},
);

/** As browsers send it: https://app.example.com:8443, without a path. */
function isOrigin(text: string): boolean {
  return (
    text === "*" || (/^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text)
  );
}

const NAME_SERVER = "the address of a name server, such as 10.0.0.2 or 10.0.0.2:5353";

const images = v.optional(
  mapping({
    private_addresses: setting(
      v.boolean("true or false"),
      "Lets customers name images in private networks and on this machine. For tests and closed networks.",
      false,
    ),
    name_servers: setting(
      v.array(passing(isNameServer, NAME_SERVER), "a list of name servers"),
      "Name servers that resolve the names in customers' addresses of images. Default: those of the machine.",
      [],
    ),
  }),
  {},
);

/** Returns true for an IP address, with or without a port; that of IPv6 is in brackets before a port. */
function isNameServer(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [, v6, v4, port] = /^(?:\[(.+)\]|([\d.]+)):(\d{1,5})$/.exec(text) ?? [];
  return isIP(v6 ?? v4 ?? "") !== 0 && Number(port) <= 65_535;
}

export const catalogue = described(
  text("the path of a catalogue file"),
  "Path of the catalogue file, relative to this file.",
);

const ONE_PLUGIN = "the name of a plugin, or one name with its options";

/** `name`, or `name: options`. */
export const pluginEntry = v.union(
  [
    text(ONE_PLUGIN),
    refusingLists(
      v.pipe(
        v.record(v.string(), v.unknown()),
        v.check((entry) => Object.keys(entry).length === 1, ONE_PLUGIN),
      ),
    ),
  ],
  ONE_PLUGIN,
);

const plugins = described(
  some(pluginEntry, "a list of at least one plugin"),
  "Plugins, in the order in which they see a call. Each is a name, a path that begins with . or /, or a package.",
);

export const unbilled = setting(
  v.boolean("true or false"),
  "Serves calls without meter and settle; nothing is held or charged. For load benchmarks and private use.",
  false,
);

/** Schema of the whole file. `upstreams` depends on the kinds of upstream. */
export function gatewayFile<const T extends v.GenericSchema>(upstreams: T) {
  return mapping({
    listen,
    admin,
    stores,
    limits,
    log,
    headers,
    images,
    upstreams,
    catalogue,
    unbilled,
    plugins,
  });
}
