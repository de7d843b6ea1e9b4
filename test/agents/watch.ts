import { readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { arrayOf, isObject, objectOf, parseJson } from "../../core/process/json.ts";
import { packageRoot } from "../../core/process/root.ts";
import { featureOfBeta } from "../../core/wire/features/betas.ts";

/** The rooms that read what a request says. A name that none of them has is unknown to this build. */
const ROOMS = ["core/wire", "core/body", "core/http", "plugins/translate", "plugins/meter"];
/** The table of the fields that have no effect, among others. */
const FIELDS = "test/plugins/translate/fields.ts";
/** Its field is refused in the form that its client understands, which then goes on without it. */
const REFUSED_BETA = /^message-threads-/;
const CONVERSATIONS = ["messages", "input"];
/** Values below these fields are the client's own: schemas, arguments and marks of its own. */
const FREE = new Set([
  ...["input_schema", "parameters", "schema", "properties", "arguments", "metadata"],
  ...["client_metadata", "internal_chat_message_metadata_passthrough"],
]);

/** Names in requests of clients that this build does not know: `beta x`, `field messages.y`, `type z`. */
export interface Watch {
  readonly url: string;
  /** Names of the clients by what they sent. */
  readonly unknown: ReadonlyMap<string, ReadonlySet<string>>;
  /** The client that sends from now on with this key. */
  expect(key: string, client: string): void;
  close(): void;
}

/** Stands between clients and a gateway, passes everything on, and notes what is not known. */
export async function startWatch(gatewayUrl: string): Promise<Watch> {
  const words = wordsOfBuild();
  const clients = new Map<string, string>();
  const unknown = new Map<string, Set<string>>();
  const note = (client: string, what: string) => {
    unknown.set(what, (unknown.get(what) ?? new Set()).add(client));
  };
  const pass = (incoming: IncomingMessage, body: Buffer) => {
    const { method, headers, url: path = "/" } = incoming;
    return request(gatewayUrl + path, {
      method,
      headers: { ...headers, "content-length": body.length },
    });
  };
  const server = createServer(async (incoming, reply) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const key = String(incoming.headers["x-api-key"] ?? incoming.headers.authorization ?? "");
    const client = clients.get(key.replace(/^Bearer /i, "")) ?? "?";
    const name = `${incoming.method} ${(incoming.url ?? "").split("?")[0]}`;
    for (const what of unknownIn(name, incoming.headers, parseJson(body.toString()), words)) {
      note(client, what);
    }
    const upstream = pass(incoming, body);
    upstream.on("response", (response) => {
      if (response.statusCode === 404) note(client, `path ${name}`);
      reply.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(reply);
    });
    upstream.on("error", () => reply.destroy());
    reply.on("close", () => upstream.destroy());
    upstream.end(body);
  });
  server.on("upgrade", (incoming, socket) => {
    const upstream = pass(incoming, Buffer.alloc(0));
    upstream.on("response", ({ statusCode, statusMessage }) => {
      socket.end(`HTTP/1.1 ${statusCode} ${statusMessage}\r\nconnection: close\r\n\r\n`);
    });
    upstream.on("error", () => socket.destroy());
    upstream.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    unknown,
    expect: (key, client) => void clients.set(key, client),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** All names in the source of the rooms, in code and in strings. */
function wordsOfBuild(): ReadonlySet<string> {
  const all = { recursive: true, encoding: "utf8" } as const;
  const files = ROOMS.flatMap((room) =>
    readdirSync(join(packageRoot, room), all).map((file) => join(room, file)),
  );
  const words = new Set<string>();
  for (const file of [...files.filter((name) => name.endsWith(".ts")), FIELDS]) {
    const text = readFileSync(join(packageRoot, file), "utf8");
    for (const [word] of text.matchAll(/[A-Za-z_][\w-]*/g)) words.add(word);
  }
  return words;
}

function unknownIn(
  path: string,
  headers: IncomingMessage["headers"],
  body: unknown,
  words: ReadonlySet<string>,
): string[] {
  const betas = `${headers["anthropic-beta"] ?? ""},${headers["openai-beta"] ?? ""}`.split(",");
  const odd = betas.map((beta) => beta.trim()).filter((beta) => beta && !featureOfBeta(beta));
  const found = odd.filter((beta) => !REFUSED_BETA.test(beta)).map((beta) => `beta ${beta}`);
  if (!isObject(body) || !path.includes("/v1/")) return found;
  const see = (value: unknown, place: string): void => {
    if (Array.isArray(value)) for (const entry of value) see(entry, place);
    if (!isObject(value)) return;
    const { type } = value;
    if (typeof type === "string" && !words.has(type) && !/_\d{8}$/.test(type)) {
      found.push(`type ${place}: ${type}`);
    }
    for (const [name, inner] of Object.entries(value)) {
      if (!words.has(name)) found.push(`field ${place}.${name}`);
      else if (!FREE.has(name) && name !== "input") see(inner, `${place}.${name}`);
    }
  };
  for (const [name, value] of Object.entries(body)) {
    if (!words.has(name)) found.push(`field ${name}`);
    else if (CONVERSATIONS.includes(name)) see(value, name);
    else if (name === "tools") {
      for (const tool of arrayOf(value)) see({ ...objectOf(tool) }, name);
    } else if (!FREE.has(name)) see(value, name);
  }
  return found;
}
