import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { toFile } from "openai";
import t from "tap";
import { asking, type Bench, post, startBench } from "./sim.ts";

t.test("OpenAI's client against simulated images and speech", async (t) => {
  let bench: Bench;
  t.before(async () => {
    bench = await startBench();
  });
  t.teardown(() => bench.simulator.close());

  t.test("makes n real images of the requested size", async (t) => {
    const { data, usage } = await bench.openai.images.generate({
      prompt: "a cat",
      n: 2,
      size: "1024x1536",
    });
    assert.equal(data?.length, 2);
    const png = Buffer.from(data[0]?.b64_json ?? "", "base64");
    t.equal(png.toString("latin1", 1, 4), "PNG");
    t.strictSame([png.readUInt32BE(16), png.readUInt32BE(20)], [1_024, 1_536]);
    assert.equal(usage?.input_tokens, 2);
    t.equal(usage.output_tokens, 2_000);
  });

  t.test("returns fewer images than requested, of a given size, or URLs", async (t) => {
    const fewer = await bench.openai.images.generate({
      prompt: asking({ images: 1, image_bytes: 100_000 }),
      n: 4,
    });
    assert.equal(fewer.data?.length, 1);
    t.equal(Buffer.from(fewer.data[0]?.b64_json ?? "", "base64").length, 100_000);
    const urls = await bench.openai.images.generate({
      ...{ model: "dall-e-3", prompt: "x" },
      response_format: "url",
    });
    t.match(urls.data?.[0]?.url ?? "", /^https:\/\/images\.simulator\.invalid\/.*\.png$/);
  });

  t.test("edits by multipart and by JSON, and counts the input images", async (t) => {
    const image = await toFile(Buffer.from("png"), "a.png", { type: "image/png" });
    const form = await bench.openai.images.edit({
      image: [image, image],
      prompt: asking({ images: 2 }),
    });
    t.equal(form.data?.length, 2);
    t.equal(form.usage?.input_tokens_details.image_tokens, 512);
    const body = JSON.stringify({ model: "m", prompt: "x", image: "data:image/png;base64,AAAA" });
    const json = await post(bench, "/v1/images/edits", body);
    const answer = (await json.json()) as { data: unknown[]; usage: { input_tokens: number } };
    t.equal(answer.data.length, 1);
    t.equal(answer.usage.input_tokens, 257);
  });

  t.test("echoes a form with the digests of its files", async (t) => {
    const image = await toFile(Buffer.from("png"), "a.png", { type: "image/png" });
    const { data } = await bench.openai.images.edit({ image, prompt: asking({ echo: true }) });
    const echo = JSON.parse(data?.[0]?.revised_prompt ?? "") as { body: { image: object } };
    t.strictSame(echo.body.image, {
      filename: "a.png",
      type: "image/png",
      bytes: 3,
      sha256: createHash("sha256").update("png").digest("hex"),
    });
  });

  t.test("streams an image with partial images before it", async (t) => {
    const stream = await bench.openai.images.generate({
      prompt: "x",
      stream: true,
      partial_images: 2,
    });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    t.strictSame(types, [
      "image_generation.partial_image",
      "image_generation.partial_image",
      "image_generation.completed",
    ]);
  });

  t.test("returns speech with the content type of the requested format", async (t) => {
    const speech = { model: "tts", voice: "alloy", input: "hello" };
    const mp3 = await bench.openai.audio.speech.create(speech);
    t.equal(mp3.headers.get("content-type"), "audio/mpeg");
    t.equal((await mp3.arrayBuffer()).byteLength, 4_180);
    const wav = await bench.openai.audio.speech.create({
      ...speech,
      input: asking({ audio_bytes: 1_000_000 }),
      response_format: "wav",
    });
    t.equal(wav.headers.get("content-type"), "audio/wav");
    t.equal((await wav.arrayBuffer()).byteLength, 1_000_000);
    // A name that every object inherits is no format either.
    const odd = JSON.parse('"constructor"');
    const unknown = await bench.openai.audio.speech.create({ ...speech, response_format: odd });
    t.equal(unknown.headers.get("content-type"), "application/octet-stream");
    const events = await bench.openai.audio.speech.create({ ...speech, stream_format: "sse" });
    t.match(await events.text(), /^event: speech\.audio\.delta\n.*event: speech\.audio\.done\n/s);
  });
});
