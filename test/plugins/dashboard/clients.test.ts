import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { parse } from "yaml";
import { packageRoot } from "../../../core/process/root.ts";
import {
  addressFor,
  type Client,
  clients,
  type Part,
  type Place,
  SYSTEMS,
} from "../../../plugins/dashboard/browser/how-to/clients.ts";
import { type Customer, createCustomer, usage } from "../../support/admin.ts";
import { CHAT_MODEL, IMAGE_MODEL, SPEECH_MODEL } from "../../support/ask.ts";
import { sharedGateway } from "../../support/shared-gateway.ts";
import { until } from "../../support/until.ts";

const run = promisify(execFile);

/** Programs that are not installed: they print what they were started with. */
const STUBS = ["claude", "codex", "opencode", "qwen", "copilot"];
const STUB = `#!${process.execPath}
console.log(JSON.stringify({ args: process.argv.slice(2), env: process.env }));
`;
/** Installs nothing: the packages are there, or stand-ins are. */
const NO_INSTALL = "#!/bin/sh\nexit 0\n";

/** Stand-ins for the Python libraries. They send what the library would, and read the reply as it does. */
const OPENAI_PY = `
import json, urllib.request
class Piece(dict):
    __getattr__ = lambda self, name: self.get(name)
class OpenAI:
    def __init__(self, base_url, api_key):
        self.base_url, self.api_key = base_url, api_key
        self.chat = self.completions = self
    def create(self, **body):
        headers = {"authorization": "Bearer " + self.api_key, "content-type": "application/json"}
        request = urllib.request.Request(self.base_url + "/chat/completions", json.dumps(body).encode(), headers)
        for line in urllib.request.urlopen(request):
            if line.startswith(b"data: {"):
                yield json.loads(line[6:], object_hook=Piece)
`;
const ANTHROPIC_PY = `
import json, urllib.request
class Piece(dict):
    __getattr__ = lambda self, name: self.get(name)
class Anthropic:
    def __init__(self, base_url, api_key):
        self.base_url, self.api_key = base_url, api_key
        self.messages = self
    def create(self, **body):
        headers = {"x-api-key": self.api_key, "content-type": "application/json", "anthropic-version": "2023-06-01"}
        request = urllib.request.Request(self.base_url + "/v1/messages", json.dumps(body).encode(), headers)
        return json.loads(urllib.request.urlopen(request).read(), object_hook=Piece)
`;

