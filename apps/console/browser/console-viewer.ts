import RFB from "@novnc/novnc";
import type { Screen } from "./console-screen.ts";

const enterKey = 0xff0d;
const tabKey = 0xff09;
/** Text is typed as key events, which every system understands: a machine without guest tools has no clipboard. */
const longestPaste = 2000;

/** A screen over a socket that is about to open. */
export function openViewer(place: HTMLElement, socket: WebSocket): Screen {
  const viewer = new RFB(place, socket, { shared: true });
  viewer.scaleViewport = true;
  viewer.focusOnClick = true;
  viewer.background = "transparent";
  return {
    paste(text) {
      for (const character of text.replaceAll("\r\n", "\n").slice(0, longestPaste))
        viewer.sendKey(keysymOf(character), null);
    },
    focus: () => viewer.focus(),
    ctrlAltDel: () => viewer.sendCtrlAltDel(),
    close() {
      viewer.disconnect();
      place.replaceChildren();
    },
  };
}

/** X11's keysym of a character: its code up to Latin-1, and its Unicode code point with a flag beyond. */
function keysymOf(character: string): number {
  if (character === "\n") return enterKey;
  if (character === "\t") return tabKey;
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? code : 0x0100_0000 + code;
}
