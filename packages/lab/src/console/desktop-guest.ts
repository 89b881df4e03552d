import type { Region } from "../region.ts";
import { Framebuffer } from "./framebuffer.ts";
import { guestFacts, passwordFits } from "./guest-facts.ts";
import { powerOffFromInside, restartFromInside } from "./guest-power.ts";
import type { Screen } from "./rfb-server.ts";

const WIDTH = 800;
const HEIGHT = 600;
const SKY = 0x12355b;
const PANEL = 0x1d4e7a;
const LIGHT = 0xf4f7fa;
const DIM = 0xa9c1d9;
const ACCENT = 0xffb347;
const PAGE = 0xffffff;
const INK = 0x1c2530;

const ENTER = 0xff0d;
const KEYPAD_ENTER = 0xff8d;
const BACKSPACE = 0xff08;
const DELETE = 0xffff;
const ESCAPE = 0xff1b;
const CONTROL = new Set([0xffe3, 0xffe4]);
const ALT = new Set([0xffe9, 0xffea]);
const LONGEST_TEXT = 2000;
const LINE_LENGTH = 58;
const LINES = 14;

type State = "starting" | "locked" | "password" | "refused" | "desktop" | "menu";

/** The menu of Ctrl+Alt+Del, by the digit that chooses. */
const MENU = ["Lock", "Sign out", "Restart", "Shut down", "Cancel"] as const;

/** A Windows machine as a person sees it on its screen: start, lock screen, sign-in, a notepad. */
export class DesktopGuest implements Screen {
  readonly frame = new Framebuffer(WIDTH, HEIGHT);
  readonly #region: Region;
  readonly #vmid: number;
  #state: State = "starting";
  #boots = 0;
  #password = "";
  #text = "";
  #control = false;
  #alt = false;
  #pointer = { x: WIDTH / 2, y: HEIGHT / 2, buttons: 0 };
  #gone = false;

  /** @param hasBooted it had started before it was first viewed */
  constructor(region: Region, vmid: number, hasBooted: boolean) {
    this.#region = region;
    this.#vmid = vmid;
    if (hasBooted) this.#state = "locked";
    else void this.boot();
    this.#draw();
  }

  get name(): string {
    return `QEMU (${this.#hostname()})`;
  }

