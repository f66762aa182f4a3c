/** The search among many labels. */

/**
 * Returns the labels that contain the typed text, in any case.
 * @param {string[]} labels
 * @param {string} typed
 */
export function matching(labels, typed) {
  const wanted = typed.trim().toLowerCase();
  return labels.filter((label) => label.toLowerCase().includes(wanted));
}

/**
 * Returns the label that Enter chooses: the one that was typed in full, or the only one that matches. Otherwise null.
 * @param {string[]} labels
 * @param {string} typed
 */
export function chosenBy(labels, typed) {
  const wanted = typed.trim().toLowerCase();
  if (wanted === "") return null;
  const found = matching(labels, wanted);
  const exact = found.find((label) => label.toLowerCase() === wanted);
  return exact ?? (found.length === 1 ? (found[0] ?? null) : null);
}
