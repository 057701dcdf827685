// The event stream of a run, read with fetch and gone on with after every cut: each event is handed on exactly once.
import { ApiError, asApiError, isAbort, request, unreachable } from "./client";
import type { RunStreamEvents } from "./types";

export type StreamName = keyof RunStreamEvents;
export type StreamEvent = { [Name in StreamName]: { name: Name; data: RunStreamEvents[Name] } }[StreamName];

export interface Watching {
  onEvent: (event: StreamEvent) => void;
  /** The connection was lost (with the number of attempts since) or is there again (0). */
  onConnection?: (attempts: number) => void;
  signal: AbortSignal;
}

// The server sends a sign of life every few seconds: silence for longer means that nobody is there.
const SILENCE_MS = 20_000;
const WAITS_MS = [300, 700, 1500, 3000, 5000];

export interface Frame {
  id: string;
  event: string;
  data: string;
}

/** Takes text as it comes and gives whole frames. */
export class FrameReader {
  #rest: string[] = [];

  push(text: string): Frame[] {
    // A frame of several megabytes comes in many parts: they are joined once, when its end is there.
    const seam = (this.#rest.at(-1)?.endsWith("\n") ?? false) && text.startsWith("\n");
    if (!seam && !text.includes("\n\n")) {
      this.#rest.push(text);
      return [];
    }
    const parts = (this.#rest.join("") + text).split("\n\n");
    this.#rest = [parts.pop() ?? ""];
    return parts.filter(Boolean).map(readFrame);
  }
}

function readFrame(text: string): Frame {
  const frame: Frame = { id: "", event: "message", data: "" };
  for (const line of text.split("\n")) {
    const at = line.indexOf(": ");
    const name = line.slice(0, at);
    if (at > 0 && (name === "id" || name === "event" || name === "data")) frame[name] = line.slice(at + 2);
  }
  return frame;
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

/** Follows a run to its end; fails only where the server refuses, never because a connection was cut. */
export async function watchRun(runId: string, { onEvent, onConnection, signal }: Watching): Promise<void> {
  let lastId = "";
  let attempts = 0;
  while (!signal.aborted) {
    const handing = (frame: Frame): boolean => {
      if (frame.id) lastId = frame.id;
      if (attempts) onConnection?.((attempts = 0));
      if (frame.event === "heartbeat") return false;
      onEvent({ name: frame.event, data: JSON.parse(frame.data) } as StreamEvent);
      return frame.event === "done" || frame.event === "error";
    };
    try {
      if (await readOnce(runId, lastId, handing, signal)) return;
    } catch (error) {
      if (isAbort(error) && signal.aborted) return;
      const failed = asApiError(error);
      if (failed.status >= 400 && failed.status < 500) throw failed;
    }
    attempts += 1;
    onConnection?.(attempts);
    await sleep(WAITS_MS[Math.min(attempts, WAITS_MS.length) - 1] ?? 5000, signal);
  }
}

/** One connection; whether the stream came to its end on it. */
async function readOnce(
  runId: string,
  lastId: string,
  handing: (frame: Frame) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const silence = new AbortController();
  const either = AbortSignal.any([signal, silence.signal]);
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const headers: Record<string, string> = lastId ? { "Last-Event-ID": lastId } : {};
    const response = await request(`/api/runs/${runId}/events`, { headers, signal: either });
    if (response.status === 204) return true;
    if (!response.body) throw unreachable();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const frames = new FrameReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      for (const frame of frames.push(value)) if (handing(frame)) return true;
    }
  } finally {
    clearTimeout(timer);
  }
}

export { ApiError };
