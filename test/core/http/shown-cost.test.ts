import t from "tap";
import { eventsWithCost, LatestUsage, withCost } from "../../../core/http/shown-cost.ts";
import { ServerEvent } from "../../../core/sse/reader.ts";
import { wires } from "../../../core/wire/wires.ts";

const COST = 12_345_678;

t.test("the cost in a body", async (t) => {
  const C = '"cost_vnd":"12.345678"';
  const bodies: readonly (readonly [string, string | undefined])[] = [
    ['{"usage":{"a":1}}', `{"usage":{"a":1,${C}}}`],
    ['{ "usage" : { "a" : 1.0e0 } , "b":2}', `{ "usage" : { "a" : 1.0e0 ,${C}} , "b":2}`],
    ['{"usage":{}}', `{"usage":{${C}}}`],
    ['{"usage":{ \n }}', `{"usage":{ \n ${C}}}`],
    ['{"usage":{"a":{"b":[{}]}}}', `{"usage":{"a":{"b":[{}]},${C}}}`],
    ['{"us\\u0061ge":{"a":"}\\""}}', `{"us\\u0061ge":{"a":"}\\"",${C}}}`],
    // Parsers take the later of two.
    ['{"usage":{"cost_vnd":"0"}}', `{"usage":{"cost_vnd":"0",${C}}}`],
    ['{"usage":{"a":1},"usage":{"a":2}}', `{"usage":{"a":1},"usage":{"a":2,${C}}}`],
    [
      '{"t":"response","response":{"usage":{"a":1}}}',
      `{"t":"response","response":{"usage":{"a":1,${C}}}}`,
    ],
    [
      '{"n":12345678901234567890,"usage":{"a":1}}',
      `{"n":12345678901234567890,"usage":{"a":1,${C}}}`,
    ],
    ['{"usage":null}', undefined],
    ['{"usage":[{}]}', undefined],
    ['{"message":{"usage":{"a":1}}}', undefined],
    ['{"a":"\\"usage\\":{}"}', undefined],
    [`{"response":{"response":{"usage":{"a":1}}}}`, undefined],
    ["[DONE]", undefined],
    ['{"\\x":{"usage":{}}}', undefined],
    ["", undefined],
  ];
  for (const [before, after] of bodies) {
    const priced = withCost(Buffer.from(before), COST)?.toString();
    t.equal(priced, after, before);
    if (priced) t.match(JSON.stringify(JSON.parse(priced)), /"cost_vnd":"12.345678"/);
  }
});

t.test("the cost in events is in the last usage, whatever ends its lines", async (t) => {
  for (const eol of ["\n", "\r\n"]) {
    const event = (data: string) => Buffer.from(`event: x${eol}data: ${data}${eol}${eol}`);
    const events = [event('{"usage":{"a":1}}'), event('{"usage":{"a":2}}'), event("[DONE]")];
    const priced = eventsWithCost(events, COST).map(String);
    t.strictSame(priced, [
      String(events[0]),
      String(event('{"usage":{"a":2,"cost_vnd":"12.345678"}}')),
      String(events[2]),
    ]);
  }
  const without = [Buffer.from('data: {"a":\ndata: 1}\n\n'), Buffer.from(": {}\n\n")];
  t.strictSame(eventsWithCost(without, COST), without);
});

t.test("the latest usage waits until content or a later one", async (t) => {
  const latest = new LatestUsage(wires.chat);
  const sent: string[] = [];
  const send = (data: string) => {
    const events = latest.next(new ServerEvent(Buffer.from(data)));
    sent.push(...events.map(({ raw }) => Buffer.from(raw).toString()));
  };
  const text = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
  const usage = (n: number) => `data: {"choices":[],"usage":{"total_tokens":${n}}}\n\n`;
  const both = 'data: {"choices":[{"delta":{"content":"b"}}],"usage":{"total_tokens":1}}\n\n';
  const comment = ": alive\n\n";
  send(text);
  send(both);
  t.strictSame(sent, [text]);
  send(text);
  t.strictSame(sent, [text, both, text]);
  send(usage(1));
  send(comment);
  send(usage(2));
  t.strictSame(sent, [text, both, text, usage(1), comment]);
  for (let more = 0; more < 63; more++) send(comment);
  t.equal(sent.length, 5, "a bounded number of events waits");
  send(comment);
  t.equal(sent.length, 5 + 65);
  t.strictSame(latest.rest(), []);
});
