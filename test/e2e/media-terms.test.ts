import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { parse, stringify } from "yaml";
import { makePng } from "../../plugins/simulator/png.ts";
import { assertBalance, assertNotCharged, billedCalls, customerWith } from "../support/billed.ts";
import { wholeCatalogueOfTests } from "../support/catalogue.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { bodies, get, paths, post, send } from "../support/requests.ts";

/** The image model of the shipped catalogue, and the same without factors. */
const PRICED = "req/gpt-image-2";
const PLAIN = "req/plain-image";
const SPEECH = "req/gpt-4o-mini-tts";
const PNG = makePng(8, 8, 0x00ff00);
const KEPT = [PRICED, SPEECH, "gpt-4.1-nano"];

let gateway: TestGateway;
t.before(async () => {
  const { models } = parse(readFileSync(wholeCatalogueOfTests(), "utf8"), { merge: true });
  const kept = models.filter(({ id }: { id: string }) => KEPT.includes(id));
  const {
    option_factors: _,
    size_factors: __,
    reference_images: ___,
    ...plain
  } = kept.find(({ id }: { id: string }) => id === PRICED);
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const catalogue = join(folder, "catalogue.yaml");
  writeFileSync(catalogue, stringify({ models: [...kept, { ...plain, id: PLAIN }] }));
  gateway = await startGateway({ config: { catalogue }, plugins: { alias: false } });
  rmSync(folder, { recursive: true });
});
t.teardown(() => gateway.close());

const image = async (fields: object, model = PRICED) => {
  const customer = await customerWith(gateway);
  const answer = await post(
    gateway,
    paths.images,
    customer,
    bodies.images({ echo: true }, { model, ...fields }),
  );
  const sent =
    answer.status === 200 ? JSON.parse(answer.json.data[0].revised_prompt).body : undefined;
  return { customer, answer, sent };
};

/** Edits an image with this many reference images, and a mask, which is none. */
async function edit(kind: "JSON" | "form", images: number, fields: object) {
  const customer = await customerWith(gateway);
  const body = bodies.images({}, { model: PRICED, ...fields });
  const image = Array.from({ length: images }, () => PNG);
  if (kind === "JSON") {
    const [ref_image, ...more] = image.map((png) => png.toString("base64"));
    return {
      customer,
      answer: await post(gateway, paths.edits, customer, { ...body, image: more, ref_image }),
    };
  }
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) form.set(name, String(value));
  const file = new Blob([new Uint8Array(PNG)], { type: "image/png" });
  for (const _ of image) form.append("image[]", file, "a.png");
  form.append("mask", file, "mask.png");
  const answer = await send(gateway, paths.edits, {
    method: "POST",
    headers: { authorization: `Bearer ${customer.key}` },
    body: form,
  });
  return { customer, answer };
}

