import type { Schemas } from "@kule/contract/schemas";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { type FieldProblems, TextField } from "../../layout/fields.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, FormSeal, When } from "../../layout/parts.tsx";
import { SignInCard } from "../../layout/sign-in-card.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";

type Props = {
  readonly view: View;
  /** Null for an invalid secret. */
  readonly offer: Schemas["InvitationOffer"] | null;
  readonly secret: string;
  readonly name: string;
  readonly providers: readonly Schemas["OidcProvider"][];
  readonly problems: FieldProblems;
  readonly banner: PageBanner;
  readonly hasJoined: boolean;
};

/**
 * The page of an invitation: the organisation, and the form to join it. It does not reveal whether an e-mail has an
 * account.
 */
export function JoinPage(props: Props) {
  const { view, offer, banner, hasJoined } = props;
  const text = view.messages.join;
  const title = hasJoined
    ? text.joinedTitle
    : offer === null
      ? text.gone
      : text.title(offer.organisation.name);
  return (
    <SignInCard view={view} title={title}>
      <PageNotice banner={banner} />
      {hasJoined || offer === null ? (
        <>
          <p class="lead">{hasJoined ? text.joined : text.goneHint}</p>
          <a class="button" data-kind="primary" data-size="wide" href="/sign-in">
            {text.signIn}
          </a>
        </>
      ) : (
        <Offer {...props} offer={offer} />
      )}
    </SignInCard>
  );
}

function Offer(props: Props & { readonly offer: Schemas["InvitationOffer"] }) {
  const { view, offer, secret } = props;
  const { messages, session } = view;
  const text = messages.join;
  const role = messages.roles[offer.role];
  return (
    <>
      <p class="lead">
        {offer.invited_by === null
          ? text.invited(offer.organisation.name, role)
          : text.invitedBy(offer.invited_by, offer.organisation.name, role)}
      </p>
      <p class="hint">{messages.roles.does[offer.role]}</p>
      <p class="hint">
        {messages.invitations.until}: <When view={view} time={offer.expires_at} />
      </p>
      {session === null ? (
        <NewPerson {...props} />
      ) : session.user.email.toLowerCase() === offer.email.toLowerCase() ? (
        <form class="form" method="post" action="/join">
          <FormSeal view={view} />
          <input type="hidden" name="secret" value={secret} />
          <p>{text.signedInAs(session.user.email)}</p>
          <button type="submit" class="button" data-kind="primary" data-size="wide">
            {text.enter}
          </button>
          <ApiCall view={view} id="join-call" operation="joinOrganisation" body={{ secret: "kule_inv_…" }} />
        </form>
      ) : (
        <form class="form" method="post" action="/sign-out">
          <FormSeal view={view} />
          <input
            type="hidden"
            name="return_to"
            value={`/join?${new URLSearchParams({ invitation: secret })}`}
          />
          <p>{text.signedInAs(session.user.email)}</p>
          <Banner kind="warning">{text.other}</Banner>
          <button type="submit" class="button" data-size="wide">
            {messages.navigation.signOut}
          </button>
        </form>
      )}
    </>
  );
}

function NewPerson({ view, offer, secret, name, providers, problems }: Props) {
  const text = view.messages.join;
  return (
    <>
      <form class="form" method="post" action="/join">
        <FormSeal view={view} />
        <input type="hidden" name="secret" value={secret} />
        <TextField
          view={view}
          name="email"
          label={text.as}
          type="email"
          value={offer?.email ?? ""}
          autocomplete="username"
          problems={problems}
          attributes={{ readonly: "" }}
        />
        <TextField
          view={view}
          name="name"
          label={text.name}
          value={name}
          autocomplete="name"
          problems={problems}
          required
          maxlength={100}
          autofocus={name === ""}
        />
        <TextField
          view={view}
          name="password"
          label={text.password}
          type="password"
          autocomplete="new-password"
          hint={text.passwordHint}
          problems={problems}
          required
          maxlength={1000}
          attributes={{ minlength: "12" }}
          autofocus={name !== ""}
        />
        <button type="submit" class="button" data-kind="primary" data-size="wide">
          {text.submit}
        </button>
      </form>
      {providers.length === 0 ? null : (
        <div class="sign-in-providers">
          <p class="sign-in-or">{view.messages.providers.or}</p>
          <p class="hint">{view.messages.providers.joinHint(offer?.email ?? "")}</p>
          {providers.map(({ id, label }) => (
            <a
              class="button"
              data-size="wide"
              href={`/sign-in/with/${id}?${new URLSearchParams({ invitation: secret })}`}
            >
              {view.messages.providers.joinWith(label)}
            </a>
          ))}
        </div>
      )}
      <ApiCall
        view={view}
        id="join-call"
        operation="acceptInvitation"
        body={{ secret: "kule_inv_…", name: name || "Grace Hopper", password: "…" }}
      />
    </>
  );
}
