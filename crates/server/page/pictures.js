/** The addresses of pictures. */

/**
 * Returns the URL of a picture: a data URL or a path in the server's image folder; null for any other URL.
 * @param {string | number | null} value
 */
export function sourceOf(value) {
  const text = String(value ?? "");
  if (/^data:image\//i.test(text)) return text;
  if (/^[a-z][a-z0-9+.-]*:/i.test(text) || text.startsWith("//")) return null;
  if (/^\/images\/[\w.~%/-]+$/.test(text)) return text;
  return `/images/${text.split("/").map((part) => encodeURIComponent(part)).join("/")}`;
}
