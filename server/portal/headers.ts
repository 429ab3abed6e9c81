/**
 * Headers of the owner's page. They replace those of an answer of the API.
 *
 * - The policy names no host and allows no inline code or style, so text that an agent wrote can neither run
 *   nor load anything.
 * - `trusted-types 'none'` makes the browser throw on every write of HTML text.
 * - `form-action 'none'`: if the script does not load, a form cannot send a password in a query.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** Features that a page may use by default and that this one never uses. */
const refused = ['camera', 'geolocation', 'microphone', 'payment', 'usb', 'fullscreen', 'display-capture']

export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'origin-agent-cluster': '?1',
  'permissions-policy': ['clipboard-write=(self)', ...refused.map((name) => `${name}=()`)].join(', '),
}

/** The name of an asset changes with its content, so a cache may keep it. */
export const assetHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'public, max-age=31536000, immutable',
}
