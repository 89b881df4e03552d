import { ConsoleWorld } from "@kule/api/testing/console-world";
import {
  endsTogether,
  refusesFloods,
  refusesOversize,
  refusesUnknownMessages,
} from "../console-streams/ends.ts";
import {
  hostileBytes,
  makesWritersWait,
  passesHostileBytes,
  respectsWindow,
  type StreamCase,
  type StreamFigures,
} from "../console-streams/streams.ts";
import { mutantsIn } from "../mutants-in.ts";
import type { Row } from "../row.ts";

const rounds = { sample: 1, full: 5 } as const;

const cases: readonly StreamCase[] = [
  passesHostileBytes,
  respectsWindow,
  refusesOversize,
  refusesUnknownMessages,
  refusesFloods,
  endsTogether,
  ...makesWritersWait,
];

const without = mutantsIn("apps/api/src/products/consoles");

export const row: Row = {
  id: "D9",
  title:
    "A console's data are only bytes for every hop, no hop buffers more than a few megabytes, and both sides end together",
  minutes: 1,
  alone: "but for its mutants",
  mutants: [
    without(
      "no-waiting",
      "the pause of a writer whose reader takes nothing",
      "pump.ts",
      "if (this.#isFull) this.#from.pause();",
      "",
      /(were taken|memory grew by \d+ MB) for a (viewer|machine) that reads nothing/,
    ),
    without(
      "no-window",
      "the window beyond what a viewer has shown",
      "pump.ts",
      "this.#to.bufferedAmount > fullBytes || this.#unshown > this.#windowBytes",
      "this.#to.bufferedAmount > fullBytes",
      /a viewer that has shown nothing was sent \d+ bytes/,
    ),
    without(
      "any-frame-of-a-viewer",
      "the longest message of a viewer",
      "upgrade.ts",
      "maxPayload: browserPayloadBytes,",
      "",
      /a viewer's (frame|message in fragments) that is too long (the|was)|after a viewer's (frame|message)/,
    ),
    without(
      "any-frame-of-a-region",
      "the longest message of a region's side",
      "upgrade.ts",
      "maxPayload: agentPayloadBytes,",
      "",
      /a region's frame that is too long/,
    ),
    without(
      "any-number-of-messages",
      "the bound of how many messages a side may send",
      "message-budget.ts",
      "if (this.#left < 1) return false;",
      "",
      /after 150000 empty messages of a viewer the viewer's side was open/,
    ),
    without(
      "any-word",
      "the end of a session whose viewer says what is none of the protocol",
      "live-session.ts",
      'if (control === null || control.type === "open") this.end("protocol");',
      'if (control === null || control.type === "open") return;',
      /after a viewer's (word|claim|text|deeply)/,
    ),
    without(
      "region-left-behind",
      "the end of the region's side with the viewer's",
      "live-session.ts",
      "for (const socket of [this.#browser, this.#agent]) {",
      "for (const socket of [this.#browser, null]) {",
      /after .* the region's side was open for/,
    ),
    without(
      "viewer-left-behind",
      "the end of the viewer's side with the region's",
      "live-session.ts",
      'this.end(reasonsOfAgents.has(said) ? said : "region_lost");',
      "void said;",
      /after the death of the region's side the viewer's side was open/,
    ),
  ],
  async run(run) {
    const consoles = await ConsoleWorld.open();
    const violations: string[] = [];
    const figures: StreamFigures = { underWayMb: 0, grownMb: 0 };
    let tried = 0;
    try {
      for (let round = 0; round < rounds[run.scale]; round += 1)
        for (const each of cases) {
          tried += 1;
          violations.push(...(await each(consoles, figures)));
          run.progress(`${tried} of ${cases.length * rounds[run.scale]}, ${violations.length} violations`);
        }
    } finally {
      await consoles.close();
    }
    return {
      cases: tried,
      violations: [...new Set(violations)],
      figures: {
        "hostile texts": Object.keys(hostileBytes).length,
        "MB under way to who reads nothing": Math.round(figures.underWayMb),
        "MB that memory grew by": Math.round(figures.grownMb),
      },
    };
  },
};
