import t from "tap";
import { refuse } from "../../../core/wire/refusal.ts";
import { startServer } from "../../support/server.ts";

const BEHIND = refuse.unavailable("The gateway has too many calls to charge; try again later.", {
  headers: ["retry-after", "17"],
});

t.test("a call is refused before its body is read and a plugin runs", async (t) => {
  let isFull = true;
  const admitted: string[] = [];
  const admits = {
    name: "admits",
    admit({ id }: { readonly id: string }) {
      admitted.push(id);
      return undefined;
    },
  };
  const server = await startServer(
    [admits],
    (_, response) => void response.end("{}"),
    () => (isFull ? BEHIND : undefined),
  );
  t.teardown(() => server.close());
  // No JSON: the body is not looked at.
  const send = (path: string) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { method: "POST", body: "{" });

  for (const path of ["/v1/messages", "/v1/chat/completions"]) {
    const response = await send(path);
    t.equal(response.status, 503, path);
    t.equal(response.headers.get("retry-after"), "17");
    const { error, type } = (await response.json()) as {
      error: { message: string };
      type?: string;
    };
    t.equal(error.message, BEHIND.message);
    t.equal(type, path === "/v1/messages" ? "error" : undefined, "the shape of the protocol");
  }
  t.strictSame(admitted, []);
  t.strictSame(server.ended, [], "a refusal is no call");
  t.strictSame(server.logged, [], "and no line in the log");

  isFull = false;
  t.equal((await send("/v1/messages")).status, 400);
  t.equal(admitted.length, 1);
});
