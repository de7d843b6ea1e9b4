import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import t, { type Test } from "tap";
import type { ImageSettings } from "../../../core/plugin/config.ts";
import { HttpImageFetcher } from "../../../core/upstream/fetch-image.ts";
import { startNameServer } from "../../support/name-server.ts";
import { until } from "../../support/until.ts";

const ANY = { signal: new AbortController().signal, received: () => {} };
const NOT_FETCHED =
  "it cannot be fetched; its server must be public, on port 80 or 443, and return the image with status 200";
const PNG = Buffer.from("89504e470d0a1a0a00", "hex");

function fetcherOf(settings: Partial<ImageSettings>) {
  return new HttpImageFetcher(() => ({ privateAddresses: false, nameServers: [], ...settings }));
}

t.test("an image whose server closes the connection while it is read", async (t) => {
  // More than is read at once, so that reading pauses; the last of it comes with the end of the connection.
  const image = Buffer.alloc(300_000);
  Buffer.from("89504e470d0a1a0a", "hex").copy(image);
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(
        `HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${image.length}\r\n\r\n`,
      );
      socket.end(image);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const fetcher = fetcherOf({ privateAddresses: true });
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (let fetches = 0; fetches < 50; fetches += 1) {
    t.match(await fetcher.fetch(`http://127.0.0.1:${port}/`, ANY), { data: image });
  }
});

async function nameServer(t: Test, names: Readonly<Record<string, string>>) {
  const server = await startNameServer(names);
  t.teardown(() => server.close());
  return server;
}

/** A server of an image, which redirects `/to/NAME` to the image at another name. */
async function imageServer(t: Test) {
  const hosts: (string | undefined)[] = [];
  const server = createHttpServer(({ url = "", headers }, response) => {
    hosts.push(headers.host?.replace(/:.*/, ""));
    const [, to] = /^\/to\/(.+)/.exec(url) ?? [];
    if (to === undefined) response.end(PNG);
    else response.writeHead(302, { location: `http://${to}:${port}/` }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  t.teardown(() => server.close());
  return { port, hosts };
}

t.test(
  "the name of an image is resolved by name servers, outside of libuv's thread pool",
  async (t) => {
    const { address, asked } = await nameServer(t, {});
    const fetcher = fetcherOf({ nameServers: [address] });
    const left = new AbortController();
    const names = ["one.silent.example", "two.silent.example", "three.silent.example"];
    const results = Promise.all(
      names.map((name) => fetcher.fetch(`http://${name}/a.png`, { ...ANY, signal: left.signal })),
    );
    await until("all are asked for", () => names.every((name) => asked.includes(name)));
    t.notOk(process.getActiveResourcesInfo().includes("GetAddrInfoReqWrap"));
    left.abort();
    t.strictSame(
      await results,
      names.map(() => NOT_FETCHED),
    );
    const again = fetcher.fetch("http://four.silent.example/", { ...ANY, signal: left.signal });
    t.equal(await again, NOT_FETCHED);
    t.notOk(asked.includes("four.silent.example"), "nothing is asked for a client that has left");
  },
);

t.test("a name server that never replies ends a fetch by itself", async (t) => {
  const { address } = await nameServer(t, {});
  const fetcher = fetcherOf({ nameServers: [address] });
  t.equal(await fetcher.fetch("http://silent.example/a.png", ANY), NOT_FETCHED);
});

t.test("an image is fetched from the address that its name has", async (t) => {
  const { port, hosts } = await imageServer(t);
  const names = { "a.example": "127.0.0.1", "b.example": "127.0.0.1" };
  const { address, asked } = await nameServer(t, names);
  const fetcher = fetcherOf({ privateAddresses: true, nameServers: [address] });
  t.match(await fetcher.fetch(`http://a.example:${port}/`, ANY), { data: PNG });
  t.match(await fetcher.fetch(`http://a.example:${port}/to/b.example`, ANY), { data: PNG });
  t.match(await fetcher.fetch(`http://localhost:${port}/`, ANY), { data: PNG });
  t.strictSame(hosts, ["a.example", "a.example", "b.example", "localhost"]);
  t.strictSame(new Set(asked), new Set(Object.keys(names)));
});

t.test("a name with a private address is refused, also after a redirect", async (t) => {
  const { port, hosts } = await imageServer(t);
  const { address } = await nameServer(t, { "a.example": "127.0.0.1", "b.example": "10.0.0.1" });
  let isPrivateAllowed = false;
  const fetcher = new HttpImageFetcher(() => ({
    privateAddresses: isPrivateAllowed && hosts.length === 0,
    nameServers: [address],
  }));
  const refused = NOT_FETCHED;
  for (const host of ["a.example", "b.example", "localhost", "a.localhost", "localhost."]) {
    t.equal(await fetcher.fetch(`http://${host}:${port}/`, ANY), refused, host);
  }
  t.strictSame(hosts, []);
  isPrivateAllowed = true;
  t.equal(await fetcher.fetch(`http://a.example:${port}/to/b.example`, ANY), refused);
  t.strictSame(hosts, ["a.example"]);
});

t.test(
  "a failed fetch does not say whether a name or a port of the operator's network exists",
  async (t) => {
    const { port } = await imageServer(t);
    const { address, asked } = await nameServer(t, { "inner.example": "10.0.0.1" });
    const fetcher = fetcherOf({ nameServers: [address] });
    for (const image of [
      `http://127.0.0.1:${port}/`,
      "http://inner.example/",
      "http://unknown.example/",
      "http://outer.example:8080/",
      "http://localhost/",
      "ftp://outer.example/",
      "no address",
    ]) {
      t.equal(await fetcher.fetch(image, ANY), NOT_FETCHED, image);
    }
    t.notOk(asked.includes("outer.example"), "a name at another port is not even resolved");
    const inside = fetcherOf({ privateAddresses: true });
    const gone = createHttpServer((_, response) => void response.writeHead(404).end());
    gone.listen(0, "127.0.0.1");
    await once(gone, "listening");
    t.teardown(() => gone.close());
    const at = (gone.address() as AddressInfo).port;
    t.equal(await inside.fetch(`http://127.0.0.1:${at}/`, ANY), NOT_FETCHED, "404");
  },
);

t.test("a fetch says who asks, as servers of images want", async (t) => {
  const server = createHttpServer(({ headers }, response) => {
    const isNamed = /^Tollgate\/\d+\.\d+\.\d+/.test(headers["user-agent"] ?? "");
    response.writeHead(isNamed && headers.accept?.startsWith("image/*") ? 200 : 403).end(PNG);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const fetcher = fetcherOf({ privateAddresses: true });
  t.match(await fetcher.fetch(`http://127.0.0.1:${port}/`, ANY), { data: PNG });
});
