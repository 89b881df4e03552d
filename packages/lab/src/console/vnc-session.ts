import type { Region } from "../region.ts";
import type { ConsoleClient } from "./console-client.ts";
import type { ConsoleListener } from "./console-listeners.ts";
import { guestOf } from "./guests.ts";
import { RfbServer } from "./rfb-server.ts";
import { TextScreen } from "./text-screen.ts";

/**
 * The server of a vncproxy client: the display, or vncterm's screen for a serial line that is the display.
 */
export class VncSession {
  readonly #rfb: RfbServer | null;
  #end: () => void = () => undefined;

  constructor(region: Region, listener: ConsoleListener, client: ConsoleClient) {
    const guest = guestOf(region, listener.vmid);
    const close = (): void => client.close();
    if (guest === undefined) {
      this.#rfb = null;
      close();
      return;
    }
    guest.onEnd.add(close);
    if (listener.serial !== null && guest.serial !== null) {
      const { serial } = guest;
      const name = region.store.get("vm", String(listener.vmid))?.config.name ?? String(listener.vmid);
      const screen: TextScreen = new TextScreen(`VM ${name}`, (bytes) => serial.input(screen, bytes), close);
      serial.attach(screen);
      this.#rfb = new RfbServer(client, screen, listener.password);
      this.#end = () => serial.detach(screen);
    } else {
      this.#rfb = new RfbServer(client, guest.desktop, listener.password);
    }
    const end = this.#end;
    this.#end = () => {
      guest.onEnd.delete(close);
      end();
    };
  }

  receive(bytes: Uint8Array): void {
    this.#rfb?.receive(bytes);
  }

  close(): void {
    this.#rfb?.close();
    this.#end();
  }
}
