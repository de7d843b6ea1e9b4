import { PassThrough } from "node:stream";
import t from "tap";
import { ask } from "../../../plugins/admin/cli/ask.ts";
import { Failure } from "../../../plugins/admin/cli/failure.ts";

/** Asks on a terminal at which a person types this. */
function asked(typed: string, isEnd = false): Promise<string> {
  const input = new PassThrough();
  const reply = ask("NAME: ", { input, output: new PassThrough() });
  if (isEnd) input.end(typed);
  else input.write(typed);
  return reply;
}

t.test("a question at the terminal", async (t) => {
  t.equal(await asked("a reply\r"), "a reply");
  t.equal(await asked("\r"), "");
  for (const [name, reply] of [
    ["Ctrl-C", asked("half\u0003")],
    ["Ctrl-D", asked("\u0004")],
    ["the end of the input", asked("half", true)],
  ] as const) {
    await t.rejects(reply, { exitCode: 1, message: /^\nNothing has changed\.$/ }, name);
    await t.rejects(reply, Failure, name);
  }
});
