/**
 * Runs only scripts of this gateway, and never turns text, such as a model's reply, into markup.
 * Allows `data:` and `blob:` images for QR codes and for attachments that are not sent yet.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Headers of every HTML document. */
export const PAGE_HEADERS = [
  "content-security-policy",
  CONTENT_SECURITY_POLICY,
  "referrer-policy",
  "no-referrer",
  "cross-origin-opener-policy",
  "same-origin",
  "permissions-policy",
  "camera=(), microphone=(), geolocation=(), payment=()",
];
