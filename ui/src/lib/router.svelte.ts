// Where one is in the page: the part of the address behind the hash, so that back, forward and reload just work.
export interface Route {
  path: string[];
  params: URLSearchParams;
}

function read(): Route {
  const [path = "", params = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path.split("/").filter(Boolean).map(decodeURIComponent), params: new URLSearchParams(params) };
}

class Router {
  route = $state<Route>(read());

  constructor() {
    addEventListener("hashchange", () => (this.route = read()));
  }

  get view(): string {
    return this.route.path[0] ?? "chat";
  }

  go(path: string): void {
    location.hash = path;
  }

  /** The same place with other words behind the question mark, without a step to go back to. */
  replace(path: string): void {
    history.replaceState(null, "", `#${path}`);
    this.route = read();
  }
}

export const router = new Router();
