/** Key bindings. The defaults are digits and first letters; each key can be changed, and all can be turned off. */

/** @import { KeyPress, KeyValueStore } from "./types.d.ts" */

/** @typedef {{ action: string, name: string, key: string | null, digit: string | null }} Binding */

/** @type {Record<string, string>} */
const NAMES = { " ": "space", Backspace: "backspace", Enter: "enter", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };

/** Reserved keys, such as those for navigation; no action can be assigned to them. */
const RESERVED = new Set(["Tab", "Escape", "Enter", "Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock", "Dead", "Unidentified", "/", "?"]);

const ALWAYS = [
  { action: "skip", name: "Skip", key: " " },
  { action: "unsure", name: "Unsure", key: "u" },
  { action: "undo", name: "Undo", key: "Backspace" },
];

/** @param {string} key */
export const keyName = (key) => NAMES[key] ?? key;

/** @param {string} key */
const normal = (key) => (key.length === 1 ? key.toLowerCase() : key);

/**
 * Returns the first unused letter of a label, or null.
 * @param {string} label
 * @param {Set<string>} used
 */
function letterFor(label, used) {
  for (const character of label.toLowerCase()) {
    if (/[\p{L}]/u.test(character) && character.length === 1 && !used.has(character)) return character;
  }
  return null;
}

export class Keys {
  /**
   * @param {string[]} labels
   * @param {KeyValueStore} storage
   */
  constructor(labels, storage) {
    this.storage = storage;
    this.entryName = `querist/keys/${JSON.stringify(labels)}`;
    this.enabled = storage.getItem("querist/keys-off") === null;
    const used = new Set(ALWAYS.map(({ key }) => key));
    /** @type {Binding[]} */
    this.actions = labels.map((label, index) => {
      const key = letterFor(label, used);
      if (key) used.add(key);
      return { action: `label:${index}`, name: label, key, digit: index < 10 ? String((index + 1) % 10) : null };
    });
    this.actions.push(...ALWAYS.map((entry) => ({ ...entry, digit: null })));
    this.defaults = new Map(this.actions.map(({ action, key }) => [action, key]));
    this.#restore();
  }

  #restore() {
    try {
      const chosen = JSON.parse(this.storage.getItem(this.entryName) ?? "{}");
      for (const entry of this.actions) {
        if (typeof chosen[entry.action] === "string") entry.key = chosen[entry.action];
      }
    } catch {
      this.storage.removeItem(this.entryName);
    }
  }

  /**
   * Returns the action of a key press, or null.
   * @param {KeyPress} event
   */
  actionFor(event) {
    if (event.ctrlKey || event.metaKey) {
      return !event.altKey && !event.shiftKey && event.key.toLowerCase() === "z" ? "undo" : null;
    }
    if (!this.enabled || event.altKey) return null;
    const key = normal(event.key);
    const bound = this.actions.find((entry) => entry.key === key) ?? this.actions.find((entry) => entry.digit === key);
    return bound?.action ?? null;
  }

  /**
   * Returns the keys of an action, the digit first; none if single keys are off.
   * @param {string} action
   */
  of(action) {
    const bound = this.actions.find((entry) => entry.action === action);
    return this.enabled && bound ? [bound.digit, bound.key].filter((each) => each !== null) : [];
  }

  /**
   * Returns the value of `aria-keyshortcuts` for an action.
   * @param {string} action
   */
  aria(action) {
    const keys = this.of(action).map((key) => (key === " " ? "Space" : key));
    if (action === "undo") keys.push("Control+Z");
    return keys.join(" ");
  }

  /**
   * Assigns a key to an action. Returns the reason if that is impossible, or null.
   * @param {string} action
   * @param {string} pressed
   */
  assign(action, pressed) {
    const key = normal(pressed);
    if (RESERVED.has(key) || RESERVED.has(pressed)) return `${keyName(pressed)} is reserved. Choose another key.`;
    const other = this.actions.find((entry) => entry.action !== action && (entry.key === key || entry.digit === key));
    if (other) return `${keyName(key)} is already used for ${other.name}.`;
    const bound = this.actions.find((entry) => entry.action === action);
    if (bound) bound.key = key;
    this.#write(this.entryName, JSON.stringify(Object.fromEntries(this.actions.map((entry) => [entry.action, entry.key]))));
    return null;
  }

  reset() {
    for (const entry of this.actions) entry.key = this.defaults.get(entry.action) ?? null;
    this.storage.removeItem(this.entryName);
  }

  /** @param {boolean} on */
  enable(on) {
    this.enabled = on;
    if (on) this.storage.removeItem("querist/keys-off");
    else this.#write("querist/keys-off", "1");
  }

  /**
   * Stores a setting. If the storage is full, it lasts as long as the page.
   * @param {string} name
   * @param {string} value
   */
  #write(name, value) {
    try {
      this.storage.setItem(name, value);
    } catch {
      // A key binding is not worth a message.
    }
  }
}
