import { vietnamTime } from "../page-parts/vietnam-time.ts";
import type { Texts } from "./mail-text.ts";
import type { Trouble } from "./troubles.ts";

const HEADS = {
  trouble: { vi: "Cần xử lý", en: "To do" },
  "trouble-again": { vi: "Vẫn cần xử lý", en: "Still to do" },
  "trouble-over": { vi: "Đã ổn", en: "Over" },
};

/** Returns the message about a trouble, in both languages. */
export function troubleTexts(
  kind: string,
  trouble: Trouble,
  began: Date,
  consoleUrl: string,
): Texts {
  const head = HEADS[kind as keyof typeof HEADS];
  const link = `${consoleUrl}/console${trouble.path}`;
  const since = vietnamTime(began).slice(0, 16);
  return {
    vi: {
      subject: `${head.vi}: ${trouble.vi}`,
      paragraphs: [`${trouble.vi}. Bắt đầu lúc ${since} (giờ Việt Nam).`, link],
    },
    en: {
      subject: `${head.en}: ${trouble.en}`,
      paragraphs: [`${trouble.en}. It began at ${since} (Vietnam time).`, link],
    },
  };
}
