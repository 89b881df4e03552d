import type { Schemas } from "@kule/contract/schemas";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { OrganisationTabs } from "../../layout/organisation-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { EmptyState, PageHead, Pages, ToForm } from "../../layout/parts.tsx";
import { SecretPanel } from "../../layout/secret-panel.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { type Role, RoleGuide } from "../members/role-guide.tsx";
import { CreateToken } from "./create-token.tsx";
import { TokenTable, tokenColumns } from "./token-table.tsx";
import type { Access } from "./typed-scopes.ts";

/** The form of a new token, as it was typed. */
export type TokenDraft = {
  readonly name: string;
  readonly role: Role;
  readonly expiresInDays: string;
  readonly access: Access;
  readonly scopes: readonly string[] | null;
  /** Why an operator enters the organisation. */
  readonly reason: string;
};

export type TokensPageProps = {
  readonly view: View;
  readonly me: Schemas["Me"];
  readonly tokens: Schemas["TokenList"];
  readonly cursor: string | undefined;
  /** Of a token that was just made. */
  readonly secret: string | null;
  readonly draft: TokenDraft;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export function TokensPage(props: TokensPageProps) {
  const { view, tokens, banner, secret } = props;
  const { messages, session } = view;
  const text = messages.tokens;
  const manages = session !== null && may(session, "token:manage");
  return (
    <Shell view={view} title={text.title} section="organisation">
      <OrganisationTabs view={view} current="tokens" />
      <PageHead title={text.title} lead={text.lead}>
        {/* Beside the secret that is shown once there is nothing that leads away from it. */}
        {tokens.items.length === 0 || secret !== null ? null : (
          <ListView view={view} list="tokens" columns={tokenColumns(view)} />
        )}
      </PageHead>
      <PageNotice banner={banner} />
      {secret === null ? null : (
        <SecretPanel
          view={view}
          title={text.secret}
          lead={text.secretLead}
          hint={text.secretHint}
          secret={secret}
          back="/tokens"
          stored={text.stored}
        />
      )}
      {tokens.items.length === 0 ? (
        <EmptyState title={text.empty} hint={text.emptyHint}>
          {manages ? <ToForm form="create">{text.create}</ToForm> : null}
        </EmptyState>
      ) : (
        <TokenTable {...props} />
      )}
      <Pages
        view={view}
        base="/tokens"
        query={new URLSearchParams()}
        cursor={props.cursor}
        next={tokens.next_cursor}
      />
      {manages ? (
        <>
          <CreateToken {...props} />
          <RoleGuide view={view} />
        </>
      ) : null}
      <ApiCall view={view} id="tokens-call" operation="listTokens" />
    </Shell>
  );
}
