import type { Page } from "playwright-core";
import t from "tap";
import { credit, usage } from "../../support/admin.ts";
import { prompt } from "../../support/ask.ts";
import { signInByForm } from "../../support/dashboard.ts";
import { until } from "../../support/until.ts";
import { startStage, type Visitor } from "./stage.ts";

/** An image of one pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPj/HwADAgH/p0ZJ2QAAAABJRU5ErkJggg==",
  "base64",
);

t.test("the chat in a browser", async (t) => {
  const stage = await startStage();
  t.teardown(() => stage.close());

  type Chatter = Visitor & { readonly accountId: string };
  async function chatter(creditVnd: number): Promise<Chatter> {
    const { page, complaints, session } = await stage.customer();
    if (creditVnd > 0) await credit(stage.gateway, session.accountId, creditVnd);
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/chat`);
    await page.getByRole("button", { name: "Tạo khóa API cho trò chuyện" }).click();
    await page.getByPlaceholder("Tin nhắn của bạn").waitFor();
    return { page, complaints, accountId: session.accountId };
  }

  async function say(page: Page, text: string): Promise<void> {
    await page.getByPlaceholder("Tin nhắn của bạn").fill(text);
    await page.keyboard.press("Enter");
  }

  t.test("creates its own key, streams a reply and shows its cost", async (t) => {
    const { page, complaints, accountId } = await chatter(50_000);
    await say(page, prompt({ text: "Xin chào bạn", input_tokens: 20, output_tokens: 10 }));
    await page.locator(".turn.assistant", { hasText: "Xin chào bạn" }).waitFor();
    // 30 tokens at 36,000 đ a million.
    await page.locator(".cost strong", { hasText: "1,08 đ" }).waitFor();
    await page.getByText("20 token vào, 10 ra").waitFor();
    const [call] = await usage(stage.gateway, accountId);
    t.equal(call?.["endpoint"], "/v1/chat/completions");
    t.equal(call?.["streamed"], true);

    await page.getByLabel("Mô hình").selectOption("gpt-5.6-sol");
    await say(page, prompt({ text: "again" }));
    await page.locator(".turn.assistant", { hasText: "again" }).waitFor();
    const keys = await page.request.get(`${stage.url}/account/v1/keys`);
    t.strictSame(
      (await keys.json()).data.map((key: { name: string }) => key.name),
      ["Dashboard chat"],
    );
    // The page asks for the cost again until the call is committed. The browser logs each 404 as an error.
    const isExpected = (text: string) => /status of 404 .*\/account\/v1\/calls\//.test(text);
    t.strictSame(
      complaints.filter((text) => !isExpected(text)),
      [],
    );
  });

  t.test("sends the conversation so far, and forgets it when a new one starts", async (t) => {
    const { page } = await chatter(50_000);
    await say(page, prompt({ text: "first answer" }, "first question"));
    await page.locator(".cost strong").waitFor();
    await say(page, prompt({ echo: true }, "second question"));
    const echoed = page.locator(".turn.assistant").nth(1);
    await echoed.getByText("second question").first().waitFor();
    const text = (await echoed.textContent()) ?? "";
    t.ok(text.includes("first question") && text.includes("first answer"), text);
    await page.getByRole("button", { name: "Hội thoại mới" }).click();
    await say(page, prompt({ echo: true }, "third question"));
    const alone = page.locator(".turn.assistant");
    await alone.getByText("third question").first().waitFor();
    t.ok(!((await alone.textContent()) ?? "").includes("first question"));
  });

  t.test("sends nothing by the Enter that confirms a word, also in Safari", async (t) => {
    const { page } = await chatter(50_000);
    const text = page.getByPlaceholder("Tin nhắn của bạn");
    await text.fill("half a quest");
    // Safari ends the composition before the key, so only its code differs.
    for (const how of [{ isComposing: true }, { isComposing: false, keyCode: 229 }]) {
      await text.dispatchEvent("keydown", {
        key: "Enter",
        bubbles: true,
        cancelable: true,
        ...how,
      });
      t.equal(await text.inputValue(), "half a quest");
      t.equal(await page.locator(".turn").count(), 0);
    }
  });

  t.test("keeps the conversation when the link to the main content is followed", async (t) => {
    const { page } = await chatter(50_000);
    await say(page, prompt({ text: "first answer" }, "first question"));
    await page.locator(".cost strong").waitFor();
    await page.getByRole("link", { name: "Chuyển đến nội dung chính" }).focus();
    await page.keyboard.press("Enter");
    t.equal(await page.evaluate(() => document.activeElement?.id), "main");
    t.equal(await page.evaluate(() => location.hash), "");
    await say(page, prompt({ echo: true }, "second question"));
    const echoed = page.locator(".turn.assistant").nth(1);
    await echoed.getByText("first question").first().waitFor();
  });

  t.test("leaves a reply that is still written out of a new conversation", async (t) => {
    const { page } = await chatter(50_000);
    await say(page, prompt({ output_tokens: 2000, event_delay_ms: 20 }, "first question"));
    const reply = page.locator(".turn.assistant .markdown");
    await until(
      "a part of the reply is shown",
      async () => ((await reply.textContent()) ?? "").length > 40,
    );
    const begun = ((await reply.textContent()) ?? "").slice(0, 30);
    await page.getByRole("button", { name: "Hội thoại mới" }).click();
    await page.getByText("Hỏi bằng bất kỳ ngôn ngữ nào.").waitFor();
    await page.getByRole("button", { name: "Gửi" }).waitFor();
    await say(page, prompt({ echo: true }, "second question"));
    await page.locator(".cost strong").waitFor();
    const text = (await page.locator(".turn.assistant .markdown").textContent()) ?? "";
    t.ok(text.includes("second question"), text);
    t.notOk(text.includes(begun), `without "${begun}"`);
    t.notOk(text.includes("first question"));
  });

  t.test("stops a reply half way, and charges what was delivered", async (t) => {
    const { page, accountId } = await chatter(50_000);
    await say(page, prompt({ output_tokens: 2000, event_delay_ms: 20 }));
    const answer = page.locator(".turn.assistant .markdown");
    await until(
      "a part of the reply is shown",
      async () => ((await answer.textContent()) ?? "").length > 40,
    );
    await page.getByRole("button", { name: "Dừng" }).click();
    await page.getByText("đã dừng").waitFor();
    await page.locator(".cost strong").waitFor();
    const [call] = await usage(stage.gateway, accountId);
    t.equal(call?.["outcome"], "gone");
    const tokens = Number(call?.["output_tokens"]);
    t.ok(tokens > 0 && tokens < 2000, String(tokens));
    await page.getByRole("button", { name: "Gửi" }).waitFor();
  });

  t.test("shows the model's output, and runs none of it", async (t) => {
    const { page, complaints } = await chatter(50_000);
    const evil = [
      "<img src=x onerror=alert(1)> <script>alert(2)</script>",
      "[safe](https://example.com/a_(b)) [bad](javascript:alert(3)) ![pic](https://evil.test/x.png)",
      "**bold** and `code <b>` and *soft*",
      "```js\nalert('<i>')\n```",
      "| a | b |\n|---|---|\n| 1 | <u>2</u> |",
    ].join("\n\n");
    await say(page, prompt({ text: evil }));
    const answer = page.locator(".turn.assistant .markdown");
    await page.locator(".cost strong").waitFor();
    const made = await answer.evaluate((element) => ({
      tags: [...new Set([...element.querySelectorAll("*")].map((one) => one.localName))].sort(),
      links: [...element.querySelectorAll("a")].map((link) => `${link.href} ${link.rel}`),
      text: element.textContent ?? "",
      code: element.querySelector("pre")?.textContent,
    }));
    for (const tag of ["img", "script", "b", "i", "u"]) t.ok(!made.tags.includes(tag), tag);
    for (const tag of ["strong", "em", "code", "pre", "table"]) {
      t.ok(made.tags.includes(tag), tag);
    }
    t.strictSame(made.links, [
      "https://example.com/a_(b) noopener noreferrer nofollow",
      "https://evil.test/x.png noopener noreferrer nofollow",
    ]);
    t.ok(made.text.includes("<script>alert(2)</script>"));
    t.equal(made.code, "alert('<i>')");
    await answer.getByRole("button", { name: "Sao chép mã" }).click();
    t.equal(await page.evaluate(() => navigator.clipboard.readText()), "alert('<i>')");
    t.strictSame(complaints, []);
  });

  t.test("shows hostile text as it grows, whole and not too deep", async (t) => {
    const { page } = await chatter(50_000);
    const script = await page.locator('script[src$="/main.js"]').getAttribute("src");
    const address = new URL("chat/message-view.js", stage.url + script);
    const chat = await page.evaluateHandle<
      typeof import("../../../plugins/dashboard/browser/chat/markdown.ts")
    >(`import("${address}").then((joined) => joined.$chat_markdown)`);
    const shown = await chat.evaluate(({ MarkdownView }) => {
      return ["*a **b ", "> ", "- ", "[", "a_b ", "- x\n\n  - "].map((text) => {
        const whole = text.repeat(3_000);
        const view = new MarkdownView();
        for (const part of [0.3, 0.5, 0.9, 1]) view.show(whole.slice(0, whole.length * part));
        const once = new MarkdownView();
        once.show(whole);
        document.body.append(view.element);
        let depth = 0;
        for (const element of view.element.querySelectorAll(":not(:has(*))")) {
          let levels = 0;
          for (let at = element.parentElement; at !== view.element; levels += 1) {
            at = at?.parentElement ?? null;
          }
          depth = Math.max(depth, levels);
        }
        view.element.getBoundingClientRect();
        view.element.remove();
        return { text, depth, isSame: view.element.isEqualNode(once.element) };
      });
    });
    for (const { text, depth, isSame } of shown) {
      t.ok(depth < 40, `${text}: ${depth} deep`);
      t.ok(isSame, text);
    }
  });

  t.test("offers images for models that accept them, and for no others", async (t) => {
    const { page, complaints } = await chatter(50_000);
    const attach = page.getByRole("button", { name: "Đính kèm ảnh" });
    await page.locator("input[type=file]").setInputFiles([
      { name: "dot.png", mimeType: "image/png", buffer: PNG },
      { name: "notes.pdf", mimeType: "application/pdf", buffer: PNG },
    ]);
    await page.getByText("Chỉ hỗ trợ ảnh PNG").first().waitFor();
    await page.getByRole("img", { name: "dot.png" }).waitFor();
    await say(page, prompt({ echo: true }));
    const answer = page.locator(".turn.assistant .markdown");
    await answer.getByText("image/png").first().waitFor();
    t.ok(((await answer.textContent()) ?? "").includes(PNG.toString("base64").slice(0, 40)));
    await page.locator(".turn.user img").waitFor();
    await page.getByLabel("Mô hình").selectOption("deepseek-v4-flash");
    await attach.waitFor({ state: "hidden" });
    t.strictSame(complaints, []);
  });

  t.test("explains that the wallet is empty, and where to top up", async (t) => {
    const { page, complaints } = await chatter(0);
    await say(page, prompt({ text: "never said" }));
    await page.getByText("Số dư không đủ cho lượt gọi này.").waitFor();
    const link = page.getByRole("alert").getByRole("link", { name: "Nạp tiền" });
    t.equal(await link.getAttribute("href"), "/dashboard/top-up");
    t.strictSame(
      complaints.filter((text) => !/status of 402/.test(text)),
      [],
    );
  });

  t.test("says that the budget of a key is used up, and offers no top-up", async (t) => {
    const { page, session } = await stage.customer();
    await credit(stage.gateway, session.accountId, 50_000);
    await session.post("/keys", { name: "laptop", limits: { day_vnd: "1" } });
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/chat`);
    await say(page, prompt({ text: "never said" }));
    const problem = page.getByRole("alert");
    await problem.getByText("Ngân sách của khóa API này không còn đủ cho lượt gọi.").waitFor();
    const links = await problem
      .getByRole("link")
      .evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    t.strictSame(links, ["/dashboard/keys"]);
  });

  t.test("offers no key for certain addresses, and only the models of a key", async (t) => {
    const { page, session } = await stage.customer();
    await session.post("/keys", { name: "server", limits: { addresses: ["192.0.2.1"] } });
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/chat`);
    await page.getByRole("button", { name: "Tạo khóa API cho trò chuyện" }).waitFor();
    await session.post("/keys", { name: "of one maker", limits: { models: ["gpt-*"] } });
    await session.post("/keys", { name: "of no chat", limits: { models: ["req/gpt-image-2"] } });
    await session.post("/keys", { name: "laptop" });
    await page.reload();
    const key = page.getByLabel("Khóa API");
    const options = (label: string) => page.getByLabel(label).locator("option").allTextContents();
    await key.waitFor();
    t.strictSame((await options("Khóa API")).sort(), ["laptop", "of one maker"]);
    await key.selectOption("laptop");
    const all = await options("Mô hình");
    await page.getByLabel("Mô hình").selectOption("gpt-5.6-sol");
    await key.selectOption("of one maker");
    t.strictSame(
      await options("Mô hình"),
      all.filter((id) => id.startsWith("gpt-")),
    );
    t.equal(await page.getByLabel("Mô hình").inputValue(), "gpt-5.6-sol");
  });

  t.test("says which limit of the key refused a call, and leads to the keys", async (t) => {
    const { page, session } = await stage.customer();
    const { id } = (await session.post("/keys", { name: "laptop" })).body;
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/chat`);
    for (const [limits, text] of [
      [{ paused: true }, "Khóa API tạm dừng"],
      [{ paused: false, models: ["deepseek-*"] }, "Khóa API không được dùng mô hình này"],
      [{ models: [], addresses: ["192.0.2.1"] }, "Khóa API không được dùng từ địa chỉ này"],
    ] as const) {
      await session.post(`/keys/${id}/limits`, limits);
      await say(page, prompt({ text: "never said" }));
      const problem = page.locator(".turn.assistant").last().getByRole("alert");
      await problem.getByText(text).waitFor();
      t.equal(await problem.getByRole("link").getAttribute("href"), "/dashboard/keys");
      await page.getByRole("button", { name: "Gửi" }).waitFor();
    }
  });

  t.test("says that a conversation is too long, in the gateway's own words too", async () => {
    const { page } = await chatter(50_000);
    const error = { type: "invalid_request_error", message: "prompt is too long: 9 > 8" };
    await say(page, prompt({ status: 400, error }));
    await page.getByText("Hội thoại dài hơn giới hạn của mô hình này.").waitFor();
    await page.getByRole("alert").getByText("prompt is too long").waitFor();
  });

  t.test("shows the cost of a reply that is stopped while the model reasons", async (t) => {
    const { page } = await chatter(50_000);
    const directive = { thinking: "I think of it. ".repeat(400), event_delay_ms: 20 };
    await say(page, prompt(directive, "first question"));
    await page.locator(".thinking .said").getByText("think").waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Dừng" }).click();
    await page.getByText("đã dừng").waitFor();
    await page.locator(".cost strong").waitFor();
    await say(page, prompt({ echo: true }, "second question"));
    const echoed = page.locator(".turn.assistant .markdown").nth(1);
    await echoed.getByText("second question").first().waitFor();
    t.match(await echoed.textContent(), "first question");
  });

  t.test("forgets a question whose reply failed while the model reasoned", async (t) => {
    const { page } = await chatter(50_000);
    const directive = { thinking: "I think of it. ".repeat(40), error_after_events: 6 };
    await say(page, prompt(directive, "first question"));
    await page.locator(".turn.assistant").getByRole("alert").getByText("nhà cung cấp").waitFor();
    t.equal(await page.locator(".thinking").isVisible(), true);
    t.equal(await page.locator(".turn.assistant .markdown").first().textContent(), "");
    await page.getByLabel("Mô hình").selectOption("gpt-5.6-sol");
    await say(page, prompt({ echo: true }, "second question"));
    const echoed = page.locator(".turn.assistant .markdown").nth(1);
    await echoed.getByText("second question").first().waitFor();
    t.notMatch(await echoed.textContent(), "first question");
  });

  t.test("reports a provider's failure, before a reply and in the middle of one", async (t) => {
    const { page } = await chatter(50_000);
    await say(page, prompt({ status: 500 }));
    await page.getByText("Hiện không kết nối được nhà cung cấp").waitFor();
    // Uses another provider, since the gateway avoids the first one for a while.
    await page.getByLabel("Mô hình").selectOption("gpt-5.6-sol");
    await say(page, prompt({ output_tokens: 50, error_after_events: 6 }));
    await page.getByRole("alert").nth(1).getByText("nhà cung cấp").waitFor();
    const heard = await page.locator(".turn.assistant .markdown").nth(1).textContent();
    t.not(heard, "");
    await say(page, prompt({ text: "well again" }));
    await page.getByText("well again", { exact: true }).waitFor();
  });
});
