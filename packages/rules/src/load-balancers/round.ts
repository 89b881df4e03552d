/** How far a machine is with a state in one round of a job. */
export type RoundMachine = {
  readonly slot: 1 | 2;
  /** Of two machines the active one has the address; null: it is not known, or there is one machine. */
  readonly role: "active" | "standby" | null;
  /** `refused`: it has refused the state and serves the one before; `silent`: its guest agent does not answer. */
  readonly outcome: "waiting" | "applied" | "refused" | "silent";
};

export type RoundDecision =
  | { readonly next: "change"; readonly slot: 1 | 2 }
  /** All machines have the state. */
  | { readonly next: "done" }
  /** The others keep what they have: what one has refused the other would refuse too, and it serves. */
  | { readonly next: "stop"; readonly refusedBy: 1 | 2 }
  /** All that answer have the state; these do not. */
  | { readonly next: "incomplete"; readonly silent: readonly (1 | 2)[] };

/**
 * Which machine is changed next. One at a time, the one with the address last: a state that breaks haproxy breaks the machine
 * that nobody uses. A silent machine keeps nobody from a change, or a load balancer with a dead machine could not be
 * changed until it is replaced.
 */
export function decideRound(machines: readonly RoundMachine[]): RoundDecision {
  const refused = machines.find(({ outcome }) => outcome === "refused");
  if (refused !== undefined) return { next: "stop", refusedBy: refused.slot };
  const [next] = machines
    .filter(({ outcome }) => outcome === "waiting")
    .toSorted((one, other) => rank(one) - rank(other) || one.slot - other.slot);
  if (next !== undefined) return { next: "change", slot: next.slot };
  const silent = machines.filter(({ outcome }) => outcome === "silent").map(({ slot }) => slot);
  return silent.length === 0 ? { next: "done" } : { next: "incomplete", silent };
}

const rank = ({ role }: RoundMachine): number => (role === "standby" ? 0 : role === null ? 1 : 2);
