// The agent's side of an update: it gets the release, verifies it, takes no more jobs, and asks the updater. Everything that
// needs root is the updater's, which verifies it all again.

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { acceptRelease, type Verdict } from "@kule/agent-release/accept-release";
import type { Architecture } from "@kule/agent-release/release";
import type { ReleaseKeys } from "@kule/agent-release/release-keys";
import type { CrashHook } from "@kule/crash-points/crash-hook";
import { type AgentWatcher, unwatched } from "../agent-watcher.ts";
import { LAYOUT, UPDATE_FOLDER } from "../install/layout.ts";
import { textOf } from "../install/plan-install.ts";
import type { Logger } from "../log.ts";
import { type AgentRuntime, pausedFully } from "../runtime.ts";
import { asWish, type Progress, progressOf, versionToTry } from "./agent-side.ts";
import { type DownloadLimits, download } from "./download.ts";
import {
  type MachineState,
  NO_STATE,
  readMachineState,
  replaceDurably,
  StateUnreadable,
} from "./machine-state.ts";
import type { ReleaseSource } from "./release-source.ts";
import { asRequest, KEYS_FILE, manifestFile, REQUEST_FILE, type UpdateRequest } from "./request.ts";

/** The agent's claims, which stop for an update. */
export type Claims = {
  readonly runningJobs: number;
  /** Resolves when no claim is open any more. */
  hold(): Promise<void>;
  resume(): void;
};

export type UpdateLoopLimits = DownloadLimits & {
  readonly lookEveryMs: number;
  /** For the jobs that it holds to end. */
  readonly drainMs: number;
  /** For the updater to answer. */
  readonly answerMs: number;
  /** Until a version that was refused or failed is tried again. */
  readonly againMs: number;
};

export type UpdateLoopOptions = {
  readonly source: ReleaseSource;
  readonly claims: Claims;
  readonly runtime: AgentRuntime;
  readonly log: Logger;
  readonly crashPoint: CrashHook;
  readonly watcher?: AgentWatcher | undefined;
  /** Where the machine's files are. */
  readonly root: string;
  readonly stateDirectory: string;
  readonly runningVersion: string;
  readonly architecture: Architecture;
  readonly builtIn: ReleaseKeys;
  readonly limits: UpdateLoopLimits;
};

/** How an update ends here, before the updater is asked. */
class NotNow extends Error {
  readonly progress: Pick<Progress, "state" | "code" | "message"> | null;
  readonly againMs: number;

  /** @param progress null: it is not wanted any more */
  constructor(progress: NotNow["progress"], againMs: number) {
    super(progress?.message ?? "it is not wanted any more");
    this.progress = progress;
    this.againMs = againMs;
  }
}

export class UpdateLoop {
  readonly #options: UpdateLoopOptions;
  readonly #folder: string;
  readonly #blocked = new Map<string, { readonly since: number; readonly until: number }>();
  #wanted: string | null = null;
  /** Of the update that it is at, or why it is at none; null when root knows better. */
  #own: Progress | null = null;
  #shown = "";

  constructor(options: UpdateLoopOptions) {
    this.#options = options;
    this.#folder = join(options.stateDirectory, UPDATE_FOLDER);
  }

  /** The version that the control plane wants this agent to have. */
  wants(version: string | null): void {
    this.#wanted = version;
    this.#show();
  }

  /** The update that it is at, or its last one. */
  get progress(): Progress | null {
    return this.#own ?? progressOf(this.#root(), this.#options.runningVersion);
  }

  /** Works until the signal. What goes wrong with an update ends no job. */
  async run(stop: AbortSignal): Promise<void> {
    const { runtime, limits, log } = this.#options;
    while (!stop.aborted) {
      try {
        // It stays from then on: systemd watches it for a request.
        mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
        await this.#look(stop);
      } catch (error) {
        if (stop.aborted) return;
        log.error({ err: error }, "the update cannot go on");
        const version = this.#own?.version;
        if (version !== undefined)
          this.#end(version, { ...ioFailure(error), state: "failed" }, limits.againMs);
      }
      this.#show();
      await pausedFully(runtime, limits.lookEveryMs, stop);
    }
  }

