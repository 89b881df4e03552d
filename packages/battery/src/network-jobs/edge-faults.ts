import { EdgeUnreachable } from "@kule/edge/runner";
import type { EdgeFault } from "./local-edge.ts";

export type NamedFault = Omit<EdgeFault, "at"> & {
  readonly name: string;
  /** The job's attempts that meet it, where it is over after some: how many commands each has depends on the step. */
  readonly attempts?: number;
};

/** Well below the attempts that a job has. */
const A_WHILE = { count: Number.POSITIVE_INFINITY, attempts: 3 };

const refused = { code: 2, stdout: "", stderr: "RTNETLINK answers: Device or resource busy" };

const silent = () => Promise.reject(new EdgeUnreachable("did not end in 30 s"));

/** Temporary failures of an edge's command: the job has to succeed. */
export const EDGE_FAULTS: readonly NamedFault[] = [
  { name: "a refusal", count: 1, act: async () => refused },
  { name: "a refusal after the effect", count: 1, act: (run) => run().then(() => refused) },
  { name: "no answer", count: 1, act: silent },
  { name: "no answer after the effect", count: 1, act: (run) => run().then(silent) },
  {
    name: "an answer that is cut off",
    count: 1,
    act: (run) => run().then((said) => ({ ...said, stdout: said.stdout.slice(0, -9) })),
  },
  { name: "no answers for a while", ...A_WHILE, act: silent },
  { name: "refusals for a while", ...A_WHILE, act: async () => refused },
];

/** Failures that last until all attempts are used up, and the error of the job. */
export const LASTING_FAULTS: readonly (NamedFault & { readonly code: string })[] = [
  {
    name: "refusals until attempts are used up",
    count: Number.POSITIVE_INFINITY,
    act: async () => refused,
    code: "edge_refused",
  },
  {
    name: "no answers until attempts are used up",
    count: Number.POSITIVE_INFINITY,
    act: silent,
    code: "edge_unreachable",
  },
];