  async boot(): Promise<void> {
    this.#boots += 1;
    const boot = this.#boots;
    this.#password = "";
    this.#text = "";
    this.#show("starting");
    await this.#region.runtime.wait(6);
    if (this.#boots === boot && !this.#gone) this.#show("locked");
  }

  end(): void {
    this.#gone = true;
  }

  key(keysym: number, down: boolean): void {
    if (CONTROL.has(keysym)) this.#control = down;
    if (ALT.has(keysym)) this.#alt = down;
    if (!down || this.#gone || this.#state === "starting") return;
    if (keysym === DELETE && this.#control && this.#alt) {
      this.#attention();
      return;
    }
    const character = keysym >= 0x20 && keysym < 0x100 ? String.fromCodePoint(keysym) : "";
    switch (this.#state) {
      case "password":
        this.#passwordKey(keysym, character);
        return;
      case "refused":
        this.#show("password");
        return;
      case "desktop":
        this.#desktopKey(keysym, character);
        return;
      case "menu":
        if (keysym === ESCAPE) {
          this.#show("desktop");
          return;
        }
        this.#choose(Number(character) - 1);
        return;
      default:
    }
  }

  pointer(x: number, y: number, buttons: number): void {
    const before = this.#pointer;
    this.#pointer = { x, y, buttons };
    // The picture under the arrow draws again what the arrow covered.
    this.#draw();
    if (this.#state === "menu" && buttons === 1 && before.buttons === 0) {
      const row = Math.floor((y - 200) / 40);
      if (x > 250 && x < 550) this.#choose(row);
    }
  }

  paste(text: string): void {
    if (this.#state === "desktop") {
      this.#text = (this.#text + text).slice(0, LONGEST_TEXT);
      this.#draw();
    }
  }

  #attention(): void {
    if (this.#state === "locked" || this.#state === "refused") {
      this.#password = "";
      this.#show("password");
    } else if (this.#state === "desktop") this.#show("menu");
    else if (this.#state === "password") this.#show("locked");
  }

  #passwordKey(keysym: number, character: string): void {
    if (keysym === ESCAPE) {
      this.#show("locked");
      return;
    }
    if (keysym === ENTER || keysym === KEYPAD_ENTER) {
      const vm = this.#region.store.get("vm", String(this.#vmid));
      const fits = vm !== undefined && passwordFits(vm, guestFacts(vm).user, this.#password);
      this.#password = "";
      this.#show(fits ? "desktop" : "refused");
      return;
    }
    if (keysym === BACKSPACE) this.#password = this.#password.slice(0, -1);
    else if (this.#password.length < 128) this.#password += character;
    this.#draw();
  }

  #desktopKey(keysym: number, character: string): void {
    if (keysym === BACKSPACE) this.#text = this.#text.slice(0, -1);
    else if (keysym === ENTER || keysym === KEYPAD_ENTER) this.#text += "\n";
    else if (this.#text.length < LONGEST_TEXT) this.#text += character;
    this.#draw();
  }

  #choose(index: number): void {
    switch (MENU[index]) {
      case "Lock":
        this.#show("locked");
        return;
      case "Sign out":
        this.#text = "";
        this.#show("locked");
        return;
      case "Restart":
        restartFromInside(this.#region, this.#vmid);
        return;
      case "Shut down":
        powerOffFromInside(this.#region, this.#vmid);
        return;
      case "Cancel":
        this.#show("desktop");
        return;
      default:
    }
  }

  #show(state: State): void {
    this.#state = state;
    this.#draw();
  }

  #hostname(): string {
    return this.#region.store.get("vm", String(this.#vmid))?.config.name ?? "windows";
  }

  #draw(): void {
    const { frame } = this;
    frame.fill({ x: 0, y: 0, width: WIDTH, height: HEIGHT }, SKY);
    switch (this.#state) {
      case "starting":
        this.#centred("Getting Windows ready", 260, LIGHT, 3);
        this.#centred("simulated by Kule's lab", 310, DIM, 2);
        break;
      case "locked":
        this.#centred(this.#hostname(), 180, LIGHT, 5);
        this.#centred("Press Ctrl+Alt+Delete to unlock.", 300, DIM, 2);
        break;
      case "password":
      case "refused":
        this.#drawSignIn();
        break;
      case "menu":
        this.#drawMenu();
        break;
      default:
        this.#drawDesktop();
    }
    this.#drawPointer();
  }

  #drawSignIn(): void {
    const vm = this.#region.store.get("vm", String(this.#vmid));
    this.#centred(vm === undefined ? "Administrator" : guestFacts(vm).user, 220, LIGHT, 4);
    if (this.#state === "refused") {
      this.#centred("The password is incorrect. Try again.", 300, ACCENT, 2);
      return;
    }
    this.frame.fill({ x: 250, y: 290, width: 300, height: 36 }, PAGE);
    this.frame.text(
      262,
      300,
      this.#password === "" ? "Password" : "*".repeat(Math.min(22, this.#password.length)),
      this.#password === "" ? DIM : INK,
      2,
    );
  }

  #drawDesktop(): void {
    const { frame } = this;
    frame.fill({ x: 0, y: HEIGHT - 36, width: WIDTH, height: 36 }, PANEL);
    frame.text(12, HEIGHT - 26, this.#hostname(), LIGHT, 2);
    frame.fill({ x: 40, y: 60, width: 720, height: 420 }, PAGE);
    frame.fill({ x: 40, y: 60, width: 720, height: 32 }, PANEL);
    frame.text(52, 68, "Notepad - type here", LIGHT, 2);
    const lines = `${this.#text}_`
      .split("\n")
      .flatMap((line) => line.match(new RegExp(`.{1,${LINE_LENGTH}}`, "g")) ?? [""]);
    for (const [row, line] of lines.slice(-LINES).entries()) frame.text(52, 104 + row * 26, line, INK, 2);
  }

  #drawMenu(): void {
    for (const [row, label] of MENU.entries()) {
      this.frame.fill({ x: 250, y: 200 + row * 40, width: 300, height: 36 }, PANEL);
      this.frame.text(264, 210 + row * 40, `${row + 1}  ${label}`, LIGHT, 2);
    }
  }

  #drawPointer(): void {
    const { x, y, buttons } = this.#pointer;
    for (let row = 0; row < 14; row++) {
      this.frame.fill(
        { x, y: y + row, width: Math.max(1, Math.ceil((14 - row) * 0.7)), height: 1 },
        buttons === 0 ? LIGHT : ACCENT,
      );
    }
  }

  #centred(text: string, y: number, colour: number, scale: number): void {
    this.frame.text(Math.round((WIDTH - text.length * 6 * scale) / 2), y, text, colour, scale);
  }
}
