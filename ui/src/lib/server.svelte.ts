// What the server says of itself: what can be asked, and what is there to ask about. Read once, and again on demand.
import { asApiError, get, type ApiError } from "../api/client";
import type { Capabilities, CollectionList, Stats } from "../api/types";

class Server {
  capabilities = $state.raw<Capabilities | null>(null);
  stats = $state.raw<Stats | null>(null);
  collections = $state.raw<CollectionList["collections"]>([]);
  problem = $state.raw<ApiError | null>(null);

  async load(): Promise<void> {
    try {
      const [capabilities, stats, { collections }] = await Promise.all([
        get<Capabilities>("/api/capabilities"),
        get<Stats>("/api/stats"),
        get<CollectionList>("/api/collections"),
      ]);
      this.capabilities = capabilities;
      this.stats = stats;
      this.collections = collections;
      this.problem = null;
    } catch (error) {
      this.problem = asApiError(error);
    }
  }
}

export const server = new Server();
