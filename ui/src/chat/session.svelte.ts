// A conversation: its turns, what is pinned, and what of it survives a reload.
// Only questions, ids and states are kept in sessionStorage; everything else is read from the server's record again.
import { ApiError, asApiError, post } from "../api/client";
import { watchRun, type StreamEvent } from "../api/stream";
import type { Progress, ResearchPack, RunAccepted, RunBody, RunResult } from "../api/types";
import { announcer } from "../lib/announce.svelte";
import { STOP_REASONS } from "../lib/labels";
import { plural } from "../lib/text";

export const MOST_TURNS = 8;
export const MOST_PINS = 24;
const KEY = "citewell.session.v1";

export type TurnStatus =
  | "researching"
  | "synthesizing"
  | "ready"
  | "error"
  | "verification_failed"
  | "cancelled"
  | "incomplete";

export interface Stage {
  stage: string;
  title: string;
  details: string[];
  began: number;
  ended: number | null;
}

export interface LiveSentence {
  n: number;
  text: string;
  verdict: string;
  citations: readonly string[];
  retracted: string;
}

export type Asked = Partial<RunBody> & {
  question: string;
};

interface Kept {
  id: string;
  asked: Asked;
  synthesis: boolean;
  runId: string;
  status: TurnStatus;
}

const UNDER_WAY = new Set<TurnStatus>(["researching", "synthesizing"]);
const WRITING = new Set(["prepare_synthesis", "synthesize", "verify", "persist_trace"]);

export class Turn {
  readonly id: string;
  readonly asked: Asked;
  readonly synthesis: boolean;
  runId = $state("");
  status = $state<TurnStatus>("researching");
  stages = $state<Stage[]>([]);
  progress = $state.raw<Progress | null>(null);
  sentences = $state<LiveSentence[]>([]);
  warnings = $state<string[]>([]);
  tracePath = $state("");
  /** What became of the record; empty until the run has told. */
  recorded = $state<"" | "saved" | "off" | "failed">("");
  result = $state.raw<RunResult | null>(null);
  /** Evidence without an answer, where synthesis was off. */
  packOnly = $state.raw<ResearchPack | null>(null);
  error = $state.raw<ApiError | null>(null);
  attempts = $state(0);
  stopping = $state<"" | "cancel" | "finish">("");
  #abort = new AbortController();

  constructor(asked: Asked, synthesis: boolean, kept?: Kept) {
    this.id = kept?.id ?? `q${Date.now().toString(36)}${Math.floor(Math.random() * 1e6).toString(36)}`;
    this.asked = asked;
    this.synthesis = synthesis;
    if (kept) {
      this.runId = kept.runId;
      this.status = kept.status;
    }
  }

  get question(): string {
    return this.asked.question;
  }

  get isUnderWay(): boolean {
    return UNDER_WAY.has(this.status);
  }

  get pack(): ResearchPack | null {
    return this.result?.pack ?? this.packOnly;
  }

  kept(): Kept {
    return { id: this.id, asked: this.asked, synthesis: this.synthesis, runId: this.runId, status: this.status };
  }

  /** Ask it; the server goes on with the run whatever becomes of this page. */
  async ask(): Promise<void> {
    announcer.say("Asking");
    try {
      if (!this.synthesis) {
        this.packOnly = await post<ResearchPack>("/api/research", packBody(this.asked));
        this.#ended("ready", `${plural(this.packOnly.evidence.length, "passage")} found; synthesis is off`);
        return;
      }
      const accepted = await post<RunAccepted>("/api/runs", this.asked);
      this.runId = accepted.run_id;
      session.save();
      await this.watch();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Everything the run's log says, from its beginning on, as long as it goes on. */
  async watch(): Promise<void> {
    this.#reset();
    try {
      await watchRun(this.runId, {
        onEvent: (event) => this.#take(event),
        onConnection: (attempts) => (this.attempts = attempts),
        signal: this.#abort.signal,
      });
    } catch (error) {
      this.#failed(error);
    }
  }

  leave(): void {
    this.#abort.abort();
  }

  async stop(how: "cancel" | "finish"): Promise<void> {
    if (!this.runId) return;
    this.stopping = how;
    try {
      await post(`/api/runs/${this.runId}/${how}`);
    } catch (error) {
      const failed = asApiError(error);
      // It had ended meanwhile: the stream says how.
      if (failed.status !== 409) this.error = failed;
      this.stopping = "";
    }
  }

  async resume(): Promise<void> {
    try {
      await post(`/api/runs/${this.runId}/resume`);
      this.status = "researching";
      await this.watch();
    } catch (error) {
      this.#failed(error);
    }
  }

  #reset(): void {
    this.stages = [];
    this.sentences = [];
    this.warnings = [];
    this.error = null;
    this.attempts = 0;
    this.stopping = "";
  }

  #take(event: StreamEvent): void {
    switch (event.name) {
      case "progress":
        this.#advance(event.data);
        break;
      case "sentence":
        this.sentences[event.data.n - 1] = { ...event.data, retracted: "" };
        break;
      case "retraction": {
        const taken = this.sentences[event.data.n - 1];
        if (taken) taken.retracted = event.data.reason;
        break;
      }
      case "warning":
        this.warnings.push(event.data.code);
        break;
      case "trace":
        this.tracePath = event.data.saved ? (event.data.path ?? "") : "";
        this.recorded = event.data.saved ? "saved" : "failed";
        break;
      case "done":
        this.#finished(event.data);
        break;
      case "error":
        this.#refused(event.data.error);
        break;
    }
  }

