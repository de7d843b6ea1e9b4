import t from "tap";
import { ServerEvent } from "../../../core/sse/reader.ts";
import { Delivered } from "../../../core/wire/wire.ts";
import { wires } from "../../../core/wire/wires.ts";
import { Random } from "../../support/random.ts";

const EVENTS = [
  'data: {"choices":[{"delta":{"content":"abc","tool_calls":[{"function":{"name":"x","arguments":"{\\"a\\":1}"}}],"audio":{"data":"AAA"},"reasoning":[{"text":"q"}]}}]}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"abc\\n\\u00e9"}}\n\n',
  'event: content_block_start\ndata: {"type":"content_block_start","content_block":{"type":"tool_use","name":"x","input":{"a":[1,{"b":2}]}}}\n\n',
  'event: response.output_item.added\ndata: {"type":"response.output_item.added","item":{"type":"function_call","name":"x","arguments":""}}\n\n',
  'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"abc"}\n\n',
];
const SIGNS = '"\\{}[]:, \n\tabn1ué'.split("");
const ROUNDS = 20_000;

/** The events are read byte by byte, and what a provider sends need not be JSON. */
t.test("broken events end the count of their output, whatever is broken", async (t) => {
  const random = new Random(20261123);
  for (let round = 0; round < ROUNDS; round++) {
    const event = new ServerEvent(Buffer.from(broken(random)));
    for (const protocol of ["chat", "messages", "responses"] as const) {
      const delivered = new Delivered();
      wires[protocol].countDelta(event, delivered);
      wires[protocol].stage(event);
      const bytes = delivered.asciiBytes + delivered.otherBytes + delivered.mediaBytes;
      if (bytes > event.raw.length) t.fail(`counts more than came: ${event.data}`);
    }
  }
  t.pass(`${ROUNDS} events`);
});

function broken(random: Random): string {
  let text = random.pick(EVENTS);
  for (let change = random.below(6); change >= 0; change--) {
    const at = random.below(text.length);
    const removed = random.below(2);
    const added = random.below(3) === 0 ? "" : random.pick(SIGNS);
    text = text.slice(0, at) + added + text.slice(at + removed);
  }
  return random.below(4) === 0 ? text.slice(0, random.below(text.length + 1)) : text;
}
