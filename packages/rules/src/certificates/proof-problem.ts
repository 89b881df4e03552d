/** What stands in the way of a name's proof, by its code. */
export type ProofProblemCode =
  | "domain_missing"
  | "domain_not_proven"
  | "domain_leaving"
  | "domain_elsewhere"
  | "record_is_alias"
  | "record_delegated"
  | "caa_forbids"
  | "no_load_balancer"
  | "name_unresolved"
  | "name_without_address"
  | "name_leads_elsewhere"
  | "name_has_ipv6_address"
  | "answer_not_in_force";

export type ProofProblem = {
  readonly code: ProofProblemCode;
  /** What it is and what to do. */
  readonly message: string;
};
