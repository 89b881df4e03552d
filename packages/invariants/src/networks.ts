import { type Check, isOpen } from "./check.ts";

/**
 * This check relies on the agent's report alone: it proves nothing in a world whose agents report falsely.
 */
export const EDGE_REPORT_CHECK = "an edge holds each network in force, by what its agent says";

/** The agents' reports about their region's edge, compared with what was applied to it. */
export const networkChecks: readonly Check[] = [
  {
    invariant: "I14",
    check: "a network in force is what was last applied at its edge",
    sql: `select n.id || ' has ' || n.observed_generation || ' of ' || n.generation as subject from network n
           where n.status = 'active' and n.observed_generation < n.generation
             and not exists (select 1 from job j where j.resource_id = n.id and ${isOpen()})`,
  },
  {
    invariant: "I14",
    check: EDGE_REPORT_CHECK,
    sql: `select n.id || ' in ' || r.slug as subject from network n join region r on r.slug = n.region
           where n.status = 'active' and n.on_edge and r.has_edge and (r.edge ->> 'reachable')::boolean
             and r.edge -> 'networks' is not null and not (r.edge -> 'networks') ? n.id
             -- A report may have been on its way since before a job ended.
             and n.applied_at < r.edge_at - interval '2 minutes'
             and not exists (select 1 from job j where j.resource_id = n.id and ${isOpen()})`,
  },
];
