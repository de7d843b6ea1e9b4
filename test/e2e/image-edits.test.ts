import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import t from "tap";
import { makePng } from "../../plugins/simulator/png.ts";
import { assertBalance, assertNotCharged, customerWith } from "../support/billed.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { type Answer, bodies, paths, post, reload, send } from "../support/requests.ts";
import { until } from "../support/until.ts";

const FIELDS = ["image", "image_url", "reference_image", "ref_image"] as const;
const PRIVATE_TOO = { config: { images: { private_addresses: true } } };

const png = makePng(8, 8, 0x00ff00);
/** The first bytes that identify each format. */
const formats = {
  "image/png": png,
  "image/jpeg": Buffer.from("ffd8ffe000104a464946", "hex"),
  "image/gif": Buffer.from("GIF89a\x01\x00\x01\x00", "latin1"),
  "image/webp": Buffer.from("RIFF\x0c\x00\x00\x00WEBPVP8 ", "latin1"),
} as const;

t.test("POST /v1/images/edits", async (t) => {
  let gateway: TestGateway;
  let server: Server;
  let address: string;
  let asked: string[];
  const waiting: (() => void)[] = [];

  t.before(async () => {
    gateway = await startGateway(PRIVATE_TOO);
    asked = [];
    server = createServer((request, response) => {
      asked.push(request.url ?? "");
      switch (request.url) {
        case "/photo":
          return response.writeHead(200, { "content-type": "text/plain" }).end(png);
        case "/moved":
          return response.writeHead(302, { location: "/photo" }).end();
        case "/round":
          return response.writeHead(302, { location: "/round" }).end();
        case "/moved-with-a-body":
          return response.writeHead(302, { location: "/missing-with-a-body" }).write("never ended");
        case "/missing-with-a-body":
          return response.writeHead(404).write("never ended");
        case "/cut":
          response.writeHead(200, { "content-length": 1000 }).write(png);
          return setImmediate(() => response.destroy());
        case "/page":
          return response.writeHead(200, { "content-type": "image/png" }).end("<html></html>");
        case "/big":
          return response.writeHead(200).end(Buffer.concat([png], 11 * 1024 * 1024));
        case "/slow":
          waiting.push(() => response.end(png));
          return;
        case "/large":
          response.writeHead(200);
          return response.end(Buffer.concat([png], 20 * 1024 * 1024 + 1));
        default:
          return response.writeHead(404).end();
      }
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const bound = server.address();
    assert.ok(bound !== null && typeof bound === "object");
    address = `http://127.0.0.1:${bound.port}`;
  });
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
    await gateway.close();
  });

  /** Edits an image. Asserts its charge, in đ. */
  const edit = async (body: object, vnd = 1_000): Promise<Answer> => {
    const customer = await customerWith(gateway);
    const answer = await post(gateway, paths.edits, customer, body);
    if (answer.status === 200) await assertBalance(gateway, customer, String(100_000 - vnd));
    else await assertNotCharged(gateway, customer);
    return answer;
  };
  /** The form that the provider received. */
  const sent = (answer: Answer) => {
    assert.equal(answer.status, 200, answer.text);
    return JSON.parse(answer.json.data[0].revised_prompt).body;
  };
  const digest = (data: Buffer) => createHash("sha256").update(data).digest("hex");

  for (const field of FIELDS) {
    t.test(`accepts the image as ${field}: a data URL, plain base64 or an address`, async (t) => {
      const base64 = png.toString("base64");
      for (const source of [`data:image/png;base64,${base64}`, base64, `${address}/photo`]) {
        const form = sent(await edit(bodies.images({ echo: true }, { [field]: source })));
        t.equal(form.image.sha256, digest(png));
        t.equal(form.image.type, "image/png");
        t.equal(form.model, "gpt-image-2");
      }
    });
  }

  t.test(
    "accepts PNG, JPEG, WebP and GIF, detected by their bytes whatever type is declared",
    async (t) => {
      for (const [type, data] of Object.entries(formats)) {
        const image = `data:application/octet-stream;base64,${data.toString("base64")}`;
        const form = sent(await edit(bodies.images({ echo: true }, { image })));
        t.equal(form.image.type, type);
        t.equal(form.image.sha256, digest(data));
      }
    },
  );

  t.test("passes the other fields on", async (t) => {
    const image = png.toString("base64");
    const more = { image, size: "512x512", quality: "low", user: "u1" };
    const form = sent(await edit(bodies.images({ echo: true }, more)));
    t.equal(form.size, "512x512");
    t.equal(form.quality, "low");
    t.match(form.prompt, /^hello/);
  });

  t.test(
    "names the account instead of the client's user, as for an image that is made",
    async (t) => {
      const customer = await customerWith(gateway);
      const body = bodies.images({ echo: true }, { user: "u1" });
      const image = png.toString("base64");
      const made = sent(await post(gateway, paths.images, customer, body));
      const edited = sent(await post(gateway, paths.edits, customer, { ...body, image }));
      t.match(edited.user, /^[0-9a-f]{64}$/);
      t.equal(edited.user, made.user);
    },
  );

  t.test("leaves out what the provider refuses, of JSON and of a form", async (t) => {
    const refused = { response_format: "b64_json", input_fidelity: "low" };
    const body = bodies.images({ echo: true }, { image: png.toString("base64"), ...refused });
    const form = new FormData();
    for (const [name, value] of Object.entries(body)) form.set(name, String(value));
    const headers = { authorization: `Bearer ${(await customerWith(gateway)).key}` };
    for (const answer of [
      await edit(body),
      await send(gateway, paths.edits, { method: "POST", headers, body: form }),
    ]) {
      const reached = sent(answer);
      t.notOk("response_format" in reached || "input_fidelity" in reached);
      const dropped = answer.headers.get("x-svc-translate-dropped");
      t.equal(dropped, "response_format,input_fidelity");
    }
    const url = await edit({ ...body, response_format: "url" });
    t.strictSame([url.status, url.json.error.param], [400, "response_format"]);
  });

  t.test("accepts several images, as a list or under several names", async (t) => {
    const image = png.toString("base64");
    for (const more of [{ image: [image, image] }, { image, ref_image: image }]) {
      const form = sent(await edit(bodies.images({ echo: true }, more), 1_240));
      t.equal(form.image.length, 2);
    }
  });

  t.test("accepts the images and the mask of OpenAI's JSON, and xAI's", async (t) => {
    const data = `data:image/png;base64,${png.toString("base64")}`;
    for (const [more, vnd] of [
      [{ images: [{ image_url: data }] }, 1_000],
      [{ images: [{ image_url: `${address}/photo` }, { image_url: data }] }, 1_240],
      [{ images: [{ image_url: data }], image: data }, 1_240],
      [{ images: [data, data] }, 1_240],
      [{ images: [{ image_url: data }], mask: { image_url: data } }, 1_000],
      [{ image: data, mask: { image_url: `${address}/photo` } }, 1_000],
      [{ image: data, mask: data }, 1_000],
      [{ image: { url: data, type: "image_url" } }, 1_000],
      [{ image: [{ url: data }, { url: data }] }, 1_240],
    ] as const) {
      const form = sent(await edit(bodies.images({ echo: true }, more), vnd));
      for (const image of [form.image, form.mask ?? []].flat()) {
        t.match(image, { type: "image/png", sha256: digest(png) });
      }
      t.equal([form.image].flat().length, vnd === 1_000 ? 1 : 2);
      t.equal("mask" in form, "mask" in more);
      t.notOk("images" in form);
    }
    for (const [more, param] of [
      [{ images: [{ file_id: "file-1" }] }, "images"],
      [{ images: [{ image_url: 7 }] }, "images"],
      [{ images: [] }, "image"],
      [{ image: data, mask: { file_id: "file-1" } }, "mask"],
      [{ image: data, mask: "no image" }, "mask"],
      [{ image: data, mask: [data, data] }, "mask"],
      [{ mask: data }, "image"],
    ] as const) {
      const { status, json } = await edit(bodies.images({}, more));
      t.strictSame([status, json.error.param], [400, param], JSON.stringify(json));
    }
  });

  t.test("accepts a mask of a form, as a file of any stated type or as text", async (t) => {
    const file = (data: Buffer) =>
      new Blob([new Uint8Array(data)], { type: "application/octet-stream" });
    const { model, prompt } = bodies.images({ echo: true });
    const ask = async (mask: string | Buffer) => {
      const form = new FormData();
      form.set("model", model);
      form.set("prompt", prompt);
      form.set("image", file(png), "ảnh.png");
      if (typeof mask === "string") form.set("mask", mask);
      else form.set("mask", file(mask), "mặt nạ.png");
      const headers = { authorization: `Bearer ${(await customerWith(gateway)).key}` };
      return send(gateway, paths.edits, { method: "POST", headers, body: form });
    };
    const base64 = png.toString("base64");
    for (const mask of [png, base64, `data:image/png;base64,${base64}`, `${address}/photo`]) {
      const form = sent(await ask(mask));
      t.match(form.mask, { type: "image/png", sha256: digest(png), filename: /\.png$/ });
      t.equal(form.image.filename, "ảnh.png");
    }
    for (const mask of [Buffer.from("no image"), "no image"]) {
      const { status, json } = await ask(mask);
      t.strictSame([status, json.error.param], [400, "mask"]);
    }
  });

  t.test("refuses anything but an image of the four formats", async (t) => {
    for (const image of [
      "data:image/bmp;base64,Qk0AAAAAAAAAAAAA",
      Buffer.from("not an image").toString("base64"),
      "no base64 at all!",
      "ftp://images.example/a.png",
      "file:///etc/passwd",
      7,
      "",
      `${address}/page`,
      `${address}/missing`,
      `${address}/round`,
      `${address}/large`,
    ]) {
      const answer = await edit(bodies.images({}, { image }));
      t.equal(answer.status, 400, `${image}: ${answer.text}`);
      t.equal(answer.json.error.type, "invalid_request_error");
      t.equal(answer.json.error.param, "image");
    }
    const missing = await edit(bodies.images());
    t.match(missing.json.error.message, /^image: a reference image is required/);
  });

  t.test("survives image servers that misbehave", async (t) => {
    for (const path of ["/moved-with-a-body", "/missing-with-a-body", "/cut", "/large"]) {
      await edit(bodies.images({}, { image: address + path }));
    }
    t.equal((await edit(bodies.images({}, { image: png.toString("base64") }))).status, 200);
  });

  t.test("fetches nothing for a wallet that does not cover the call", async (t) => {
    const customer = await customerWith(gateway, 999);
    asked = [];
    const image = [`${address}/photo`, `${address}/large`];
    const answer = await post(gateway, paths.edits, customer, bodies.images({}, { image }));
    t.equal(answer.status, 402, answer.text);
    t.strictSame(asked, []);
  });

  t.test("fetches images that are too large together, and gives the hold back", async (t) => {
    const image = [`${address}/big`, `${address}/big`, `${address}/photo`];
    const answer = await edit(bodies.images({}, { image }));
    t.equal(answer.status, 400);
    t.match(answer.json.error.message, /larger than 20 MB together/);
  });

  t.test("fetches for two calls of an account at a time, and for other accounts", async (t) => {
    const customer = await customerWith(gateway);
    const ask = (of: typeof customer, path = "/slow") =>
      post(gateway, paths.edits, of, bodies.images({}, { image: address + path }));
    const slow = [ask(customer), ask(customer)];
    await until("both are being fetched", () => waiting.length === 2);
    const third = await ask(customer, "/photo");
    t.equal(third.status, 429);
    t.match(third.json.error.message, /fetched for other calls/);
    t.equal((await ask(await customerWith(gateway), "/photo")).status, 200);
    for (const finish of waiting.splice(0)) finish();
    for (const { status } of await Promise.all(slow)) t.equal(status, 200);
    t.equal((await ask(customer, "/photo")).status, 200);
    await assertBalance(gateway, customer, "97000");
  });

  t.test("follows a redirect", async (t) => {
    const form = sent(await edit(bodies.images({ echo: true }, { image: `${address}/moved` })));
    t.equal(form.image.sha256, digest(png));
  });

  t.test("accepts a file of a form, under each of the four names", async (t) => {
    for (const field of FIELDS) {
      const customer = await customerWith(gateway);
      const form = new FormData();
      const { model, prompt } = bodies.images({ echo: true });
      form.set("model", model);
      form.set("prompt", prompt);
      form.set("n", "2");
      form.set("size", "512x512");
      form.set(field, new Blob([new Uint8Array(png)], { type: "image/png" }), "ảnh đẹp.png");
      const answer = await send(gateway, paths.edits, {
        method: "POST",
        headers: { authorization: `Bearer ${customer.key}` },
        body: form,
      });
      const reached = sent(answer);
      t.equal(reached.image.filename, "ảnh đẹp.png");
      t.equal(reached.image.sha256, digest(png));
      t.equal(reached.size, "512x512");
      t.equal(answer.json.data.length, 2);
      await assertBalance(gateway, customer, "98000");
    }
  });

  t.test("accepts several images of a form, in a list or numbered", async (t) => {
    const file = new Blob([new Uint8Array(png)], { type: "image/png" });
    for (const names of [
      ["image[]", "image[]"],
      ["image[0]", "image[1]"],
    ]) {
      for (const images of [
        [file, file],
        [`${address}/photo`, `${address}/photo`],
      ]) {
        const customer = await customerWith(gateway);
        const form = new FormData();
        const { model, prompt } = bodies.images({ echo: true });
        form.set("model", model);
        form.set("prompt", prompt);
        for (const [at, name] of names.entries()) form.append(name, images[at] as Blob);
        const headers = { authorization: `Bearer ${customer.key}` };
        const answer = await send(gateway, paths.edits, { method: "POST", headers, body: form });
        t.equal(sent(answer).image.length, 2);
        await assertBalance(gateway, customer, "98760");
      }
    }
  });

  t.test("accepts the other forms of an image inside a form too", async (t) => {
    const customer = await customerWith(gateway);
    const form = new FormData();
    const { model, prompt } = bodies.images({ echo: true });
    form.set("model", model);
    form.set("prompt", prompt);
    form.set("image_url", `${address}/photo`);
    const answer = await send(gateway, paths.edits, {
      method: "POST",
      headers: { authorization: `Bearer ${customer.key}` },
      body: form,
    });
    t.equal(sent(answer).image.sha256, digest(png));
  });

  t.test("reads a form whose media type is written in another case", async (t) => {
    const customer = await customerWith(gateway);
    const form = new FormData();
    form.set("model", "req/gpt-image-2");
    form.set("prompt", "a lantern");
    form.set("image", new Blob([new Uint8Array(png)], { type: "image/png" }), "in.png");
    const request = new Request("http://g/", { method: "POST", body: form });
    const type = (request.headers.get("content-type") ?? "").replace(
      "multipart/form-data",
      "Multipart/Form-Data",
    );
    const answer = await send(gateway, paths.edits, {
      method: "POST",
      headers: { authorization: `Bearer ${customer.key}`, "content-type": type },
      body: Buffer.from(await request.arrayBuffer()),
    });
    t.equal(answer.status, 200, JSON.stringify(answer.json));
  });

  t.test("sends each field of a form upstream as it was read, and once", async (t) => {
    const customer = await customerWith(gateway);
    const { model, prompt } = bodies.images({ echo: true });
    const base: readonly (readonly [string, string | Blob])[] = [
      ["model", model],
      ["prompt", prompt],
      ["image", new Blob([new Uint8Array(png)], { type: "image/png" })],
    ];
    const ask = (...more: readonly (readonly [string, string | Blob])[]) => {
      const form = new FormData();
      for (const [name, value] of [...base, ...more]) {
        if (typeof value === "string") form.append(name, value);
        else form.append(name, value, "a.png");
      }
      const headers = { authorization: `Bearer ${customer.key}` };
      return send(gateway, paths.edits, { method: "POST", headers, body: form });
    };
    const { n, model: sentModel, size } = sent(await ask(["n", "010"], ["size", "512x512"]));
    t.strictSame([n, sentModel, size], ["10", "gpt-image-2", "512x512"]);
    await assertBalance(gateway, customer, "90000");
    const plain = await ask(["stream", "false"], ["output_compression", "50"], ["user", "42"]);
    t.match(sent(plain), { stream: "false", output_compression: "50", user: /^[0-9a-f]{64}$/ });
    await assertBalance(gateway, customer, "89000");

    for (const more of [
      [
        ["n", "10"],
        ["n", "1"],
      ],
      [
        ["n", "1"],
        ["n", "10"],
      ],
      [
        ["n", "1"],
        ["n[]", "10"],
      ],
      [["n[0]", "10"]],
      [["n", new Blob(["10"])]],
      [["model", "req/gpt-image-2"]],
      [["model[]", "other"]],
      [["model", new Blob(["other"])]],
      [["size", "x".repeat(1_100_000)]],
    ] as const) {
      const answer = await ask(...more);
      t.equal(answer.status, 400, JSON.stringify(more).slice(0, 80));
      t.equal(answer.json.error.param, more[0][0].replace(/\W.*/, ""));
    }
    await assertBalance(gateway, customer, "89000");
  });

  t.test("refuses a malformed form, and a form on JSON endpoints", async (t) => {
    const customer = await customerWith(gateway);
    const headers = {
      authorization: `Bearer ${customer.key}`,
      "content-type": "multipart/form-data; boundary=x",
    };
    for (const path of [paths.edits, paths.images, paths.chat]) {
      const answer = await send(gateway, path, { method: "POST", headers, body: "--y\r\n" });
      t.equal(answer.status, 400, path);
      t.equal(answer.json.error.type, "invalid_request_error");
    }
    await assertNotCharged(gateway, customer);
  });

  t.test("sends addresses of private hosts upstream, and none of another scheme", async (t) => {
    const customer = await customerWith(gateway);
    for (const [url, status] of [
      ["http://10.0.0.1/a.png", 200],
      ["http://localhost/a.png", 200],
      ["file:///etc/passwd", 400],
    ] as const) {
      const content = [{ type: "image_url", image_url: { url } }];
      const body = bodies.chat({}, { messages: [{ role: "user", content }] });
      t.equal((await post(gateway, paths.chat, customer, body)).status, status, url);
    }
  });

  t.test("goes out as JSON to a provider that takes no form", async (t) => {
    const upstreams = { openai: { profile: { image_edits: "json" } } };
    await reload(gateway, { config: { ...PRIVATE_TOO.config, upstreams } });
    const url = `data:image/png;base64,${png.toString("base64")}`;
    const source = { url };
    for (const [more, images, vnd] of [
      [{ ref_image: url, user: "u1", resolution: "1k" }, { image: source }, 1_000],
      [{ image: png.toString("base64") }, { image: source }, 1_000],
      [{ image: source, mask: { image_url: url } }, { image: source, mask: source }, 1_000],
      [{ image: [`${address}/photo`, url] }, { images: [source, source] }, 1_240],
    ] as const) {
      const reached = sent(await edit(bodies.images({ echo: true }, more), vnd));
      const { image, images: several, mask, model, prompt } = reached;
      t.strictSame(JSON.parse(JSON.stringify({ image, images: several, mask })), images);
      t.match([model, prompt], ["gpt-image-2", /^hello/]);
      t.notOk("ref_image" in reached);
    }
    const customer = await customerWith(gateway);
    const form = new FormData();
    const numbers = { n: "2", output_compression: "80" };
    const fields = { ...bodies.images({ echo: true }), ...numbers };
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.set("image", new Blob([new Uint8Array(png)]), "a.png");
    const headers = { authorization: `Bearer ${customer.key}` };
    const answer = await send(gateway, paths.edits, { method: "POST", headers, body: form });
    t.match(sent(answer), { image: source, n: 2, output_compression: 80 });
    await assertBalance(gateway, customer, "98000");
    await reload(gateway, PRIVATE_TOO);
    t.match(sent(await edit(bodies.images({ echo: true }, { image: url }))).image, {
      sha256: digest(png),
    });
  });

  t.test("fetches from public addresses only, unless the config allows others", async (t) => {
    await reload(gateway, { config: { images: { private_addresses: false } } });
    asked = [];
    const { port } = new URL(address);
    for (const image of [
      `${address}/photo`,
      `http://localhost:${port}/photo`,
      `http://[::1]:${port}/photo`,
      `http://[::ffff:127.0.0.1]:${port}/photo`,
      `http://0.0.0.0:${port}/photo`,
      `http://2130706433:${port}/photo`,
      "http://169.254.169.254/latest/meta-data/",
      "http://10.0.0.1/photo",
      "http://192.168.0.1/photo",
    ]) {
      const answer = await edit(bodies.images({}, { image }));
      t.equal(answer.status, 400, image);
      t.match(answer.json.error.message, /its server must be public, on port 80 or 443/);
    }
    t.strictSame(asked, []);
    const inline = await edit(bodies.images({}, { image: png.toString("base64") }));
    t.equal(inline.status, 200);
    await reload(gateway, PRIVATE_TOO);
  });
});
