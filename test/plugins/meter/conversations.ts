import type { JsonObject } from "../../../core/process/json.ts";

const ENGLISH = `The toll road was older than the town. Before anyone had thought of a harbour there was a
gate, a hut and a woman with a ledger, and everything that went down to the sea was written in it: salt, rice,
two goats, a bell for the new temple. She charged by the axle and never by the face. When the governor's nephew
came through in the rainy season with eleven carts and a letter, she read the letter twice, folded it, and said
that it was very well written, and that eleven carts had twenty-two axles.

People remembered her for that, though it is not the part of the story she told herself. What she told was how
the bridge went out in the great flood and how, for nine days, no one could cross. She kept the hut open all the
same. On the first day an old man asked her what she was waiting for. "For the books to balance," she said. By
the ninth day there were four hundred people on each bank, and someone had strung a rope from the banyan tree
to the mast of a sunken barge, and goods were going over in baskets. She counted the baskets. No one paid, of
course; there was nothing to pay for. But when the bridge was mended, months later, they came back one by one,
with the baskets they remembered, and it came to within three coins of what she had written down.

I have thought about those three coins for most of my life. My grandfather, who had the story from her
daughter, believed that they were a mistake, and that honest people make mistakes. My mother thought that
someone had been too poor to pay and too proud to say so. I used to side with one or the other, depending on
the year. Now I think that she put them into the ledger herself, on the last evening, when the water had begun
to fall: so that there would be something left to look for, and a reason to keep on counting.`;

const VIETNAMESE = `Con đường thu phí ấy có trước cả thị trấn. Khi chưa ai nghĩ đến chuyện mở bến cảng thì ở đó đã
có một cái cổng, một túp lều và một người đàn bà với quyển sổ. Mọi thứ đi xuống biển đều được ghi vào sổ: muối,
gạo, hai con dê, một quả chuông cho ngôi chùa mới. Bà tính tiền theo số trục xe chứ không bao giờ nhìn mặt người.
Mùa mưa năm ấy, cháu của quan trấn thủ đi qua với mười một cỗ xe và một bức thư. Bà đọc thư hai lần, gấp lại rồi
bảo rằng thư viết hay lắm, và mười một cỗ xe thì có hai mươi hai trục.

Người ta nhớ bà vì chuyện đó, dù chính bà lại không hay kể. Chuyện bà kể là năm nước lớn cuốn mất cây cầu, suốt
chín ngày không ai qua được sông. Bà vẫn mở cửa lều. Ngày đầu tiên, một ông lão hỏi bà còn chờ gì nữa. Bà đáp:
"Tôi chờ cho sổ sách khớp." Đến ngày thứ chín thì mỗi bờ đã có bốn trăm người, và ai đó đã căng một sợi dây từ gốc
đa sang cột buồm của chiếc sà lan chìm, hàng hóa được chuyền qua trong những cái thúng. Bà đếm từng cái thúng một.
Dĩ nhiên chẳng ai trả tiền, vì có gì để mà trả đâu. Nhưng mấy tháng sau, khi cầu đã sửa xong, họ lần lượt quay lại,
kể đúng số thúng mình còn nhớ, và tổng cộng chỉ lệch ba đồng so với những gì bà đã ghi.

Tôi nghĩ về ba đồng tiền ấy gần như cả đời. Ông tôi tin rằng đó là một sự nhầm lẫn, mà người ngay thẳng thì cũng có
lúc nhầm. Mẹ tôi thì cho rằng có ai đó nghèo quá không trả nổi, lại tự trọng quá nên không nói ra. Bây giờ tôi nghĩ
chính bà đã ghi thêm ba đồng ấy vào buổi chiều cuối cùng, khi nước bắt đầu rút: để vẫn còn một điều phải đi tìm, và
còn một lý do để tiếp tục đếm.`;

