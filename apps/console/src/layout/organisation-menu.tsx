import { Icon } from "./icons.tsx";
import { organisationPages } from "./organisation-tabs.tsx";
import type { View } from "./view.ts";

/** Top left: the organisation in which this page acts, its own pages, and the link to another organisation. */
export function OrganisationMenu({ view, isHere }: { readonly view: View; readonly isHere: boolean }) {
  const { messages, session } = view;
  if (session === null) return null;
  const { organisation: text } = messages;
  const switchPath = session.operator ? "/organisations" : "/switch-organisation";
  if (session.organisation === null)
    return (
      <a class="organisation-none" href={switchPath}>
        <Icon name="organisation" />
        <span>{text.choose}</span>
      </a>
    );
  return (
    <details class="organisation" data-here={isHere ? "" : undefined}>
      <summary>
        <span class="visually-hidden">{text.label}: </span>
        <Icon name="organisation" />
        <span class="organisation-name" title={session.organisation.name}>
          {session.organisation.name}
        </span>
        <Icon name="updown" size={16} />
      </summary>
      <nav class="organisation-menu" aria-label={text.label}>
        {organisationPages(session).map(({ id, path }) => (
          <a href={path}>{text.tabs[id]}</a>
        ))}
        <a class="organisation-switch" href={switchPath}>
          <Icon name="organisation" size={16} />
          {text.switch}
        </a>
      </nav>
    </details>
  );
}
