import { mountAnnouncements } from "./announce.ts";
import { whenSignedOut } from "./api.ts";
import { fill } from "./dom.ts";
import { failureText } from "./failure.ts";
import { notice } from "./form.ts";
import { show, startRouter } from "./router.ts";
import { forgetAccount, loadAccount } from "./session.ts";
import { speak } from "./text.ts";

/** Learns the language and who is signed in, then shows the page of the address. */
async function start(): Promise<void> {
  const language = document.documentElement.lang === "en" ? "en" : "vi";
  await speak(language);
  mountAnnouncements();
  whenSignedOut(() => {
    forgetAccount();
    void show();
  });
  try {
    await loadAccount();
  } catch (error) {
    const app = document.getElementById("app");
    if (app) fill(app, notice("bad", failureText(error)));
    return;
  }
  startRouter();
}

void start();
