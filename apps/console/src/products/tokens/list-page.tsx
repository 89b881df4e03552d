import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { CreateLink, EmptyState, PageHead, Pages } from "../../layout/parts.tsx";
import { SecretPanel } from "../../layout/secret-panel.tsx";
import { Shell } from "../../layout/shell.tsx";
import { may } from "../../session.ts";
import { TokenTable, tokenColumns } from "./list-table.tsx";
import type { TokensPageProps } from "./props.ts";

export function TokensPage(props: TokensPageProps) {
  const { view, tokens, banner, secret } = props;
  const { messages, session } = view;
  const text = messages.tokens;
  const create =
    session !== null && may(session, "token:manage") ? (
      <CreateLink path="/tokens/new">{text.create}</CreateLink>
    ) : null;
  return (
    <Shell view={view} title={text.title} section="tokens">
      <PageHead
        title={text.title}
        lead={text.lead}
        api={<ApiDrawer view={view} calls={[{ operation: "listTokens" }]} />}
      >
        {/* A secret that is shown once has no links beside it that leave the page. */}
        {tokens.items.length === 0 || secret !== null ? null : (
          <>
            <ListView view={view} list="tokens" columns={tokenColumns(view)} />
            {create}
          </>
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
          {create}
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
    </Shell>
  );
}