  #advance(progress: Progress): void {
    this.progress = progress;
    const current = this.stages.at(-1);
    if (current?.stage !== progress.stage) {
      if (current) current.ended = progress.elapsed;
      this.stages.push({ stage: progress.stage, title: progress.title, details: [], began: progress.elapsed, ended: null });
      if (this.isUnderWay) {
        announcer.say(progress.title);
        this.status = WRITING.has(progress.stage) ? "synthesizing" : "researching";
      }
    }
    if (progress.detail) this.stages.at(-1)?.details.push(progress.detail);
  }

  #finished(result: RunResult): void {
    const last = this.stages.at(-1);
    if (last) last.ended = Math.max(last.began, result.metrics.seconds);
    this.result = result;
    if (this.asked.trace === false) this.recorded = "off";
    const status: TurnStatus =
      result.status === "cancelled"
        ? "cancelled"
        : result.stop_reason === "verification_failed"
          ? "verification_failed"
          : result.answer_status === "error" || result.status === "failed"
            ? "error"
            : result.answer && result.answer_warnings.includes("incomplete")
              ? "incomplete"
              : "ready";
    this.#ended(status, result.answer ? `${status === "incomplete" ? "Incomplete answer" : "Answer"} ready, ${plural(result.citations.length, "citation")}` : STOP_REASONS[result.stop_reason]);
  }

  #refused(error: { code: string; message: string; fix?: string | null }): void {
    this.error = new ApiError(error.message, error.code, 0, error.fix ?? "");
    this.#ended(error.code === "interrupted" ? "incomplete" : "error", error.message);
  }

  #failed(error: unknown): void {
    this.error = asApiError(error);
    this.#ended("error", this.error.message);
  }

  #ended(status: TurnStatus, said: string): void {
    this.status = status;
    this.attempts = 0;
    this.stopping = "";
    announcer.say(said);
    session.save();
  }
}

/** The same question to the endpoint that answers nothing and records nothing. */
function packBody(asked: Asked): Record<string, unknown> {
  const { question, source_types, tags, collections, only, since, until, history, pinned } = asked;
  return {
    question,
    option_profile: "web",
    ...(asked.planner === undefined || asked.planner === null ? {} : { use_model_planner: asked.planner }),
    ...Object.fromEntries(
      Object.entries({ source_types, tags, collections, only, since, until, history, pinned }).filter(([, value]) => value),
    ),
  };
}

class Session {
  conversationId = $state("");
  turns = $state<Turn[]>([]);
  pinned = $state<string[]>([]);
  /** Titles of what is pinned, for people. */
  titles = $state<Record<string, string>>({});

  /** What a reload left: finished turns are read one after the other, one that is under way at once. */
  restore(): void {
    const kept = readKept();
    this.conversationId = kept?.conversationId ?? newId();
    if (!kept) return;
    this.pinned = kept.pinned;
    this.titles = kept.titles;
    this.turns = kept.turns.map((one) => new Turn(one.asked, one.synthesis, one));
    void this.#reread();
  }

  async #reread(): Promise<void> {
    for (const turn of this.turns) if (turn.runId && turn.isUnderWay) void turn.watch();
    for (const turn of this.turns) {
      if (turn.runId && !turn.isUnderWay && !turn.result) await turn.watch();
      else if (!turn.runId && !turn.result) await turn.ask();
    }
  }

  ask(asked: Asked, synthesis: boolean): Turn {
    const turn = new Turn(asked, synthesis);
    this.turns.push(turn);
    for (const old of this.turns.splice(0, Math.max(0, this.turns.length - MOST_TURNS))) old.leave();
    this.save();
    const placed = this.turns.at(-1) ?? turn;
    void placed.ask();
    return placed;
  }

  /** Earlier questions of this conversation, oldest first, for the server to resolve a follow-up with. */
  history(): { id: string; question: string }[] {
    return this.turns.slice(-MOST_TURNS).map((turn) => ({ id: turn.id, question: turn.question }));
  }

  isPinned(key: string): boolean {
    return this.pinned.includes(key);
  }

  pin(key: string, title: string): void {
    if (this.isPinned(key)) this.pinned = this.pinned.filter((one) => one !== key);
    else if (this.pinned.length < MOST_PINS) {
      this.pinned.push(key);
      this.titles[key] = title;
    }
    announcer.say(this.isPinned(key) ? `Pinned ${title} for the next question` : `${title} is not pinned`);
    this.save();
  }

  begin(): void {
    for (const turn of this.turns) turn.leave();
    this.turns = [];
    this.pinned = [];
    this.titles = {};
    this.conversationId = newId();
    this.save();
  }

  save(): void {
    const document = {
      conversationId: this.conversationId,
      turns: this.turns.slice(-MOST_TURNS).map((turn) => turn.kept()),
      pinned: this.pinned.slice(0, MOST_PINS),
      titles: this.titles,
    };
    try {
      sessionStorage.setItem(KEY, JSON.stringify(document));
    } catch {
      // Storage that is full or forbidden loses the reload, not the conversation.
    }
  }
}

interface KeptSession {
  conversationId: string;
  turns: Kept[];
  pinned: string[];
  titles: Record<string, string>;
}

function readKept(): KeptSession | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    if (!kept || !Array.isArray(kept.turns) || !Array.isArray(kept.pinned)) return null;
    const turns = kept.turns.filter((one: Kept) => typeof one?.asked?.question === "string");
    return { conversationId: String(kept.conversationId), turns, pinned: kept.pinned, titles: kept.titles ?? {} };
  } catch {
    return null;
  }
}

function newId(): string {
  const parts = crypto.getRandomValues(new Uint32Array(4));
  return `c-${Array.from(parts, (part) => part.toString(36)).join("")}`;
}

export const session = new Session();
