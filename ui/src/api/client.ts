// One function over fetch: JSON in, JSON out, and every failure as one ApiError a person can read.
export class ApiError extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly status: number,
    readonly fix = "",
    readonly runId = "",
  ) {
    super(message);
  }
}

export function unreachable(): ApiError {
  return new ApiError("The server does not answer.", "unreachable", 0, "Is “citewell serve” still running?");
}

async function failure(response: Response): Promise<ApiError> {
  try {
    const { error } = await response.json();
    return new ApiError(String(error.message), String(error.code), response.status, error.fix ?? "", error.run_id ?? "");
  } catch {
    return new ApiError(`The server answered ${response.status}.`, "bad_answer", response.status);
  }
}

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreachable();
  }
  if (!response.ok) throw await failure(response);
  return response;
}

export async function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return (await request(path, { signal: signal ?? null })).json();
}

export async function post<Answer>(path: string, body?: unknown): Promise<Answer> {
  const sent: RequestInit = { method: "POST" };
  if (body !== undefined) {
    sent.headers = { "Content-Type": "application/json" };
    sent.body = JSON.stringify(body);
  }
  return (await request(path, sent)).json();
}

/** A path with every part escaped; slashes of keys stay, as the server wants them. */
export function keyPath(base: string, key: string): string {
  return `${base}/${key.split("/").map(encodeURIComponent).join("/")}`;
}

export function query(values: Record<string, string | number | boolean | readonly string[] | undefined | null>): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === null || value === "") continue;
    if (Array.isArray(value)) for (const one of value) pairs.append(name, one);
    else pairs.append(name, String(value));
  }
  const text = pairs.toString();
  return text && `?${text}`;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(error instanceof Error ? error.message : String(error), "page_error", 0);
}
