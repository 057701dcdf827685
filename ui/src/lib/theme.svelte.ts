// Light, dark, or as the system says; remembered on this machine.
export type Theme = "system" | "light" | "dark";
const KEY = "citewell.theme";
const THEMES: Theme[] = ["system", "light", "dark"];

class ThemeChoice {
  current = $state<Theme>("system");

  constructor() {
    const kept = localStorage.getItem(KEY) as Theme | null;
    this.use(kept && THEMES.includes(kept) ? kept : "system");
  }

  use(theme: Theme): void {
    this.current = theme;
    localStorage.setItem(KEY, theme);
    if (theme === "system") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset.theme = theme;
  }

  next(): void {
    this.use(THEMES[(THEMES.indexOf(this.current) + 1) % THEMES.length] ?? "system");
  }
}

export const theme = new ThemeChoice();
