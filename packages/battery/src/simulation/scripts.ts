// Sequences that are likely in a long random run and seldom in a short one: the mutants of the model and the
// API that they detect must be seen in both.

import type { Move, Report } from "./sequence-moves.ts";
import { KINDS } from "./sequence-moves.ts";

export type Script = { readonly name: string; readonly moves: readonly Move[] };

const claim = (claimId: string): Move => ({ do: "claim", claimId: `claim-${claimId}`, capabilities: KINDS });
const report = (job: number, of: Report): Move => ({ do: "report", job, epoch: 1, seq: 1, report: of });

const aServerThatRuns: readonly Move[] = [
  { do: "create", start: true },
  claim("made"),
  report(1, { outcome: { status: "succeeded", observed: { power_state: "on" } } }),
];

const partlyWrittenFilter: readonly Move[] = [
  ...aServerThatRuns,
  { do: "filter", firewall: 1, server: 1 },
  claim("filtered"),
  report(2, { phase: "apply", outcome: { status: "retry" } }),
];

const trouble = { status: "failed", error: { code: "some_trouble", message: "It did not work" } } as const;

const aServerWithoutDisk: readonly Move[] = [
  ...aServerThatRuns,
  { do: "ask", server: 1, wish: { to: "rebuild", image: "rocky-9" } },
  claim("destroyed"),
  report(2, { phase: "apply", irreversible: true, outcome: trouble }),
];

export const SCRIPTS: readonly Script[] = [
  {
    name: "a create that succeeds when its server has been deleted",
    moves: [
      { do: "create", start: true },
      claim("made"),
      { do: "delete", server: 1 },
      report(1, { outcome: { status: "succeeded", observed: { power_state: "on" } } }),
    ],
  },
  {
    name: "an address on its way to a server that cannot be restored",
    moves: [
      ...aServerThatRuns,
      { do: "attach", ip: 1, server: 1, force: false },
      { do: "delete", server: 1 },
      { do: "keep", server: 1 },
      claim("kept"),
      report(4, { outcome: trouble }),
    ],
  },
  {
    name: "a rebuild that has destroyed, tried again and failed before it did anything",
    moves: [
      ...aServerWithoutDisk,
      { do: "retry", job: 2 },
      claim("again"),
      { do: "report", job: 2, epoch: 2, seq: 1, report: { outcome: trouble } },
    ],
  },
  {
    name: "another rebuild of a server without a disk, given up while it waits",
    moves: [
      ...aServerWithoutDisk,
      { do: "ask", server: 1, wish: { to: "rebuild", image: "rocky-9" } },
      { do: "cancel", job: 3 },
      { do: "retry", job: 3 },
    ],
  },
  // The attempt that was released has written some of the rules, and no attempt continues with them.
  {
    name: "a filter half written gives way to a removal",
    moves: [...partlyWrittenFilter, { do: "delete", server: 1 }],
  },
  {
    name: "a filter half written gives way to the end of its server",
    moves: [...partlyWrittenFilter, { do: "purge", server: 1 }],
  },
  {
    name: "a filter half written, and its server is kept after all",
    moves: [
      ...partlyWrittenFilter,
      { do: "delete", server: 1 },
      { do: "keep", server: 1 },
      claim("kept"),
      report(4, { outcome: { status: "succeeded", observed: { power_state: "on" } } }),
    ],
  },
  {
    name: "a rebuild that destroyed nothing, before a round of firewalls that finds no machine",
    moves: [
      ...aServerThatRuns,
      { do: "ask", server: 1, wish: { to: "rebuild", image: "rocky-9" } },
      claim("rebuilt"),
      report(2, { outcome: trouble }),
      { do: "filter", firewall: 1, server: 1 },
      claim("filtered"),
      report(3, { outcome: { status: "failed", error: { code: "vm_missing", message: "It is not there" } } }),
      { do: "retry", job: 2 },
    ],
  },
];
