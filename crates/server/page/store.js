/** The browser's storage, or one in memory if the browser provides none. */

/** @import { KeyValueStore, Preferences } from "./types.d.ts" */

/**
 * A store that lasts as long as the tab.
 * @implements {KeyValueStore}
 */
export class MemoryStore {
  /** @type {Map<string, string>} */
  #values = new Map();

  get length() {
    return this.#values.size;
  }

  /** @param {number} index */
  key(index) {
    return [...this.#values.keys()][index] ?? null;
  }

  /** @param {string} name */
  getItem(name) {
    return this.#values.get(name) ?? null;
  }

  /**
   * @param {string} name
   * @param {string} value
   */
  setItem(name, value) {
    this.#values.set(name, String(value));
  }

  /** @param {string} name */
  removeItem(name) {
    this.#values.delete(name);
  }
}

/** The preferences of an annotator who has changed none. */
const DEFAULTS = Object.freeze({ why: true, size: "1", marks: false });

/**
 * Returns the stored preferences. Missing or malformed ones have their default.
 * @param {KeyValueStore} store
 * @returns {Preferences}
 */
export function readPreferences(store) {
  try {
    const { why, size, marks } = JSON.parse(store.getItem("querist/preferences") ?? "{}");
    return {
      why: typeof why === "boolean" ? why : DEFAULTS.why,
      size: ["1", "1.25", "1.5"].includes(size) ? size : DEFAULTS.size,
      marks: typeof marks === "boolean" ? marks : DEFAULTS.marks,
    };
  } catch {
    return { ...DEFAULTS };
  }
}

/**
 * Stores the preferences. If the storage is full, they last as long as the page.
 * @param {KeyValueStore} store
 * @param {Preferences} preferences
 */
export function writePreferences(store, preferences) {
  try {
    store.setItem("querist/preferences", JSON.stringify(preferences));
  } catch {
    // A preference is not worth a message.
  }
}

/**
 * Opens the browser's storage, or one in memory if writing to it fails.
 * @param {() => KeyValueStore} open
 * @returns {{ store: KeyValueStore, lasting: boolean }}
 */
export function openStore(open = () => localStorage) {
  try {
    const store = open();
    const probe = "querist/probe";
    store.setItem(probe, "1");
    store.removeItem(probe);
    return { store, lasting: true };
  } catch {
    return { store: new MemoryStore(), lasting: false };
  }
}
