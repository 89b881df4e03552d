import type { View } from "./view.ts";

const tabs = [
  ["health", "/operator"],
  ["regions", "/operator/regions"],
  ["agentUpdates", "/operator/agent-updates"],
  ["jobs", "/operator/jobs"],
  ["stuckJobs", "/operator/stuck-jobs"],
  ["drift", "/operator/drift"],
  ["import", "/operator/import"],
  ["restore", "/operator/restore"],
  ["ipPools", "/ip-pools"],
  ["organisations", "/organisations"],
  ["invariants", "/operator/invariants"],
  ["audit", "/operator/audit"],
] as const;

export type OperatorTab = (typeof tabs)[number][0];

/** The pages of the installation as tabs: the rail has one entry for all of them. */
export function OperatorTabs({ view, current }: { readonly view: View; readonly current: OperatorTab }) {
  const { operator } = view.messages;
  return (
    <nav class="tabs" aria-label={operator.label}>
      {tabs.map(([id, path]) => (
        <a href={path} aria-current={id === current ? "page" : undefined}>
          {operator.tabs[id]}
        </a>
      ))}
    </nav>
  );
}
