import type { Services } from "../../core/plugin/index.ts";

export type Texts = Parameters<Services["messages"]["current"]["post"]>[0]["texts"];
export type Language = keyof Texts;

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

/** Returns a mail in both languages, the reader's first. `switchAt`: the page on which its kind can be switched off. */
export function mailText({ vi, en }: Texts, language: Language, switchAt?: string): MailText {
  const [first, second] = language === "vi" ? [vi, en] : [en, vi];
  const text = [...first.paragraphs, "—", ...second.paragraphs];
  const footer = switchAt === undefined ? [] : ["—", switchText(language, switchAt)];
  return {
    subject: `${first.subject} / ${second.subject}`,
    text: `${[...text, ...footer].join("\n\n")}\n`,
  };
}

/** Returns the mail of an announcement, whose first line is the subject. */
export function announcementText(text: string, language: Language, switchAt: string): MailText {
  const [subject = "", ...rest] = text.trim().split("\n");
  const body = rest.join("\n").trim();
  return {
    subject: subject.trim(),
    text: `${body}\n\n—\n\n${switchText(language, switchAt)}\n`,
  };
}

function switchText(language: Language, address: string): string {
  return language === "vi"
    ? `Bạn có thể tắt loại email này ở trang tài khoản:\n${address}`
    : `You can switch emails of this kind off on the page of your account:\n${address}`;
}