t.test("an image", async (t) => {
  for (const [fields, quality, price] of [
    [{}, "medium", 1_000],
    [{ quality: "auto" }, "medium", 1_000],
    [{ quality: "low" }, "low", 1_000],
    [{ quality: "high" }, "high", 4_000],
    [{ quality: "high", n: 2 }, "high", 8_000],
    [{ quality: "high", input_fidelity: "high" }, "high", 4_000],
    [{ size: "auto" }, "medium", 1_000],
    [{ size: "1024x1536" }, "medium", 1_000],
    [{ size: "1536x1536" }, "medium", 1_500],
    [{ size: "2048x2048", quality: "high", n: 2 }, "high", 16_800],
    [{ size: "3840x2160" }, "medium", 3_400],
    [{ size: "3840x2160", n: 2 }, "medium", 6_800],
    [{ size: "3840x2160", n: 4, output_format: "jpeg" }, "medium", 13_600],
    [{ n: 10 }, "medium", 10_000],
  ] as const) {
    t.test(`costs ${price} đ with ${JSON.stringify(fields)}`, async (t) => {
      const { customer, answer, sent } = await image(fields);
      t.equal(answer.status, 200, answer.text);
      t.strictSame(
        [sent.quality, sent.size],
        [quality, "size" in fields ? fields.size : undefined],
      );
      t.equal(
        Number(answer.headers.get("x-svc-price-vnd-per-image")) * answer.json.data.length,
        price,
      );
      await assertBalance(gateway, customer, String(100_000 - price));
    });
  }

  for (const [images, fields, price] of [
    [1, {}, 1_000],
    [2, {}, 1_240],
    [16, {}, 4_600],
    [3, { n: 2 }, 2_960],
    [3, { quality: "high", size: "1536x1536" }, 6_480],
  ] as const) {
    for (const kind of ["JSON", "form"] as const) {
      const what = `${images} reference images in ${kind}, ${JSON.stringify(fields)}`;
      t.test(`costs ${price} đ with ${what}`, async (t) => {
        const { customer, answer } = await edit(kind, images, fields);
        t.equal(answer.status, 200, answer.text);
        await assertBalance(gateway, customer, String(100_000 - price));
      });
    }
  }

  t.test("has at most 16 reference images, and is not charged for any with more", async (t) => {
    for (const kind of ["JSON", "form"] as const) {
      const { customer, answer } = await edit(kind, 17, {});
      t.match(answer.json.error.message, /: at most 16 images/);
      await assertNotCharged(gateway, customer);
    }
  });

  t.test("costs no more with reference images if the catalogue does not price them", async (t) => {
    const { customer, answer } = await edit("form", 3, { model: PLAIN });
    t.equal(answer.status, 200, answer.text);
    await assertBalance(gateway, customer, "99000");
  });

  t.test("is refused if its price does not cover it", async (t) => {
    for (const [fields, param] of [
      [{ size: "4096x4096" }, "size"],
      [{ size: "2880x2881" }, "size"],
      [{ quality: "hd" }, "quality"],
      // Its reply of 64 MB or more would be cut, and the provider is paid for the images.
      [{ size: "3840x2160", n: 3 }, "n"],
      [{ size: "3840x2160", n: 5, output_format: "jpeg" }, "n"],
      [{ n: 8, background: "transparent" }, "n"],
    ] as const) {
      const { customer, answer } = await image(fields);
      t.equal(answer.status, 400, answer.text);
      t.equal(answer.json.error.param, param);
      await assertNotCharged(gateway, customer);
    }
  });

  t.test("is made without what its provider refuses, which a header names", async (t) => {
    const { answer, sent } = await image({ response_format: "b64_json", input_fidelity: "low" });
    t.equal(answer.status, 200, answer.text);
    t.notOk("response_format" in sent || "input_fidelity" in sent);
    const dropped = answer.headers.get("x-svc-translate-dropped");
    t.equal(dropped, "response_format,input_fidelity");
    const high = (await image({ input_fidelity: "high" })).answer;
    t.strictSame([high.status, high.headers.get("x-svc-left-out")], [200, "input_fidelity"]);
    const url = await image({ response_format: "url" });
    t.equal(url.answer.status, 400, url.answer.text);
    t.match(url.answer.json.error, { param: "response_format", code: "unsupported_parameter" });
    t.match(url.answer.json.error.message, /base64 only; ask for b64_json/);
    await assertNotCharged(gateway, url.customer);
  });

  t.test("is made without the dearer options if the catalogue lists none", async (t) => {
    const { answer, sent } = await image({ quality: "high", size: "1024x1024" }, PLAIN);
    t.equal(answer.status, 200, answer.text);
    t.equal(sent.quality, undefined);
    t.equal(answer.headers.get("x-svc-left-out"), "quality");
    for (const [fields, left] of [
      // GPT Image 2.5 and xAI.
      [{ quality: "max" }, "quality"],
      [{ quality: "xhigh", resolution: "2k" }, "quality,resolution"],
      [{ input_fidelity: ["high"] }, "input_fidelity"],
      [{ quality: { toString: 1 } }, "quality"],
      [{ partial_images: 3 }, "partial_images"],
      [{ quality: "low", resolution: "1k", input_fidelity: null, partial_images: 0 }, null],
      [{ quality: "auto" }, null],
    ] as const) {
      const other = await image(fields, PLAIN);
      t.equal(other.answer.headers.get("x-svc-left-out"), left, JSON.stringify(fields));
      for (const name of left?.split(",") ?? []) t.notOk(name in other.sent, name);
      await assertBalance(gateway, other.customer, "99000");
    }
    const larger = await image({ size: "1536x1536" }, PLAIN);
    t.equal(larger.answer.status, 400, larger.answer.text);
  });
});

