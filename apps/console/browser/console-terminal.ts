import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import type { Screen } from "./console-screen.ts";

const partLength = 4096;
const acknowledgeEvery = 64 * 1024;
const encoder = new TextEncoder();

/** A text console over a socket that is about to open. */
export function openTerminal(place: HTMLElement, socket: WebSocket): Screen {
  const style = getComputedStyle(document.documentElement);
  const terminal = new Terminal({
    cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    fontFamily: style.getPropertyValue("--mono"),
    fontSize: matchMedia("(max-width: 40rem)").matches ? 12 : 15,
    scrollback: 5000,
    screenReaderMode: false,
    theme: { background: "#101418", foreground: "#d6dce4", cursor: "#ffb347" },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(place);
  fit.fit();

  const say = (message: object) => {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
  };
  const type = (text: string) => {
    // Sent in parts: a frame has a maximum length, and a long paste must not block later input.
    for (let at = 0; at < text.length; at += partLength)
      if (socket.readyState === socket.OPEN) socket.send(encoder.encode(text.slice(at, at + partLength)));
  };
  const resize = () => say({ type: "resize", cols: terminal.cols, rows: terminal.rows });

  // Acknowledges what was drawn, so that a machine that writes faster than this page draws has to wait.
  let shown = 0;
  let said = 0;
  const acknowledge = () => {
    said = shown;
    say({ type: "ack", bytes: shown });
  };
  socket.addEventListener("message", ({ data }) => {
    if (typeof data === "string") {
      acknowledge();
      resize();
      return;
    }
    const bytes = new Uint8Array(data as ArrayBuffer);
    terminal.write(bytes, () => {
      shown += bytes.length;
      if (shown - said >= acknowledgeEvery) acknowledge();
    });
  });
  terminal.onData(type);
  terminal.onBinary((text) => socket.send(Uint8Array.from(text, (each) => each.charCodeAt(0))));
  terminal.onResize(resize);
  const watch = new ResizeObserver(() => fit.fit());
  watch.observe(place);
  // Ctrl+C is input for a terminal; Ctrl+Shift+C copies.
  terminal.attachCustomKeyEventHandler((event) => {
    if (event.type !== "keydown" || !event.ctrlKey || !event.shiftKey) return true;
    if (event.code === "KeyC") {
      event.preventDefault();
      void navigator.clipboard?.writeText(terminal.getSelection());
      return false;
    }
    return event.code !== "KeyV";
  });
  return {
    paste: (text) => terminal.paste(text),
    focus: () => terminal.focus(),
    ctrlAltDel: () => {},
    close() {
      watch.disconnect();
      terminal.dispose();
    },
  };
}