  async #look(stop: AbortSignal): Promise<void> {
    const { runningVersion, runtime } = this.#options;
    const root = this.#root();
    const pending = this.#pendingRequest();
    if (pending !== null) {
      if (root.phase === "idle")
        this.#forget(root.result?.request_id === pending.id && root.result.state === "done");
      // Started again while the updater prepares: it is about to be replaced.
      else if (root.update.request_id === pending.id && root.update.to !== runningVersion)
        return await this.#hold(() => this.#answer(pending, stop));
      else return;
    }
    const version = versionToTry({
      running: runningVersion,
      wanted: this.#wanted,
      wish: this.#wish(),
      root,
      blocked: this.#blocked,
      nowMs: runtime.now(),
    });
    if (version === null) return;
    try {
      await this.#update(version, stop);
    } catch (error) {
      if (!(error instanceof NotNow)) throw error;
      this.#end(version, error.progress, error.againMs);
    }
  }

  async #update(version: string, stop: AbortSignal): Promise<void> {
    const { log, crashPoint, runtime } = this.#options;
    log.info({ from: this.#options.runningVersion, to: version }, "updating");
    this.#report(version, "downloading");
    await this.#fetch(version, stop);
    this.#report(version, "verified");
    await this.#hold(async () => {
      await this.#drain(version, stop);
      const request: UpdateRequest = { format: 1, id: runtime.uuid(), version };
      await crashPoint("update.request.before");
      replaceDurably(join(this.#folder, REQUEST_FILE), `${JSON.stringify(request)}\n`, 0o600);
      await crashPoint("update.request.after");
      log.info({ to: version }, "the updater is asked");
      await this.#answer(request, stop);
    });
  }

  /** Gets the release, verifies it, and leaves it for the updater. */
  async #fetch(version: string, stop: AbortSignal): Promise<void> {
    const { source, architecture, limits } = this.#options;
    const soon = limits.longestBackoffMs;
    const later = (message: string) =>
      new NotNow({ state: "downloading", code: "unreachable", message }, soon);
    const keys = await source.keys(stop);
    if (keys.kind !== "ok") throw later(keys.message);
    const manifest = await source.manifest(version, stop);
    if (manifest.kind === "refused")
      throw new NotNow(
        { state: "refused", code: "not_available", message: manifest.message },
        limits.againMs,
      );
    if (manifest.kind !== "ok") throw later(manifest.message);
    const verdict = this.verdict(version, { envelope: manifest.value, keyChain: keys.value });
    if (verdict.kind === "refused") {
      const { code, message } = verdict;
      throw new NotNow({ state: "refused", code, message }, limits.againMs);
    }
    this.#tidy(version);
    const end = await download(
      source,
      { version, architecture, file: verdict.file },
      this.#folder,
      this.#options,
      stop,
    );
    if (end.kind === "failed") {
      const { code, message, isOver } = end;
      throw new NotNow({ state: isOver ? "refused" : "failed", code, message }, limits.againMs);
    }
    const write = (name: string, value: unknown) =>
      replaceDurably(join(this.#folder, name), JSON.stringify(value), 0o600);
    write(manifestFile(version), manifest.value);
    write(KEYS_FILE, { envelopes: keys.value });
  }

  /** By the same rules as the updater's. */
  verdict(
    wantedVersion: string,
    given: Pick<Parameters<typeof acceptRelease>[0], "envelope" | "keyChain">,
  ): Verdict {
    const { builtIn, runningVersion, architecture, runtime } = this.#options;
    const root = this.#root();
    return acceptRelease({
      ...given,
      wantedVersion,
      builtIn,
      known: {
        keys: root.keys,
        highestVersion: root.highest_version,
        badVersions: root.bad_versions.map(({ version }) => version),
      },
      runningVersion,
      architecture,
      nowMs: runtime.now(),
    });
  }

  /** No job is claimed meanwhile. */
  async #hold(work: () => Promise<void>): Promise<void> {
    const { claims } = this.#options;
    await claims.hold();
    try {
      await work();
    } finally {
      claims.resume();
    }
  }

  async #drain(version: string, stop: AbortSignal): Promise<void> {
    const { claims, runtime, limits, log } = this.#options;
    if (claims.runningJobs > 0)
      log.info({ jobs: claims.runningJobs }, "the update waits for the jobs that run");
    this.#report(version, "draining");
    const until = runtime.monotonic() + limits.drainMs;
    while (claims.runningJobs > 0) {
      if (!this.#isWanted(version)) throw new NotNow(null, 0);
      if (runtime.monotonic() >= until) {
        const message = `${claims.runningJobs} jobs did not end within ${Math.round(limits.drainMs / 60_000)} minutes: it is tried again later`;
        throw new NotNow({ state: "draining", code: "busy", message }, limits.againMs);
      }
      await pausedFully(runtime, limits.lookEveryMs, stop);
      stop.throwIfAborted();
    }
  }

  /** Waits for the end of what it has asked for. An update that succeeds ends this process. */
  async #answer({ id, version }: UpdateRequest, stop: AbortSignal): Promise<void> {
    const { runtime, limits, log } = this.#options;
    const until = runtime.monotonic() + limits.answerMs;
    for (;;) {
      const { result, phase } = this.#root();
      if (result?.request_id === id) {
        log.warn({ to: version, code: result.code, reason: result.message }, `the update: ${result.state}`);
        this.#forget(result.state === "done");
        // Root's words are the ones that are shown.
        this.#block(version, limits.againMs);
        this.#own = null;
        return;
      }
      if (runtime.monotonic() >= until && phase === "idle") {
        this.#forget(false);
        const message =
          "the updater does not answer: systemctl status kule-agent-update.path kule-agent-update";
        throw new NotNow({ state: "failed", code: "no_updater", message }, limits.againMs);
      }
      await pausedFully(runtime, limits.lookEveryMs, stop);
      stop.throwIfAborted();
    }
  }

  #isWanted(version: string): boolean {
    return this.#wanted === version || this.#wish()?.version === version;
  }

  #report(version: string, state: Progress["state"]): void {
    this.#own = { version, state, code: null, message: null, at: this.#now() };
    this.#show();
  }

  #end(version: string, progress: NotNow["progress"], againMs: number): void {
    const { log } = this.#options;
    if (progress === null) this.#own = null;
    else {
      const message = progress.message?.slice(0, 500) ?? null;
      log.warn({ to: version, code: progress.code, reason: message }, `the update: ${progress.state}`);
      this.#own = { version, ...progress, message, at: this.#now() };
    }
    this.#block(version, againMs);
  }

  #block(version: string, milliseconds: number): void {
    const since = this.#options.runtime.now();
    this.#blocked.clear();
    this.#blocked.set(version, { since, until: since + milliseconds });
  }

  #show(): void {
    const update = { hindrance: null, wanted: this.#wanted, progress: this.progress };
    const text = JSON.stringify([update.wanted, { ...update.progress, at: null }]);
    if (text === this.#shown) return;
    this.#shown = text;
    (this.#options.watcher ?? unwatched).updateChanged(update);
  }

  #root(): MachineState {
    try {
      return readMachineState(this.#options.root);
    } catch (error) {
      if (error instanceof StateUnreadable) return NO_STATE;
      throw error;
    }
  }

  #wish() {
    const text = textOf(join(this.#options.root, LAYOUT.update, WISH_FILE));
    return text === null ? null : asWish(text);
  }

  #pendingRequest(): UpdateRequest | null {
    const text = textOf(join(this.#folder, REQUEST_FILE));
    return text === null ? null : asRequest(text);
  }

  /** The request, and what was downloaded for it when nobody needs that again. */
  #forget(everything: boolean): void {
    for (const name of everything ? readdirSync(this.#folder) : [REQUEST_FILE])
      rmSync(join(this.#folder, name), { recursive: true, force: true });
  }

  /** What was downloaded of other versions. */
  #tidy(version: string): void {
    for (const name of readdirSync(this.#folder))
      if (!name.includes(`-${version}`) && !name.startsWith(version))
        rmSync(join(this.#folder, name), { recursive: true, force: true });
  }

  #now(): string {
    return new Date(this.#options.runtime.now()).toISOString();
  }
}

/** In the folder that root remembers updates in. */
export const WISH_FILE = "wanted.json";

function ioFailure(error: unknown): { readonly code: string; readonly message: string } {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const message = error instanceof Error ? error.message : String(error);
  return ["ENOSPC", "EDQUOT"].includes(code)
    ? { code: "no_space", message: "the agent's state folder is full" }
    : { code: "not_written", message };
}
