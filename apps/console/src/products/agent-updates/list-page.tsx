import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { operatorCrumbs } from "../../layout/operator-crumbs.ts";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { agentUpdatesCalls } from "./calls.ts";
import { UpdateSettings } from "./change-form.tsx";
import { StartRollout } from "./create-form.tsx";
import type { AgentUpdatesPageProps } from "./props.ts";
import { Releases } from "./releases-panel.tsx";
import { Rollouts } from "./rollouts-panel.tsx";

/** Releases of the agent, their rollouts, and how regions are updated. */
export function AgentUpdatesPage(props: AgentUpdatesPageProps) {
  const { view, banner } = props;
  const text = view.messages.agentUpdates;
  return (
    <Shell view={view} title={text.title} section="operator" crumbs={operatorCrumbs(view)}>
      <OperatorTabs view={view} current="agentUpdates" />
      <PageHead
        title={text.title}
        lead={text.lead}
        api={<ApiDrawer view={view} calls={agentUpdatesCalls(props)} />}
      />
      <PageNotice banner={banner} />
      <Rollouts {...props} />
      <StartRollout {...props} />
      <Releases {...props} />
      <UpdateSettings {...props} />
    </Shell>
  );
}
