import { createHash } from "node:crypto";

/**
 * Runs only scripts of this gateway, and never turns text, such as a model's reply, into markup.
 * Allows `data:` and `blob:` images for QR codes and for attachments that are not sent yet.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "font-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

/** Returns the headers of an HTML document that has this text in its `style` element. */
export function pageHeaders(style: string): string[] {
  const hash = createHash("sha256").update(style).digest("base64");
  return [
    "content-security-policy",
    [...CONTENT_SECURITY_POLICY, `style-src 'self' 'sha256-${hash}'`].join("; "),
    "referrer-policy",
    "no-referrer",
    "cross-origin-opener-policy",
    "same-origin",
    "permissions-policy",
    "camera=(), microphone=(), geolocation=(), payment=()",
  ];
}