const CODE = `import { createHash } from "node:crypto";

export interface Entry {
  readonly id: string;
  readonly accountId: string;
  readonly amountMicro: bigint;
  readonly at: number;
}

const HEADER = /^x-(?:toll|svc)-[a-z0-9-]{1,32}$/i;
const LIMITS = { perMinute: 600, burst: 50, bodyBytesMax: 20 * 1_048_576 } as const;

/** Adds up entries by account; an entry seen twice counts once. */
export function balances(entries: Iterable<Entry>): Map<string, bigint> {
  const seen = new Set<string>();
  const sums = new Map<string, bigint>();
  for (const { id, accountId, amountMicro } of entries) {
    if (seen.has(id)) continue;
    seen.add(id);
    sums.set(accountId, (sums.get(accountId) ?? 0n) + amountMicro);
  }
  return sums;
}

export async function* lines(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true });
    for (let at = rest.indexOf("\\n"); at >= 0; at = rest.indexOf("\\n")) {
      yield rest.slice(0, at).replace(/\\r$/, "");
      rest = rest.slice(at + 1);
    }
  }
  if (rest !== "") yield rest;
}

def settle(holds, posted, *, now=None):
    """Void what is older than an hour, post what is known."""
    now = now or time.monotonic()
    for hold_id, (amount, opened) in sorted(holds.items()):
        if hold_id in posted:
            yield hold_id, min(amount, posted[hold_id])
        elif now - opened > 3600:
            yield hold_id, 0

SELECT a.id, sum(e.amount) FILTER (WHERE e.at >= now() - interval '30 days') AS spent
  FROM accounts a LEFT JOIN entries e ON e.account_id = a.id
 GROUP BY a.id HAVING count(*) > 3 ORDER BY spent DESC NULLS LAST LIMIT 100;
`;

const text = (description: string) => ({ type: "string", description });

const TOOLS = [
  {
    name: "read_file",
    description: "Reads a file of the workspace. Answers its text, or an error when it is no text.",
    input_schema: {
      type: "object",
      properties: {
        path: text("The absolute path of the file."),
        offset: { type: "integer", minimum: 0, description: "The first line to read." },
        limit: { type: "integer", minimum: 1, maximum: 2000, description: "How many lines." },
      },
      required: ["path"],
      additionalProperties: false,
    },
  },
  {
    name: "edit_file",
    description: "Replaces one piece of text in a file. The old text must be there exactly once.",
    input_schema: {
      type: "object",
      properties: {
        path: text("The absolute path of the file."),
        old_text: text("What to replace; it must match to the last space."),
        new_text: text("What to put in its place."),
        replace_all: { type: "boolean", default: false },
      },
      required: ["path", "old_text", "new_text"],
      additionalProperties: false,
    },
  },
  {
    name: "search",
    description: "Searches the workspace by a regular expression and lists the lines that match.",
    input_schema: {
      type: "object",
      properties: {
        pattern: text("A regular expression in the syntax of RE2."),
        glob: text("Only files whose path matches, such as **/*.ts"),
        output: { type: "string", enum: ["lines", "files", "count"] },
        context: { type: "integer", minimum: 0, maximum: 20 },
        case_sensitive: { type: "boolean" },
      },
      required: ["pattern"],
    },
  },
  {
    name: "run",
    description: "Runs a command and answers its exit code and the end of its output.",
    input_schema: {
      type: "object",
      properties: {
        command: { type: "array", items: { type: "string" }, minItems: 1 },
        cwd: text("The folder to run it in."),
        timeout_ms: { type: "integer", maximum: 600_000 },
        env: { type: "object", additionalProperties: { type: "string" } },
      },
      required: ["command"],
    },
  },
];

/** A coding session: questions, calls, results and answers in turn. */
function session(rounds: number): JsonObject[] {
  const code = CODE.split("\n");
  const prose = ENGLISH.split(". ");
  return Array.from({ length: rounds }, (_, at): JsonObject[] => {
    const id = `toolu_${String(at).padStart(4, "0")}`;
    const from = (at * 7) % (code.length - 12);
    return [
      { role: "user", content: `${prose[at % prose.length]}. What does line ${from} do?` },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I will read it first." },
          {
            type: "tool_use",
            id,
            name: "read_file",
            input: { path: `/workspace/core/ledger/entry-${at}.ts`, offset: from, limit: 12 },
          },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: id, content: code.slice(from, from + 12).join("\n") },
        ],
      },
      {
        role: "assistant",
        content: `${prose[(at + 5) % prose.length]}. So it depends on what ran before, at ${at}.`,
      },
    ];
  }).flat();
}

const asked = (content: string): JsonObject => ({ messages: [{ role: "user", content }] });

/** Requests of the Messages protocol, to count their tokens. */
export const CONVERSATIONS: Readonly<Record<string, JsonObject>> = {
  "English prose": asked(ENGLISH),
  "Vietnamese prose": asked(VIETNAMESE),
  code: asked(CODE),
  "JSON tools": {
    tools: TOOLS,
    messages: [{ role: "user", content: "Find every place where a hold is voided." }],
  },
  "a long conversation": {
    system: "You are a careful engineer. Answer briefly and read before you answer.",
    tools: TOOLS,
    messages: [...session(120), { role: "user", content: VIETNAMESE }],
  },
};
