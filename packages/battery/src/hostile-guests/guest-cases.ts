import { setTimeout as delay } from "node:timers/promises";
import { type GuestConsoles, type OpenConsole, ownClipboard, timeoutMilliseconds } from "./guest-console.ts";
import { cutText, extendedCutTexts, greetViewer, picture } from "./screen-of-guest.ts";

/** A guest that attacks its viewer in every way it can; returns what it has achieved. */
export type GuestCase = (guests: GuestConsoles) => Promise<readonly string[]>;

const evil = "rm -rf ~ # of the guest";
const encoded = Buffer.from(evil).toString("base64");
const end = "the end of it";
/** Long enough for what a page does after it has drawn. */
const afterwardsMilliseconds = 500;

/** Control sequences of terminals, each with both ways to end it. */
const sequences = [
  ...["c", "p", "s", "q", "0", "cps0", ""].map((target) => `\x1b]52;${target};${encoded}`),
  "\x1b]52;c;?",
  "\x1b]50;?",
  `\x1b]0;${evil}`,
  `\x1b]1;${evil}`,
  `\x1b]2;${evil}`,
  `\x1b]9;${evil}`,
  `\x1b]777;notify;${evil};${evil}`,
  `\x1b]1337;Copy=:${encoded}`,
  `\x1b]1337;File=inline=1:${encoded}`,
  "\x1b]7;file://evil.example/",
  `\x1bP+q${Buffer.from("Co").toString("hex")}`,
  `\x1bP1$r${evil}`,
  `\x1b_${evil}`,
  `\x1b^${evil}`,
].flatMap((sequence) => [`${sequence}\x07`, `${sequence}\x1b\\`]);
/** Old terminals answer these with text that the guest has sent before. */
const questions = ["\x1b[21t", "\x1b[20t", "\x05", "\x1b[?26n", "\x1b[c", "\x1b[6n"];

/** Queried repeatedly: waiting within the page would run code from a text, which its policy forbids. */
async function untilShown(page: OpenConsole["page"], shown: string): Promise<void> {
  const deadline = performance.now() + timeoutMilliseconds;
  while (!(await page.evaluate(shown))) {
    if (performance.now() > deadline) throw new Error(`the console never shows ${shown}`);
    await delay(100);
  }
}

async function stood({ page, happened }: OpenConsole, title: string): Promise<string[]> {
  await delay(afterwardsMilliseconds);
  const clipboard = (await page.evaluate("navigator.clipboard.readText()")) as string;
  const titleNow = await page.title();
  return [
    ...(clipboard === ownClipboard ? [] : [`a guest has written the clipboard: ${clipboard}`]),
    ...(titleNow === title ? [] : [`a guest has named the page: ${titleNow}`]),
    ...happened.map((each) => `a guest has led to ${each}`),
  ];
}

export const guestCases: readonly GuestCase[] = [
  async function onTheLine(guests) {
    const open = await guests.start("serial");
    const { page, machine } = open;
    await page.waitForSelector("#console-state[data-state=open]");
    const title = await page.title();
    machine.forgetBytes();
    machine.socket.send(Buffer.from(sequences.join("") + questions.join("")));
    machine.socket.send(Buffer.from(`\x1b[2J\x1b[H${end}`));
    await untilShown(
      page,
      `document.querySelector(".xterm-rows")?.textContent.replaceAll("\\u00a0", " ").includes("${end}")`,
    );
    const broken = await stood(open, title);
    const typed = machine.bytes.toString("latin1");
    for (const [what, text] of Object.entries({
      "its own words": "rm -rf",
      "the clipboard": ownClipboard,
    }))
      if (typed.includes(text) || typed.includes(Buffer.from(text).toString("base64")))
        broken.push(`a guest was typed ${what} by the terminal`);
    await guests.end(open);
    return broken;
  },
  async function onTheScreen(guests) {
    const open = await guests.start("vnc");
    const { page, machine } = open;
    const title = await page.title();
    await greetViewer(machine, `<img src=x onerror=alert(1)> ${evil}`);
    await page.waitForSelector("#console-state[data-state=open]");
    machine.socket.send(cutText(evil));
    for (const message of extendedCutTexts(evil)) machine.socket.send(message);
    // What is drawn after all that proves that it was read, and did not end the session.
    machine.socket.send(picture(18, 53, 91));
    await untilShown(
      page,
      `(() => {
        const canvas = document.querySelector("#console-screen canvas");
        return canvas !== null && canvas.width > 0 &&
          [...canvas.getContext("2d").getImageData(1, 1, 1, 1).data.slice(0, 3)].join() === "18,53,91";
      })()`,
    );
    const broken = await stood(open, title);
    if (machine.bytes.includes(ownClipboard)) broken.push("a guest was told the clipboard");
    if (await page.locator("#console-screen img").count()) broken.push("a guest's name has become markup");
    await guests.end(open);
    return broken;
  },
];
