import { probeChromium } from "@kule/testing/chromium";
import { guestCases } from "../hostile-guests/guest-cases.ts";
import { GuestConsoles } from "../hostile-guests/guest-console.ts";
import { mutantsIn } from "../mutants-in.ts";
import type { Row } from "../row.ts";

const rounds = { sample: 1, full: 5 } as const;

/**
 * Each gives a guest an ability that it must not have: the console's scripts are safe by what they do not
 * react to.
 */
const withMore = mutantsIn("apps/console/browser");

export const row: Row = {
  id: "D17",
  title:
    "What a guest sends to a console only changes its screen: not the clipboard, not the title, not the input",
  minutes: 1,
  needs: { part: "chromium", probe: probeChromium },
  mutants: [
    withMore(
      "line-writes-the-clipboard",
      "the deafness of the terminal to OSC 52",
      "console-terminal.ts",
      "  terminal.loadAddon(fit);\n",
      `  terminal.loadAddon(fit);
  terminal.parser.registerOscHandler(52, (data) => {
    const text = data.split(";")[1] ?? "";
    if (text !== "?") void navigator.clipboard.writeText(atob(text));
    return true;
  });
`,
      /written the clipboard/,
    ),
    withMore(
      "line-reads-the-clipboard",
      "the silence of the terminal when the clipboard is asked for",
      "console-terminal.ts",
      "  terminal.loadAddon(fit);\n",
      `  terminal.loadAddon(fit);
  terminal.parser.registerOscHandler(52, (data) => {
    if (data.endsWith("?"))
      void navigator.clipboard.readText().then((text) => terminal.input(\`\\x1b]52;c;\${btoa(text)}\\x07\`));
    return true;
  });
`,
      /typed the clipboard by the terminal/,
    ),
    withMore(
      "line-names-the-page",
      "the page's own title beside a terminal's",
      "console-terminal.ts",
      "  terminal.loadAddon(fit);\n",
      `  terminal.loadAddon(fit);
  terminal.onTitleChange((title) => {
    document.title = title;
  });
`,
      /named the page/,
    ),
    withMore(
      "screen-writes-the-clipboard",
      "the deafness of the viewer to a guest's clipboard",
      "console-viewer.ts",
      "  viewer.scaleViewport = true;\n",
      `  viewer.scaleViewport = true;
  (viewer as unknown as EventTarget).addEventListener("clipboard", (event) =>
    void navigator.clipboard.writeText((event as CustomEvent).detail.text));
`,
      /written the clipboard/,
    ),
  ],
  async run({ scale, progress }) {
    const violations = new Set<string>();
    let done = 0;
    const guests = await GuestConsoles.open();
    try {
      for (let round = 0; round < rounds[scale]; round += 1)
        for (const each of guestCases) {
          for (const broken of await each(guests)) violations.add(broken);
          done += 1;
          progress(`${done} of ${guestCases.length * rounds[scale]}, ${violations.size} violations`);
        }
    } finally {
      await guests.close();
    }
    return { cases: done, violations: [...violations] };
  },
};
