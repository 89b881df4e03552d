import { SignInCard } from "../../layout/sign-in-card.tsx";
import type { View } from "../../layout/view.ts";

/** Redirects to a provider at once; a browser that does not follow shows the link. */
export function ContinuePage(props: { readonly view: View; readonly url: string; readonly label: string }) {
  const { view, url, label } = props;
  const text = view.messages.providers;
  return (
    <SignInCard view={view} title={text.goOn(label)} lead={text.goOnLead(label)} goOnTo={url}>
      <a class="button" data-kind="primary" data-size="wide" href={url}>
        {text.goOnLink(label)}
      </a>
    </SignInCard>
  );
}
