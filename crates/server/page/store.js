/** The browser's storage, or one in memory if the browser provides none. */

class Passing extends Map {
  get length() {
    return this.size;
  }

  key(index) {
    return [...this.keys()][index] ?? null;
  }

  getItem(name) {
    return this.get(name) ?? null;
  }

  setItem(name, value) {
    this.set(name, String(value));
  }

  removeItem(name) {
    this.delete(name);
  }
}

class Store {
  constructor(inner, lasting) {
    this.inner = inner;
    this.lasting = lasting;
  }

  get length() {
    return this.inner.length;
  }

  key(index) {
    return this.inner.key(index);
  }

  getItem(name) {
    return this.inner.getItem(name);
  }

  setItem(name, value) {
    this.inner.setItem(name, value);
  }

  removeItem(name) {
    this.inner.removeItem(name);
  }

  preferences() {
    try {
      return JSON.parse(this.getItem("querist/preferences") ?? "{}");
    } catch {
      return {};
    }
  }

  prefer(preferences) {
    this.setItem("querist/preferences", JSON.stringify(preferences));
  }
}

export function openStore() {
  try {
    const probe = "querist/probe";
    localStorage.setItem(probe, "1");
    localStorage.removeItem(probe);
    return new Store(localStorage, true);
  } catch {
    return new Store(new Passing(), false);
  }
}
