import { openTerminal } from "./console-terminal.ts";
import { openViewer } from "./console-viewer.ts";

/** The interface that the page uses for a console, whether text or screen. */
export type Screen = {
  paste(text: string): void;
  focus(): void;
  ctrlAltDel(): void;
  close(): void;
};

type Texts = { readonly states: Record<string, string>; readonly reasons: Record<string, string> };
type Ticket = { readonly url: string; readonly protocol: string; readonly ticket: string };
type Refusal = { readonly code: string; readonly text?: string };

/** Close reasons after which a new connection is likely to succeed. */
const passing = new Set(["", "restarting", "region_lost", "region_silent"]);
const longestWaitMs = 15_000;

const place = document.getElementById("console-screen");
const state = document.getElementById("console-state");
if (place !== null && state !== null) run(place, state);

function run(place: HTMLElement, state: HTMLElement): void {
  const texts = JSON.parse(place.dataset.texts ?? "{}") as Texts;
  const type = place.dataset.type === "vnc" ? "vnc" : "serial";
  let screen: Screen | null = null;
  let failures = 0;
  allowOwnStylesheets(document.querySelector("script")?.nonce ?? "");

  const show = (name: string, text: string, acts: readonly string[] = []) => {
    state.dataset.state = name;
    state.textContent = text;
    for (const act of ["reconnect", "take-over"]) button(act)?.toggleAttribute("hidden", !acts.includes(act));
    for (const act of ["paste", "ctrl-alt-del"]) button(act)?.toggleAttribute("disabled", name !== "open");
  };
  const end = (reason: string, acts = ["reconnect"]) => {
    show("closed", texts.reasons[reason] ?? texts.states.closed ?? "", acts);
    button("reconnect")?.focus();
  };

  async function connect(takeOver = false): Promise<void> {
    show(failures === 0 ? "asking" : "again", texts.states[failures === 0 ? "asking" : "again"] ?? "");
    const answer = await askForTicket(place, type, takeOver);
    if (answer === null) return again("failed");
    if (!("url" in answer)) {
      const acts = answer.code === "console_in_use" ? ["take-over"] : ["reconnect"];
      show("closed", answer.text ?? texts.reasons.failed ?? "", acts);
      return;
    }
    show("connecting", texts.states.connecting ?? "");
    const socket = new WebSocket(answer.url, [answer.protocol, `kule.ticket.${answer.ticket}`]);
    socket.binaryType = "arraybuffer";
    screen?.close();
    place.replaceChildren();
    const opened = type === "vnc" ? openViewer(place, socket) : openTerminal(place, socket);
    screen = opened;
    socket.addEventListener(
      "message",
      () => {
        failures = 0;
        show("open", texts.states.open ?? "");
        opened.focus();
      },
      { once: true },
    );
    socket.addEventListener("close", ({ reason }) => {
      // A later connection has replaced this one.
      if (screen !== opened) return;
      if (reason === "serial_unsupported") location.replace(`${location.pathname}?type=vnc`);
      else if (passing.has(reason)) again(reason === "" ? "failed" : reason);
      else end(reason);
    });
  }

  function again(reason: string): void {
    failures += 1;
    if (failures > 6) {
      end(reason);
      return;
    }
    show("again", texts.states.again ?? "", ["reconnect"]);
    const turn = failures;
    setTimeout(
      () => {
        if (failures === turn && state.dataset.state === "again") void connect();
      },
      Math.min(longestWaitMs, 500 * 2 ** (failures - 1)),
    );
  }

  const acts: Record<string, () => void> = {
    reconnect: () => {
      failures = 0;
      void connect();
    },
    "take-over": () => void connect(true),
    paste: () => void paste(),
    "ctrl-alt-del": () => {
      screen?.ctrlAltDel();
      screen?.focus();
    },
    "full-screen": () => {
      if (document.fullscreenElement === null) void document.documentElement.requestFullscreen();
      else void document.exitFullscreen();
      screen?.focus();
    },
  };
  document.addEventListener("click", ({ target }) => {
    const act = (target as Element | null)?.closest<HTMLElement>("[data-act]")?.dataset.act;
    if (act !== undefined) acts[act]?.();
  });
  // The machine receives every other key, Tab included, so one key must leave the console.
  document.addEventListener(
    "keydown",
    (event) => {
      if (!event.ctrlKey || !event.altKey || event.key !== "Home") return;
      event.preventDefault();
      event.stopPropagation();
      button("paste")?.focus();
    },
    { capture: true },
  );

  const dialog = document.getElementById("console-paste") as HTMLDialogElement | null;
  const field = dialog?.querySelector("textarea") ?? null;
  dialog?.addEventListener("close", () => {
    if (dialog.returnValue === "send" && field !== null) screen?.paste(field.value);
    if (field !== null) field.value = "";
    screen?.focus();
  });
  /** Reads the clipboard where the browser permits it, otherwise opens a field to paste into. */
  async function paste(): Promise<void> {
    const text = await navigator.clipboard?.readText().catch(() => null);
    if (text) {
      screen?.paste(text);
      screen?.focus();
    } else dialog?.showModal();
  }

  void connect();
}

/** A hoisted function: the page starts before the end of this file is evaluated. */
function button(act: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[data-act="${act}"]`);
}

async function askForTicket(
  place: HTMLElement,
  type: string,
  takeOver: boolean,
): Promise<Ticket | Refusal | null> {
  const body = new URLSearchParams({
    form_token: place.dataset.token ?? "",
    type,
    take_over: String(takeOver),
  });
  try {
    const answer = await fetch(place.dataset.ticket ?? "", { method: "POST", body });
    // Signed out: the server renders the page for that.
    if (answer.redirected || answer.status === 401) location.reload();
    if (answer.status !== 200 && answer.status !== 409) return null;
    return (await answer.json()) as Ticket | Refusal;
  } catch {
    return null;
  }
}

/** The terminal creates its own stylesheets, which the page's policy permits only with this nonce. */
function allowOwnStylesheets(nonce: string): void {
  const make = document.createElement.bind(document);
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    const element = make(name, options);
    if (name.toLowerCase() === "style") element.nonce = nonce;
    return element;
  }) as typeof document.createElement;
}
