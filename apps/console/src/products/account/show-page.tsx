import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { accountCalls } from "./calls.ts";
import { IdentitiesPanel } from "./identities-panel.tsx";
import { PasskeysPanel } from "./passkeys-panel.tsx";
import { PasswordPanel } from "./password-panel.tsx";
import type { AccountPageProps } from "./props.ts";
import { SessionsPanel } from "./sessions-panel.tsx";
import { TwoFactorPanel } from "./two-factor-panel.tsx";

/** The signed-in person's own account. */
export function AccountPage(props: AccountPageProps) {
  const { view, banner } = props;
  const text = view.messages.account;
  return (
    <Shell view={view} title={text.title}>
      <PageHead
        title={text.title}
        lead={text.lead}
        api={<ApiDrawer view={view} calls={accountCalls(props)} />}
      />
      <PageNotice banner={banner} />
      {props.security.second_factor_reset_at === null ? null : (
        <Banner kind="warning">
          {view.messages.identities.resetNotice(view.format.dateTime(props.security.second_factor_reset_at))}
        </Banner>
      )}
      <TwoFactorPanel {...props} />
      <PasskeysPanel {...props} />
      <IdentitiesPanel {...props} />
      <SessionsPanel {...props} />
      <PasswordPanel {...props} />
    </Shell>
  );
}
