// Which source is open beside everything else, and what of it is highlighted.
export interface Place {
  key: string;
  title: string;
  /** The text a run cites, where it may have changed since. */
  hash?: string | undefined;
  /** The quoted passage and its decisive part, in code points of that text. */
  quote?: { start: number; end: number } | undefined;
  highlight?: { start: number; end: number } | undefined;
  page?: number | null | undefined;
}

class OpenSource {
  place = $state.raw<Place | null>(null);
  #before: HTMLElement | null = null;

  open(place: Place): void {
    if (!this.place) this.#before = document.activeElement as HTMLElement | null;
    this.place = place;
  }

  close(): void {
    this.place = null;
    // Back to what opened it, so that a keyboard is where it was.
    this.#before?.focus();
    this.#before = null;
  }
}

export const source = new OpenSource();
