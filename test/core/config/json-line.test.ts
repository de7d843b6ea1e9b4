import t from "tap";
import { parse } from "yaml";
import { accepted, CATALOGUE, GATEWAY, refused } from "./files.ts";

const line = (yaml: string) => JSON.stringify(parse(yaml));

t.test("a config as one line of JSON", async (t) => {
  t.test("is the same config as in YAML", async (t) => {
    // They name another catalogue file.
    const { plugins: _, version: __, ...yaml } = await accepted(t, {});
    const {
      plugins,
      version: ___,
      ...json
    } = await accepted(t, {
      "gateway.yaml": line(GATEWAY).replace('"catalogue.yaml"', '"catalogue.json"'),
      "catalogue.json": `${line(CATALOGUE)}\n`,
    });
    t.equal(JSON.stringify(json), JSON.stringify(yaml));
    t.strictSame([plugins.length, plugins[0]?.name], [1, "./plugin.js"]);
    t.equal(json.catalogue.models.length, 2);
  });

  t.test("has its variables replaced, in values of any depth", async (t) => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config
    const gateway = { ...parse(GATEWAY), admin: { token: "${TOKEN:-none}-${ID}" } };
    const files = { "gateway.yaml": JSON.stringify(gateway) };
    const config = await accepted(t, files, { ID: "0123456789" });
    t.equal(config.admin.token, "none-0123456789");
    t.match(await refused(t, files), [
      /^gateway\.yaml:1 admin\.token: environment variable ID is not set/,
    ]);
  });

  t.test("must not have a key twice, as in YAML", async (t) => {
    const twice = line(GATEWAY).replace("{", '{"log":{"level":"warn"},"log":{"level":"warn"},');
    t.match((await refused(t, { "gateway.yaml": twice })).join(), /each key of a mapping once/);
  });

  t.test("quotes what is written, in the words for YAML", async (t) => {
    const problemsOf = async (gateway: string) =>
      (await refused(t, { "gateway.yaml": gateway })).map((text) => text.replace(/:\d+ /, " "));
    const wrong = { ...parse(GATEWAY), plugins: ["no-such-plugin", 7], listen: { port: "x" } };
    t.strictSame(
      await problemsOf(JSON.stringify(wrong)),
      await problemsOf(JSON.stringify(wrong, null, 2)),
    );
  });

  t.test("must not be nested without end", async (t) => {
    const deep = `${'{"a":'.repeat(40)}1${"}".repeat(40)}`;
    t.match((await refused(t, { "gateway.yaml": deep })).join(), /less nesting/);
  });
});
