import type { Schemas } from "@kule/contract/schemas";
import { Document } from "../../layout/document.tsx";
import type { View } from "../../layout/view.ts";

type ConsoleType = "serial" | "vnc";

type Props = {
  readonly view: View;
  readonly server: Pick<Schemas["Server"], "id" | "name" | "console">;
  readonly type: ConsoleType;
};

/**
 * A console: a bar with its actions and the state of the connection as text; the machine has the rest of the window.
 */
export function ConsolePage({ view, server, type }: Props) {
  const { messages } = view;
  const texts = messages.consoles;
  const { acts } = texts;
  // The most likely keyboard layout for a language.
  const keymap = view.language === "tr" ? "trq" : "uk";
  const other = type === "serial" ? "vnc" : "serial";
  const data = JSON.stringify({ states: texts.states, reasons: texts.reasons });
  return (
    <Document view={view} title={`${server.name} · ${texts.title}`} class="console-window" needs={["screen"]}>
      <header class="console-bar">
        <div class="console-name">
          <a href={`/servers/${server.id}`} title={texts.back}>
            <span aria-hidden="true">←</span>
            <span class="visually-hidden">{texts.back}</span>
          </a>
          <h1 title={server.name}>{server.name}</h1>
          <p id="console-state" role="status" data-state="asking">
            {texts.states.asking}
          </p>
        </div>
        <div class="console-acts">
          <button type="button" class="button" data-kind="primary" data-act="reconnect" hidden>
            {acts.reconnect}
          </button>
          <button type="button" class="button" data-act="take-over" hidden>
            {acts.takeOver}
          </button>
          <button type="button" class="button" data-act="paste">
            {acts.paste}
          </button>
          {type === "vnc" ? (
            <button type="button" class="button" data-act="ctrl-alt-del">
              {acts.ctrlAltDel}
            </button>
          ) : null}
          <button type="button" class="button" data-act="full-screen">
            {acts.fullScreen}
          </button>
          {server.console.types.includes("serial") ? (
            <a class="button" href={`/servers/${server.id}/console?type=${other}`}>
              {type === "serial" ? acts.asScreen : acts.asText}
            </a>
          ) : null}
        </div>
      </header>
      <main
        id="console-screen"
        aria-label={type === "serial" ? texts.terminal : texts.screen}
        data-type={type}
        data-ticket={`/servers/${server.id}/console/ticket`}
        data-token={view.formToken()}
        data-texts={data}
      >
        <noscript>
          <p class="banner">{texts.noScript}</p>
        </noscript>
      </main>
      <footer class="console-hint">
        {server.console.types.includes("serial") ? <span>{texts.emptyHint} </span> : null}
        {texts.leaveHint}
        {type === "vnc" ? <span> {texts.layoutHint(keymap)}</span> : null}
      </footer>
      <dialog id="console-paste" aria-labelledby="console-paste-title">
        <form method="dialog">
          <h2 id="console-paste-title">{texts.pasteTitle}</h2>
          <textarea rows={6} spellcheck={false} aria-labelledby="console-paste-title"></textarea>
          <div class="dialog-acts">
            <button type="submit" class="button" value="cancel" formnovalidate>
              {messages.common.cancel}
            </button>
            <button type="submit" class="button" data-kind="primary" value="send">
              {acts.send}
            </button>
          </div>
        </form>
      </dialog>
    </Document>
  );
}