t.test("a text that is longer than what the price of speech covers is refused", async (t) => {
  const customer = await customerWith(gateway);
  const speak = (input: string) =>
    post(gateway, paths.speech, customer, { model: SPEECH, voice: "alloy", input });
  const long = await speak("a".repeat(4_097));
  t.equal(long.status, 400, long.text);
  t.equal(long.json.error.param, "input");
  await assertNotCharged(gateway, customer);
  t.equal((await speak("a".repeat(4_096))).status, 200);
});

t.test("a voice by id is refused, since the ids of a provider's account are shared", async (t) => {
  const customer = await customerWith(gateway);
  const body = bodies.speech({}, { voice: { id: "voice_1234" } });
  const { status, json } = await post(gateway, paths.speech, customer, body);
  t.strictSame([status, json.error.param], [400, "voice"]);
  t.match(json.error.message, /voices by id are not kept here/);
  await assertNotCharged(gateway, customer);
});

t.test("speech", async (t) => {
  const speech = (audio_type: string, more: object = {}) =>
    bodies.speech({ audio_type, audio_bytes: 2_000 }, more);

  t.test("passes audio on with its type, and says that it is nothing else", async (t) => {
    const customer = await customerWith(gateway);
    const types = ["audio/mpeg", "Audio/ogg; codecs=opus", "application/octet-stream"];
    for (const type of types) {
      const { status, headers } = await post(gateway, paths.speech, customer, speech(type));
      const shown = ["content-type", "x-content-type-options"].map((name) => headers.get(name));
      t.strictSame([status, ...shown], [200, type, "nosniff"]);
    }
    t.equal((await billedCalls(gateway, customer, types.length)).length, types.length);
  });

  t.test("is not a page, a script or a picture: these get 502 and cost nothing", async (t) => {
    const customer = await customerWith(gateway);
    for (const type of [
      ...["text/html", "text/plain", "text/javascript", "application/xml", "image/svg+xml"],
      ...["video/mp4", "application/pdf", "audio", "x-audio/mpeg"],
    ]) {
      const { status, headers, json } = await post(gateway, paths.speech, customer, speech(type));
      t.equal(status, 502, type);
      t.match(headers.get("content-type"), /^application\/json/);
      t.match(json.error.message, /invalid reply. Nothing was charged/);
    }
    await assertNotCharged(gateway, customer);
  });
});

t.test("no reply of an endpoint is read as a page, not even an error", async (t) => {
  const customer = await customerWith(gateway);
  const answers = [
    await post(gateway, paths.chat, customer, bodies.chat()),
    await post(gateway, paths.chat, customer, bodies.chat({}, { stream: true })),
    await post(gateway, paths.chat, customer, bodies.chat({ status: 400 })),
    await post(gateway, paths.chat, undefined, bodies.chat()),
    await post(gateway, paths.chat, customer, "{"),
    await get(gateway, "/v1/models", customer),
    await get(gateway, "/v1/nowhere", customer),
  ];
  for (const { headers, status, text } of answers) {
    t.equal(headers.get("x-content-type-options"), "nosniff", `${status} ${text}`);
  }
});