t.test("what the page of clients tells customers to copy", async (t) => {
  const gateway = await sharedGateway();
  const someone: Customer = await createCustomer(gateway, { creditVnd: 1_000_000 });
  const place: Place = {
    name: "My Gate & Co",
    base: gateway.url,
    key: someone.key,
    model: CHAT_MODEL,
    background: "claude-haiku-5-5",
    images: IMAGE_MODEL,
    speech: SPEECH_MODEL,
  };
  const binaries = t.testdir(
    Object.fromEntries([
      ...STUBS.map((name) => [name, STUB]),
      ...["npm", "pip"].map((name) => [name, NO_INSTALL]),
    ]),
  );
  await run("chmod", ["-R", "755", binaries]);

  /** Does what the page says, in a home folder and a working folder of its own. */
  async function follow(client: Client): Promise<{ output: string; home: string }> {
    const home = join(binaries, `home-${client.id}`);
    mkdirSync(home, { recursive: true });
    symlinkSync(join(packageRoot, "node_modules"), join(home, "node_modules"));
    writeFileSync(join(home, "openai.py"), OPENAI_PY);
    writeFileSync(join(home, "anthropic.py"), ANTHROPIC_PY);
    let output = "";
    for (const part of client.parts(place, "bash")) {
      if (part.file !== undefined) {
        const path = join(home, part.file.replace("~/", ""));
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, part.code);
      }
      if (part.kind !== "shell") continue;
      const path = [binaries, dirname(process.execPath), process.env["PATH"]].join(delimiter);
      const env = { PATH: path, HOME: home };
      const done = await run("bash", ["-euo", "pipefail", "-c", part.code], { cwd: home, env });
      output += done.stdout;
    }
    return { output, home };
  }

  async function calls(): Promise<number> {
    return (await usage(gateway, someone.accountId)).length;
  }

  async function addsOneCall(client: Client, model: string): Promise<string> {
    const before = await calls();
    const { output } = await follow(client);
    await until("the call is recorded", async () => (await calls()) > before);
    const [last] = await usage(gateway, someone.accountId);
    assert.deepEqual([last?.["model"], last?.["status"]], [model, 200], client.id);
    return output;
  }

  /** Calls the gateway with the settings that a client got. */
  async function works(address: string, path: string, key: string, model: string): Promise<void> {
    const response = await fetch(`${address}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model,
        max_tokens: 64,
        ...(path === "/responses"
          ? { input: "hi", max_tokens: undefined }
          : { messages: [{ role: "user", content: "hi" }] }),
      }),
    });
    assert.equal(response.status, 200, `${address}${path}: ${await response.text()}`);
  }

  const clientOf = (id: string): Client => {
    const found = clients.find((client) => client.id === id);
    assert.ok(found, id);
    return found;
  };
  const envOf = (output: string) => JSON.parse(output).env as Record<string, string>;

  t.test("starts Claude Code at this gateway, by the shell or by its settings", async (t) => {
    const { output, home } = await follow(clientOf("claude-code"));
    const env = envOf(output);
    const wanted = {
      ANTHROPIC_BASE_URL: gateway.url,
      ANTHROPIC_AUTH_TOKEN: someone.key,
      ANTHROPIC_MODEL: CHAT_MODEL,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: "claude-haiku-5-5",
    };
    t.match(env, wanted);
    const settings = readFileSync(join(home, ".claude/settings.json"), "utf8");
    t.strictSame(JSON.parse(settings), { env: wanted });
    const { ANTHROPIC_BASE_URL = "", ANTHROPIC_AUTH_TOKEN = "" } = env;
    await works(ANTHROPIC_BASE_URL, "/v1/messages", ANTHROPIC_AUTH_TOKEN, CHAT_MODEL);
  });

  t.test("gives Codex a provider that speaks Responses", async (t) => {
    const { output, home } = await follow(clientOf("codex"));
    const toml = readFileSync(join(home, ".codex/config.toml"), "utf8");
    const config = Object.fromEntries(
      Array.from(toml.matchAll(/^(\w+) = (".*")$/gm), ([, name, value]) => [
        name,
        JSON.parse(value ?? ""),
      ]),
    );
    t.match(toml, /^\[model_providers\.my-gate-co\]\n(.+\n)*stream_idle_timeout_ms = 900000$/m);
    t.match(config, { model: CHAT_MODEL, model_provider: "my-gate-co", wire_api: "responses" });
    const key = envOf(output)[config["env_key"]] ?? "";
    t.equal(key, someone.key);
    await works(config["base_url"], "/responses", key, config["model"]);
  });

  t.test("gives opencode, Continue and the clients with variables what they need", async (t) => {
    const opencode = await follow(clientOf("opencode"));
    const config = JSON.parse(
      readFileSync(join(opencode.home, ".config/opencode/opencode.json"), "utf8"),
    );
    t.equal(config.model, `my-gate-co/${CHAT_MODEL}`);
    const { options, models } = config.provider["my-gate-co"];
    t.ok(CHAT_MODEL in models);
    await works(options.baseURL, "/chat/completions", options.apiKey, CHAT_MODEL);

    const { home } = await follow(clientOf("continue"));
    const [model] = parse(readFileSync(join(home, ".continue/config.yaml"), "utf8")).models;
    await works(model.apiBase, "/chat/completions", model.apiKey, model.model);

    const qwen = envOf((await follow(clientOf("qwen-code"))).output);
    const { OPENAI_BASE_URL = "", OPENAI_API_KEY = "", OPENAI_MODEL = "" } = qwen;
    await works(OPENAI_BASE_URL, "/chat/completions", OPENAI_API_KEY, OPENAI_MODEL);
    const copilot = envOf((await follow(clientOf("copilot"))).output);
    const { COPILOT_PROVIDER_BASE_URL = "", COPILOT_PROVIDER_API_KEY = "" } = copilot;
    t.equal(copilot["COPILOT_MODEL"], CHAT_MODEL);
    await works(
      COPILOT_PROVIDER_BASE_URL,
      "/chat/completions",
      COPILOT_PROVIDER_API_KEY,
      CHAT_MODEL,
    );

    for (const id of ["cursor", "cline", "n8n"]) {
      const [form] = clientOf(id).parts(place, "bash");
      const address = /https?:\S+/.exec(form?.code ?? "")?.[0] ?? "";
      t.match(form?.code, someone.key);
      t.match(form?.code, CHAT_MODEL);
      await works(address, "/chat/completions", someone.key, CHAT_MODEL);
    }
  });

  t.test("calls the gateway from curl, Node.js and Python", async (t) => {
    t.match(JSON.parse(await addsOneCall(clientOf("curl"), CHAT_MODEL)), {
      object: "chat.completion",
    });
    const hasPython = await run("python3", ["--version"]).catch(() => undefined);
    if (!hasPython) t.comment("python3 is missing: its lines are not run");
    const python = hasPython ? ["openai-python", "anthropic-python"] : [];
    for (const id of ["openai-node", "anthropic-node", ...python]) {
      t.match(await addsOneCall(clientOf(id), CHAT_MODEL), /\S/, id);
    }
  });

  t.test("makes an image and speech, as files", async (t) => {
    for (const [id, model, name] of [
      ["images", IMAGE_MODEL, "cat.png"],
      ["speech", SPEECH_MODEL, "hello.mp3"],
    ] as const) {
      await addsOneCall(clientOf(id), model);
      t.ok(readFileSync(join(binaries, `home-${id}`, name)).length > 0, name);
      t.strictSame(
        clientOf(id).parts({ ...place, images: undefined, speech: undefined }, "bash"),
        [],
      );
    }
  });

  t.test("is a program for the Vercel AI SDK", async (t) => {
    const { home } = await follow({
      ...clientOf("ai-sdk"),
      parts: (...all) =>
        clientOf("ai-sdk")
          .parts(...all)
          .slice(0, 1),
    });
    await run(process.execPath, ["--check", join(home, "hello.mjs")]);
    t.match(readFileSync(join(home, "hello.mjs"), "utf8"), `baseURL: "${gateway.url}/v1"`);
  });

  t.test("sets the same in PowerShell and in cmd as in bash", async (t) => {
    const forms = {
      bash: /^export (\w+)="(.*)"$/,
      powershell: /^\$env:(\w+) = "(.*)"$/,
      cmd: /^set "(\w+)=(.*)"$/,
    };
    const read = ({ code }: Part, system: keyof typeof forms) =>
      code
        .split("\n")
        .map((line) => forms[system].exec(line)?.slice(1) ?? [line.replace("python3", "python")]);
    for (const client of clients.filter(({ id }) => id !== "curl")) {
      const [bash, ...others] = SYSTEMS.map((system) =>
        client
          .parts(place, system)
          .map((part) => (part.kind === "shell" ? read(part, system) : part.code)),
      );
      for (const other of others) t.strictSame(other, bash, client.id);
      for (const { file } of client.parts(place, "cmd")) t.notMatch(file ?? "", /[~/]/, client.id);
    }
    const [cmd] = clientOf("curl").parts(place, "cmd");
    const sent = /-d "(.*)"$/.exec(cmd?.code ?? "")?.[1]?.replaceAll('\\"', '"');
    t.match(JSON.parse(sent ?? ""), { model: CHAT_MODEL, messages: [{ role: "user" }] });
    const [powershell] = clientOf("curl").parts(place, "powershell");
    for (const part of [`${gateway.url}/v1/chat/completions`, someone.key, CHAT_MODEL]) {
      t.match(powershell?.code, part);
    }
  });

  t.test("names the address of each client, with /v1 or without", async (t) => {
    for (const client of clients) {
      const address = addressFor(client, gateway.url);
      const all = client
        .parts(place, "bash")
        .map(({ code }) => code)
        .join("\n");
      const given = Array.from(all.matchAll(/http:\/\/[^"'\s]+/g), ([url]) => url);
      for (const url of given) t.ok(url.startsWith(address), `${client.id}: ${url}`);
      t.equal(all.includes("/v1"), client.protocol === "chat" && given.length > 0, client.id);
    }
  });
});
